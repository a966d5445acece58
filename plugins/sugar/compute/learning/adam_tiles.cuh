#pragma once

// The CUDA driver of Adam on gradients that are stored.

#include "plugins/sugar/compute/learning/adam_kernels.h"
#include "plugins/sugar/compute/row_block.cuh"

namespace vergence::sugar {

namespace {

constexpr int kRows = 64;

/// Two walks through the numbers of kRows rows: one finds the rows with a gradient that is not
/// finite, one updates the others.
__global__ void __launch_bounds__(kRows) adamBlock(AdamArguments p)
{
    __shared__ int isFaulty[kRows];
    const RowBlock<kRows> block(p.rows);
    const auto own = static_cast<int>(threadIdx.x);
    isFaulty[own] = 0;
    __syncthreads();
    for (const AdamColumns& at : p.group)
        block.eachNumber(at.width, [&](int row, int, Index place) {
            if (!isfinite(at.gradient[place]))
                atomicOr(isFaulty + row, 1);
        });
    __syncthreads();
    const auto takesPart = [&](int row) {
        return !isFaulty[row] && (!p.visible || p.visible[block.first + row]);
    };
    for (int group = 0; group < kAdamGroups; ++group) {
        const AdamColumns& at = p.group[group];
        withMoments(p.compactMoments, group, at.moment1, at.moment2,
                    [&](auto* moment1, auto* moment2) {
                        block.eachNumber(at.width, [&](int row, int, Index place) {
                            if (takesPart(row))
                                adamGroup(p.factors, group, 1, at.gradient + place,
                                          moment1 + place, moment2 + place, at.value + place,
                                          place);
                        });
                    });
    }
    const bool isSkipped = own < block.rows && isFaulty[own] &&
                           (!p.visible || p.visible[block.first + own]);
    const int skipped = __syncthreads_count(isSkipped);
    if (own == 0 && skipped > 0)
        atomicAdd(p.skipped, static_cast<unsigned long long>(skipped)); // whole numbers: no order
}

void adamRowsBody(Stream& stream, const AdamArguments& p)
{
    if (p.rows == 0)
        return;
    const auto blocks = static_cast<unsigned>((p.rows + kRows - 1) / kRows);
    adamBlock<<<blocks, kRows, 0, static_cast<cudaStream_t>(stream.native())>>>(p);
    checkLaunch(stream, "sugar.adamRows");
}

} // namespace

} // namespace vergence::sugar
