#include "core/compute/optim/trainer_state.h"

#include <map>

#include <fmt/format.h>

namespace vergence {

namespace {
/// One entry per name of a model file, cut from an array laid out like the parameters.
void addParts(NamedTensors& state, const std::string& prefix, const ParameterSet& parameters,
              const Tensor& flat)
{
    for (const auto& [name, window] : parameters.fileEntries()) {
        const Parameter& parameter = parameters[window.parameter];
        const bool isTrained = !parameter.gradient.isEmpty();
        if (flat.size() < parameters.values().size() && !isTrained)
            continue;
        const Tensor whole = parameters.part(flat, window.parameter);
        const bool isWhole = parameter.shape.empty() || window.rows == parameter.shape[0];
        state.emplace_back(prefix + name,
                           isWhole ? whole : whole.narrow(0, window.firstRow, window.rows));
    }
}
} // namespace

NamedTensors trainerState(const ParameterSet& parameters, const Adam* optimizer,
                          const MovingAverage* average)
{
    NamedTensors state;
    addParts(state, "", parameters, parameters.values());
    if (optimizer) {
        for (const auto& [name, tensor] : optimizer->state()) {
            if (tensor.size() == parameters.trained())
                addParts(state, "adam." + name + ".", parameters, tensor);
            else
                state.emplace_back("adam." + name, tensor);
        }
    }
    if (average)
        addParts(state, "average.", parameters, average->values());
    return state;
}

void restoreTrainerState(Stream& stream, const NamedTensors& state, const NamedTensors& saved,
                         ParameterSet& parameters)
{
    std::map<std::string, const Tensor*> left;
    for (const auto& [name, tensor] : saved)
        left.emplace(name, &tensor);
    std::vector<const Tensor*> sources;
    for (const auto& [name, tensor] : state) {
        const auto found = left.extract(name);
        if (!found)
            throw InputError(fmt::format("The saved state has no tensor {}.", name));
        const Tensor& source = *found.mapped();
        if (source.shape() != tensor.shape() || source.dtype() != tensor.dtype())
            throw InputError(fmt::format("The saved {} is {} {}, the model has {} {}.", name,
                                         nameOf(source.dtype()), toString(source.shape()),
                                         nameOf(tensor.dtype()), toString(tensor.shape())));
        sources.push_back(&source);
    }
    if (!left.empty())
        throw InputError(fmt::format("The saved state has a tensor {} that the model does not.",
                                     left.begin()->first));
    for (std::size_t i = 0; i < state.size(); ++i)
        stream.copy(state[i].second.data(), sources[i]->data(), state[i].second.bytes());
    parameters.refreshShadows(stream);
}

} // namespace vergence
