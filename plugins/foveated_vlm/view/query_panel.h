#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/view/diagram.h"
#include "plugins/foveated_vlm/view/attention.h"

namespace vergence::fvlm {

/// Queries of one clip and the two learned ones.
struct QueryScene {
    Index width = 0;            ///< Q
    std::vector<float> queries; ///< [T, Q] that look at frames 1 … T; the first is `initial`
    std::vector<float> fixed;   ///< [Q] q_static
    std::vector<float> initial; ///< [Q] q_init
    std::string title;          ///< of the clip
};

/// Specification, section 12.
struct QueryFigures {
    double similarity = 0; ///< mean cosine of queries of neighbouring frames
    double deviation = 0;  ///< of the numbers of all queries over frames, mean over the width
};
/// `queries` [T, Q]; nothing can be said of one query.
std::optional<QueryFigures> queryFigures(std::span<const float> queries, Index width);

/// Cosines of all pairs of queries as a matrix, with two more columns for the learned ones.
Diagram queryPanel(const QueryScene& scene);

} // namespace vergence::fvlm
