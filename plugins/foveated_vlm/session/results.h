#pragma once

#include <filesystem>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "core/metrics/metric_store.h"
#include "core/run/run_context.h"
#include "plugins/foveated_vlm/session/clip_look.h"
#include "plugins/foveated_vlm/session/phase_teller.h"
#include "plugins/foveated_vlm/view/captions_view.h"
#include "plugins/foveated_vlm/view/token_curve.h"
#include "plugins/foveated_vlm/view/verdict.h"

namespace vergence::fvlm {

/// What the tests of a run said, and the files that it leaves. Specification, section 18.
class Results {
public:
    /// `control`: folder of the matched control, empty without one. Throws InputError where it
    /// cannot be compared with.
    explicit Results(const std::filesystem::path& control);

    /// What the model answers about the shown clips, without any where nothing is written; nothing
    /// where it was stopped.
    static std::optional<CaptionPage> answers(RunContext& context, Session& session,
                                              ClipLooker& looker, PhaseTeller& teller);
    /// After a test: answers of the shown clips, the verdict, and where it is the best so far its
    /// weights.
    void add(RunContext& context, Session& session, const EvaluationReport& report, bool isBest,
             CaptionPage answers);
    /// At the end, also after a stop: weights, captions, evaluation, attention, pictures. Where a
    /// stop is asked for meanwhile, looks at clips are left out.
    void write(RunContext& context, Session& session, ClipLooker& looker,
               const MetricStore& metrics);

    /// Shows the latest answers and the verdict again.
    void publish(RunContext& context, const Session& session) const;

    /// What the controls that are trained beside the run said, by their visual tokens; before
    /// add().
    void compareWith(std::map<int, EvaluationRecord> controls);

    nlohmann::json state() const;
    void restore(const nlohmann::json& state); ///< throws InputError

private:
    Verdict verdict() const;
    void writeWeights(RunContext& context, const Session& session) const;
    void writeAsked(RunContext& context, Session& session, ClipLooker& looker) const;
    void writeGazes(RunContext& context, Session& session, ClipLooker& looker) const;

    CaptionHistory m_captions;
    TokenCurve tokenCurve() const { return {m_beside, m_record}; }
    void publishCurve(RunContext& context) const;

    std::optional<EvaluationRecord> m_control, m_record;
    std::map<int, EvaluationRecord> m_beside; ///< saved with the run
    HealthFigures m_health;
};

/// What held-out clips said, in the words of the verdict.
EvaluationRecord recordOf(const Session& session, const EvaluationReport& report);
HealthFigures healthOf(const Session& session, const EvaluationReport& report);

} // namespace vergence::fvlm
