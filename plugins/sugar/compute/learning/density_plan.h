#pragma once

#include <cstdint>
#include <vector>

#include "plugins/sugar/compute/learning/density_control.h"

namespace vergence::sugar {

/// What density control decides by, in host memory, one entry per Gaussian (three of logScale).
/// Decisions are made here, so that all devices take the same ones.
struct DensityColumns {
    std::vector<float> opacity;                                     ///< logits
    std::vector<float> logScale;                                    ///< [N, 3]
    std::vector<float> gradient, absoluteGradient, visible, radius; ///< DensityStatistics

    Index count() const { return static_cast<Index>(opacity.size()); }
};

/// Whether a Gaussian has this opacity or more; not where its logit is not a number.
bool isAtLeast(float logit, double opacity);

/// Rows of the new arrays; see rearrange().
struct RowPlan {
    std::vector<std::uint32_t> source;
    std::vector<std::uint8_t> isNew;
    Index firstChild = 0; ///< rows from here on are halves of split Gaussians, two of each
    DensityReport report;

    void keep(Index row) { add(row, 0); }
    void add(Index row, std::uint8_t fresh)
    {
        source.push_back(static_cast<std::uint32_t>(row));
        isNew.push_back(fresh);
    }
};

/// Rows that stay in their order, then clones, then the two halves of each split Gaussian, both
/// in the order of their parents. What is pruned is neither cloned nor split. Where the cap leaves
/// no room for all, those of the highest statistic are taken, the lower row first among equals.
RowPlan planDensification(const DensityColumns& columns, const DensitySettings& settings,
                          double extent, bool afterReset);

/// What relocation changes: opacity and scales of every row of the plan.
struct RelocationPlan {
    RowPlan rows;
    std::vector<float> opacity;  ///< [rows] logits
    std::vector<float> logScale; ///< [rows, 3]
};

/// Rows keep their places, dead ones become copies of living ones; births come last.
RelocationPlan planRelocation(const DensityColumns& columns, const DensitySettings& settings,
                              std::uint64_t seed, std::int64_t step);

} // namespace vergence::sugar
