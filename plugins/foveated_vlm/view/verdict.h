#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/view/diagram.h"
#include "plugins/foveated_vlm/view/evaluation_record.h"
#include "plugins/foveated_vlm/view/health.h"

namespace vergence::fvlm {

/// Whether looking helps, and how well that is known. Ratios are loss without / loss with fine
/// looks: above 1 means that looking helps.
struct Verdict {
    enum class Outcome { Helps, DoesNot, CannotTell, NotYetLearnt };
    Outcome outcome = Outcome::CannotTell;
    Interval ratio;                   ///< coarse / fine of this run
    Interval matched;                 ///< coarse of the matched control / fine of this run
    Interval random, shuffled;        ///< fine with these queries / fine
    Interval sequential;              ///< sequential / fine: 1 when training meets inference
    std::size_t clips = 0;            ///< with a coarse and a fine loss
    std::string sentence;             ///< one, plain
    std::vector<std::string> remarks; ///< what weakens it
    EvaluationRecord record;          ///< what was judged, without its scores
    std::vector<HealthLight> lights;
};

/// Judges a record. `matched`: that of the run trained without looks; the clips of both are paired
/// by their ids. Where it is given it decides, because a coarse pass that was not trained flatters
/// the fine one. Looking helps where the 95 % interval lies above 1.005 and random and shuffled
/// queries, where measured, do worse by as much; it does not where the interval lies below 1 or
/// within 1 ± 0.005; with fewer than 8 clips nothing is said. Where guessing has a known price and
/// the fine answers cost more than half of it, the task is not yet learnt, which is no verdict.
Verdict judge(const EvaluationRecord& record, const HealthFigures& health,
              const EvaluationRecord* matched = nullptr);

/// Card: sentence, intervals on one axis, remarks, health lights.
Diagram verdictCard(const Verdict& verdict);
nlohmann::json verdictJson(const Verdict& verdict);

} // namespace vergence::fvlm
