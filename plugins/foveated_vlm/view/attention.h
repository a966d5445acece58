#pragma once

#include <span>
#include <vector>

#include "core/compute/view.h"

namespace vergence::fvlm {

/// The softmax weights that looks really used, in host memory.
struct GazeWeights {
    Index frames = 0, blocks = 0, heads = 0;
    Index tokens = 0; ///< N seen per frame: class token and registers first, then rows of patches
    std::vector<float> values; ///< [frames, blocks, heads, tokens]

    std::span<const float> row(Index frame, Index block, Index head) const;
};

/// Blocks and heads whose weights are averaged; empty: the last four blocks, all heads.
struct GazeChoice {
    std::vector<Index> blocks, heads;
};

/// One map per frame over the grid of patches.
struct GazeMaps {
    Index frames = 0, rows = 0, columns = 0;
    std::vector<float> values;  ///< [frames, rows, columns], each frame sums to 1
    std::vector<float> removed; ///< [frames] mass of the tokens before the patches, 0 to 1
};

/// Mean of the chosen weights; the tokens before the patches are removed and the rest is
/// normalised. A frame that gives no weight to its patches gets a map of zeros. Throws
/// ContractError for blocks and heads that are not there and for fewer tokens than patches.
GazeMaps gazeMaps(const GazeWeights& weights, Index rows, Index columns,
                  const GazeChoice& choice = {});

/// Cosine of two vectors; 0 where one has no length.
double cosine(std::span<const float> a, std::span<const float> b);
/// Mean cosine of rows with equal numbers, a and b [rows, width]: `feature_sim` of z_c and z_f.
double meanCosine(std::span<const float> a, std::span<const float> b, Index width);

} // namespace vergence::fvlm
