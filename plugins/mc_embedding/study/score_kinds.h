#pragma once

#include <string>
#include <vector>

#include "plugins/mc_embedding/statistics/cloud.h"

namespace vergence::mc_embedding {

/// How a score of one image and trial comes about.
struct ScoreKind {
    enum class Source {
        Moments,  ///< sums over passes suffice
        Weighted, ///< per-dimension variances and weights from all images
        Shape     ///< all passes at once
    };
    std::string name;
    Source source = Source::Moments;
    double (*ofShape)(const CloudShape&) = nullptr; ///< Shape alone
};

/// All that `metrics` may name; specification, section 6.
const std::vector<ScoreKind>& scoreKinds();
/// Null where unknown.
const ScoreKind* scoreKind(const std::string& name);

} // namespace vergence::mc_embedding
