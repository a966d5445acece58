#pragma once

#include <algorithm>

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"

namespace vergence {

/// A matrix [depth, columns] as panels that lie one after another, each a dense [depth,
/// kPanelColumns]; the last one is as wide as its columns, rounded up to kPanelStep and filled with
/// zeros. A product reads panels from their first number to their last.
struct PanelLayout {
    static constexpr Index kPanelColumns = 64, kPanelStep = 16;

    Index columns = 0, depth = 0;

    /// Of the panel that starts with column `first`.
    Index widthAt(Index first) const
    {
        const Index rest = std::min(kPanelColumns, columns - first);
        return (rest + kPanelStep - 1) / kPanelStep * kPanelStep;
    }
    /// Numbers of the panels before it.
    Index offsetAt(Index first) const { return first * depth; }
    Index size() const { return (columns + kPanelStep - 1) / kPanelStep * kPanelStep * depth; }
};

/// A matrix [depth, columns], or [columns, depth] where transposed.
struct PanelSource {
    const void* data = nullptr;
    Index rowStride = 0;
    DType type = DType::F32; ///< not F64
    bool isTransposed = false;
};

/// product (+)= a · b: a [m, k], b [k, n] the rows from `firstRow` on of panels of `layout`, which
/// has n columns.
struct PanelProduct {
    const float* a = nullptr;
    Index aStride = 0;
    const float* b = nullptr; ///< first panel
    PanelLayout layout;
    Index firstRow = 0;
    Index m = 0, k = 0;
    float* product = nullptr; ///< [m, n]
    Index productStride = 0;
    bool accumulate = false;
};

// On the calling thread alone; only on the CPU.

/// Writes the panels of a matrix, in F32.
inline const Kernel<void(const PanelSource&, const PanelLayout&, float* panels)> packPanels{
    "dense.packPanels"};
inline const Kernel<void(const PanelProduct&)> multiplyPanels{"dense.multiplyPanels"};

} // namespace vergence
