#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/live_diffusion/bench/report.h"

namespace vergence::live {

/// A published statement beside what was measured here.
struct ClaimCheck {
    std::string what, claimed, measured;
    std::string theirWay; ///< what the claim's method would have shown here; empty: the same
    std::string remark;
};

/// One network in the two precisions that a claim compares.
struct ClaimPair {
    std::string model;               ///< "Replica-A", "XL"
    BenchResult full;                ///< strict F32 baseline
    std::optional<BenchResult> half; ///< the precision compared with it; none: not offered here
    std::string halfName = "fp16";
    int evaluationsPerSequence = 6; ///< of the claim: frames it counted in one
};

/// The published claims of 1.96× and −98.4 %, of 3,891 "FPS" and of 40 ms, measured again. Memory
/// by both methods: what stays (steady), and the largest that was ever in use, trial plans of the
/// tuning included.
std::vector<ClaimCheck> checkClaims(const std::vector<ClaimPair>& pairs);

std::string claimsMarkdown(const std::vector<ClaimCheck>& claims);
nlohmann::json toJson(const std::vector<ClaimCheck>& claims);

} // namespace vergence::live
