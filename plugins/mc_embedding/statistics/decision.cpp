#include "plugins/mc_embedding/statistics/decision.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace vergence::mc_embedding {

namespace {

std::string nameOf(const GateCell& cell)
{
    return fmt::format("{}, T = {}, {}", cell.model, cell.passes, cell.isPost ? "post" : "pre");
}

/// The cell of this status with the largest ICC; null where there is none.
const GateCell* best(const std::vector<GateCell>& cells, const std::string& status)
{
    const GateCell* found = nullptr;
    for (const GateCell& cell : cells)
        if (cell.reliability.status == status &&
            (!found || cell.reliability.icc.value > found->reliability.icc.value))
            found = &cell;
    return found;
}

/// Whether every model that was measured so has an ICC below one half.
bool isNegativeResult(const std::vector<GateCell>& cells)
{
    bool isJudged = false;
    for (const GateCell& cell : cells) {
        if (cell.isPost || cell.passes != 64 || !cell.reliability.icc.exists())
            continue;
        if (cell.reliability.icc.value >= 0.5)
            return false;
        isJudged = true;
    }
    return isJudged;
}

/// Whether every model with a failed cell has one of so many passes.
bool failsForGood(const std::vector<GateCell>& cells)
{
    std::map<std::string, int> most;
    for (const GateCell& cell : cells)
        if (cell.reliability.status == "failed")
            most[cell.model] = std::max(most[cell.model], cell.passes);
    return std::ranges::all_of(most,
                               [](const auto& model) { return model.second >= kFinalPasses; });
}

void extend(GateDecision& decision, const GateCell& from, const char* why)
{
    decision.kind = GateDecision::Kind::Extend;
    decision.passesWanted = passesForIcc(from.reliability, kIccGate);
    std::string prediction = "no number of passes is predicted: " + decision.passesWanted.reason;
    if (decision.passesWanted.exists()) { // rounding errors must not cost a pass
        const double passes = std::ceil(decision.passesWanted.value * (1 - 1e-12));
        prediction = fmt::format("an ICC of {} is predicted at T = {}", kIccGate, passes);
    }
    decision.sentence = fmt::format("{} ({}); {}.", why, nameOf(from), prediction);
}

} // namespace

GateDecision gateDecision(const std::vector<GateCell>& cells)
{
    GateDecision decision;
    decision.isNegative = isNegativeResult(cells);
    if (const GateCell* usable = best(cells, "usable")) {
        decision.kind = GateDecision::Kind::Go;
        decision.sentence = fmt::format("Scores repeat ({}).", nameOf(*usable));
    } else if (const GateCell* marginal = best(cells, "marginal")) {
        extend(decision, *marginal, "Scores nearly repeat");
    } else if (const GateCell* failed = best(cells, "failed")) {
        if (failsForGood(cells)) {
            decision.kind = GateDecision::Kind::Stop;
            decision.sentence = fmt::format("Scores do not repeat even with T = {}.", kFinalPasses);
        } else {
            extend(decision, *failed, "Scores do not repeat yet");
        }
    } else {
        decision.sentence = "Repeatability needs two trials.";
    }
    return decision;
}

} // namespace vergence::mc_embedding
