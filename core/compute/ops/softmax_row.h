#pragma once

// For kernel files.

#include "core/compute/ops/fast_math.h"
#include "core/compute/ops/loops.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Largest number of a row and the sum of e^(x − largest).
template <class Real>
struct SoftmaxMoments {
    Real largest, sum;
};

template <class T, class Group>
VERGENCE_HD Accumulator<T> largestOfRow(const Group& team, const T* row, Index columns)
{
    LaneMaximum<T> most;
    team.template each<T, 4>(columns,
                             [&](auto at) VERGENCE_INLINE { most.add(at, load(row, at)); });
    return team.largest(most);
}

template <class T, class Group>
VERGENCE_HD SoftmaxMoments<Accumulator<T>> softmaxMoments(const Group& team, const T* row,
                                                          Index columns)
{
    const Accumulator<T> largest = largestOfRow(team, row, columns);
    LaneSum<T> sum;
    team.template each<T, 4>(columns, [&](auto at) VERGENCE_INLINE {
        sum.add(at, exponential(load(row, at) - largest));
    });
    return {largest, team.total(sum)};
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
