#include "plugins/live_diffusion/model/parameters.h"

#include <cmath>

#include <fmt/format.h>

#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/random.h"

namespace vergence::live {

namespace {
struct Groups {
    int matrices, others, kept;
};

Groups addGroups(ParameterSet& parameters, const ParameterSettings& settings)
{
    const bool frozen = !settings.trains;
    return {parameters.addGroup({"matrices", settings.weightDecay, frozen}),
            parameters.addGroup({"others", 0, frozen}), parameters.addGroup({"kept", 0, true})};
}

int groupOf(const ProgramWeight& weight, const Groups& groups)
{
    if (!weight.isParameter())
        return groups.kept;
    return weight.role == WeightRole::Matrix ? groups.matrices : groups.others;
}

InitialValue startOf(const ProgramWeight& weight, Start start)
{
    const double deviation = 1 / std::sqrt(static_cast<double>(weight.fanIn));
    const double ofBranch = weight.endsResidual ? deviation / 2 : deviation;
    switch (weight.role) {
    case WeightRole::Matrix:
        if (start == Start::Bench)
            return {0, ofBranch};
        return {0, weight.startsAtZero ? 0 : deviation};
    case WeightRole::Bias:
        return {0, start == Start::Bench ? ofBranch : 0};
    case WeightRole::Table:
        return {0, deviation};
    case WeightRole::NormScale:
    case WeightRole::RunningVariance:
        return {1, 0};
    case WeightRole::NormShift:
    case WeightRole::RunningMean:
        break;
    }
    return {0, 0};
}
} // namespace

std::unique_ptr<ParameterSet> declareParameters(Stream& stream, std::shared_ptr<Device> device,
                                                const std::vector<const Program*>& programs,
                                                const ParameterSettings& settings)
{
    auto parameters =
        std::make_unique<ParameterSet>(std::move(device), settings.master, settings.compute);
    const Groups groups = addGroups(*parameters, settings);
    for (const Program* program : programs)
        for (const ProgramWeight& weight : program->weights)
            parameters->add(weight.name, weight.shape, groupOf(weight, groups));
    parameters->allocate(stream);
    return parameters;
}

void fillStart(Stream& stream, const ProgramWeight& weight, std::uint64_t index, Start start,
               std::uint64_t seed, const Tensor& value)
{
    const InitialValue initial = startOf(weight, start);
    if (initial.spread == 0)
        fill(stream, value, initial.mean);
    else
        fillNormal(stream, value, initial.mean, initial.spread, seed, index);
    if (weight.constantElement >= 0)
        fill(stream, value.reshaped({value.size()}).narrow(0, weight.constantElement, 1),
             weight.constantValue);
}

void initialiseParameters(Stream& stream, ParameterSet& parameters,
                          const std::vector<const Program*>& programs, Start start,
                          std::uint64_t seed)
{
    for (const Program* program : programs)
        for (const ProgramWeight& weight : program->weights) {
            const int index = parameters.find(weight.name);
            expects(index >= 0, fmt::format("the parameters have no {}", weight.name));
            fillStart(stream, weight, static_cast<std::uint64_t>(index), start, seed,
                      parameters[index].value);
        }
    parameters.refreshShadows(stream);
}

} // namespace vergence::live
