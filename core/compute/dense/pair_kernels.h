#pragma once

#include <cstdint>

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence {

// Operands of products in BF16, of which numbers are moved, never computed. On the CPU alone and on
// the calling thread, like tile_kernels.h. Strides in numbers.

/// target[c · targetStride + r] = source[r · sourceStride + c]
struct TurnedPairs {
    const std::uint16_t* source = nullptr;
    Index sourceStride = 0;
    Index rows = 0, columns = 0;
    std::uint16_t* target = nullptr;
    Index targetStride = 0;
};

/// Up to kColumns columns of a right-hand matrix b [depth, columns] as oneDNN's products in BF16
/// want them: rows 2p and 2p + 1 alternate, target[(p · kColumns + c) · 2 + r % 2] = b[r, c]. Zeros
/// fill up the columns, and the rows to whole kRows.
struct PairedPanel {
    static constexpr Index kColumns = 64, kRows = 32;

    const std::uint16_t* source = nullptr;
    Index sourceStride = 0;
    bool isTransposed = false; ///< the source is [columns, depth]
    Index depth = 0, columns = 0;
    std::uint16_t* target = nullptr;
};

inline const Kernel<void(const TurnedPairs&)> turnPairs{"dense.turnPairs"};
inline const Kernel<void(const PairedPanel&)> pairPanel{"dense.pairPanel"};

} // namespace vergence
