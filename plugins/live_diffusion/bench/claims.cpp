#include "plugins/live_diffusion/bench/claims.h"

#include <algorithm>

#include <fmt/format.h>

#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

constexpr const char* kReplicaA = "Replica-A";

double medianMs(const BenchResult& result)
{
    return summarise(result.deviceUs).median / 1000;
}

std::string percent(double share)
{
    return fmt::format("{:+.1f} %", 100 * share);
}

ClaimCheck speedUp(const ClaimPair& pair)
{
    ClaimCheck check{pair.model + ": speed-up of " + pair.halfName, "1.96×", "", "", ""};
    const double ratio = medianMs(pair.full) / medianMs(*pair.half);
    check.measured = fmt::format("{:.2f}×, {:.3g} to {:.3g} ms", ratio, medianMs(pair.full),
                                 medianMs(*pair.half));
    check.remark =
        "Against strict fp32 in the same layout rules; the claim's baseline had TF32 on, "
        "another layout and 12 timed runs by the host's clock.";
    return check;
}

/// The claim's counter was reset before the warm-up in which algorithms were tried, so that its
/// fp32 figure holds trial memory that its fp16 figure does not.
ClaimCheck memory(const ClaimPair& pair)
{
    ClaimCheck check{pair.model + ": memory of " + pair.halfName, "−98.4 %", "", "", ""};
    const auto full = static_cast<double>(pair.full.memory.steady());
    const auto half = static_cast<double>(pair.half->memory.steady());
    const double fullPeak = std::max(full, static_cast<double>(pair.full.memory.tuningPeak));
    check.measured = fmt::format("{} steady, {} to {}", percent(half / full - 1), byteNumber(full),
                                 byteNumber(half));
    check.theirWay =
        fmt::format("{} with the peak of trying algorithms in the first figure, {} to "
                    "{}",
                    percent(half / fullPeak - 1), byteNumber(fullPeak), byteNumber(half));
    check.remark = fmt::format("Weights alone: {} to {} bytes.", pair.full.memory.weights,
                               pair.half->memory.weights);
    return check;
}

ClaimCheck frameRate(const ClaimPair& pair)
{
    const BenchResult& best = pair.half ? *pair.half : pair.full;
    ClaimCheck check{pair.model + ": \"FPS\"", "3,891", "", "", ""};
    const double perSecond = 1000 / medianMs(best) * best.evaluationsPerFrame;
    check.measured =
        fmt::format("{:.4g} frames per second at {} evaluations a frame",
                    perSecond / pair.evaluationsPerSequence, pair.evaluationsPerSequence);
    check.theirWay = fmt::format("{:.4g} evaluations per second, sold as frames", perSecond);
    check.remark = "The network has 8,508,003 parameters, not 30 million; its fp32 weights are 34 "
                   "million bytes.";
    return check;
}

ClaimCheck budget(const ClaimPair& pair)
{
    const BenchResult& best = pair.half ? *pair.half : pair.full;
    ClaimCheck check{pair.model + ": times below the 40 ms budget", "133×", "", "", ""};
    const double evaluation = medianMs(best) / best.evaluationsPerFrame;
    check.measured = fmt::format("{:.3g}× for a frame of {} evaluations",
                                 kRelaxedBudgetMs / (evaluation * pair.evaluationsPerSequence),
                                 pair.evaluationsPerSequence);
    check.theirWay = fmt::format("{:.3g}× for one evaluation", kRelaxedBudgetMs / evaluation);
    check.remark =
        "One evaluation of a network without sampler, memory or use of the last frame is "
        "no product frame.";
    return check;
}

} // namespace

std::vector<ClaimCheck> checkClaims(const std::vector<ClaimPair>& pairs)
{
    std::vector<ClaimCheck> checks;
    for (const ClaimPair& pair : pairs) {
        if (pair.half) {
            checks.push_back(speedUp(pair));
            checks.push_back(memory(pair));
        } else {
            const std::string reason = "not measured: this device multiplies no 16-bit numbers";
            checks.push_back({pair.model + ": speed-up of fp16", "1.96×", reason, "", ""});
            checks.push_back({pair.model + ": memory of fp16", "−98.4 %", reason, "", ""});
        }
        if (pair.model == kReplicaA) {
            checks.push_back(frameRate(pair));
            checks.push_back(budget(pair));
        }
    }
    return checks;
}

std::string claimsMarkdown(const std::vector<ClaimCheck>& claims)
{
    TextTable table{{"claim", "claimed", "measured", "by the claim's method", "remark"}, {}};
    for (const ClaimCheck& claim : claims)
        table.rows.push_back({claim.what, claim.claimed, claim.measured,
                              claim.theirWay.empty() ? "the same" : claim.theirWay, claim.remark});
    return table.markdown();
}

nlohmann::json toJson(const std::vector<ClaimCheck>& claims)
{
    auto list = nlohmann::json::array();
    for (const ClaimCheck& claim : claims)
        list.push_back({{"what", claim.what},
                        {"claimed", claim.claimed},
                        {"measured", claim.measured},
                        {"their_way", claim.theirWay},
                        {"remark", claim.remark}});
    return list;
}

} // namespace vergence::live
