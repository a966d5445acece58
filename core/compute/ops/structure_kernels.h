#pragma once

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence {

/// Two windows of one shape, reduced by the caller: extents of 1 removed, neighbours joined where
/// both windows allow. Rank 0 is one number. Strides in numbers.
struct StridedArguments {
    int rank = 0;
    Index extents[6] = {};
    Index sourceStrides[6] = {};
    Index targetStrides[6] = {};
    Index count = 1;
    const void* source = nullptr;
    void* target = nullptr;
    int elementBytes = 4;    ///< copy: 1, 2, 4, 8 or 16
    DType type = DType::F32; ///< add
};

/// Whole rows of one table.
struct RowsArguments {
    DType type = DType::F32;      ///< of y
    DType tableType = DType::F32; ///< scatter: may be the accumulator's
    Index tableRows = 0, count = 0, columns = 0;
    const std::int32_t* ids = nullptr;
    const void* from = nullptr;
    void* to = nullptr;
};

inline const Kernel<void(const StridedArguments&)> copyStridedKernel{"compute.copy_strided"};
inline const Kernel<void(const StridedArguments&)> addStridedKernel{"compute.add_strided"};
inline const Kernel<void(const RowsArguments&)> gatherRowsKernel{"compute.gather_rows"};
inline const Kernel<void(const RowsArguments&)> scatterAddRowsKernel{"compute.scatter_add_rows"};

} // namespace vergence
