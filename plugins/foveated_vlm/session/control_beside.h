#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/artifact/checkpoint.h"
#include "plugins/foveated_vlm/session/session.h"
#include "plugins/foveated_vlm/view/evaluation_record.h"

namespace vergence::fvlm {

/// A control of a run, trained beside it: the same model from the same seed on the same samples,
/// which looks at everything once with learned queries, one for each of its visual tokens. With one
/// token it is the matched control. It is a micro-step ahead where a stop came before the run's
/// own, and waits.
class ControlBeside {
public:
    /// As Session, for `config` of the run with gaze.
    ControlBeside(Stream& stream, std::shared_ptr<Device> device, const FoveatedVlmConfig& config,
                  int tokens, const std::filesystem::path& folder, const Session::Hooks& hooks);

    int tokens() const { return m_tokens; }
    bool isReady() const { return m_session.isReady(); }
    Session& session() { return m_session; }
    /// Its micro-step number `done` + 1, unless it is done already. False where it was stopped.
    bool follow(Stream& stream, Index done, const std::function<bool()>& isStopped);
    /// What it says of the held-out clips; nothing where it was stopped.
    std::optional<EvaluationRecord> test(Stream& stream, const std::function<bool()>& isStopped);
    void change(Stream& stream, const FoveatedVlmConfig& config);

    /// Records must have been taken before, as for the trainer.
    void save(Stream& stream, Checkpoint& checkpoint) const;
    /// Takes its tensors out of `saved`.
    void load(Stream& stream, const nlohmann::json& state, NamedTensors& saved);

private:
    std::string name() const { return "control_" + std::to_string(m_tokens); }

    int m_tokens;
    Session m_session;
};

} // namespace vergence::fvlm
