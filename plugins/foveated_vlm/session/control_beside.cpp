#include "plugins/foveated_vlm/session/control_beside.h"

#include <nlohmann/json.hpp>

#include "core/artifact/host_tensors.h"
#include "plugins/foveated_vlm/session/results.h"

namespace vergence::fvlm {

namespace {

FoveatedVlmConfig controlOf(FoveatedVlmConfig config, int tokens)
{
    config.control = "coarse_only";
    if (tokens == 1)
        return config;
    config.frames = tokens; // slots of the image that a grid is
    config.staticQueries = tokens;
    return config;
}

} // namespace

ControlBeside::ControlBeside(Stream& stream, std::shared_ptr<Device> device,
                             const FoveatedVlmConfig& config, int tokens,
                             const std::filesystem::path& folder, const Session::Hooks& hooks)
    : m_tokens(tokens),
      m_session(stream, std::move(device), controlOf(config, tokens), folder, hooks)
{
}

bool ControlBeside::follow(Stream& stream, Index done, const std::function<bool()>& isStopped)
{
    Trainer& trainer = m_session.trainer();
    return trainer.counts().microSteps > done || trainer.isDone() ||
           !trainer.microStep(stream, isStopped).wasStopped;
}

std::optional<EvaluationRecord> ControlBeside::test(Stream& stream,
                                                    const std::function<bool()>& isStopped)
{
    const Trainer::AverageScope average(m_session.trainer(), stream);
    const EvaluationReport report = m_session.evaluator().run(stream, isStopped);
    if (report.wasStopped)
        return std::nullopt;
    return recordOf(m_session, report);
}

void ControlBeside::change(Stream& stream, const FoveatedVlmConfig& config)
{
    m_session.change(stream, controlOf(config, m_tokens));
}

void ControlBeside::save(Stream& stream, Checkpoint& checkpoint) const
{
    for (const auto& [tensorName, tensor] : m_session.trainer().tensors())
        checkpoint.tensors.push_back(toHostTensor(stream, name() + "." + tensorName, tensor));
    checkpoint.state[name()] = m_session.trainer().state();
}

void ControlBeside::load(Stream& stream, const nlohmann::json& state, NamedTensors& saved)
{
    const std::string prefix = name() + ".";
    NamedTensors own;
    for (const auto& [tensorName, tensor] : saved)
        if (tensorName.starts_with(prefix))
            own.emplace_back(tensorName.substr(prefix.size()), tensor);
    std::erase_if(saved, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    m_session.trainer().restore(stream, state.at(name()), own);
}

} // namespace vergence::fvlm
