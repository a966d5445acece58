#pragma once

// For kernel files: the second half of sums over rows.

#include "core/compute/ops/loops.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

namespace loops {

/// out[n, c] (+)= Σ over chunks of partial[n, chunk, c], in the order of the chunks.
template <class T, class Out, bool overwrite>
struct FinishColumnSums {
    using Real = Accumulator<T>;
    const Real* partial;
    Out* out;
    Index chunks, columns;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index group) const
    {
        team.template each<Real>(columns, [&](auto at) VERGENCE_INLINE {
            Pack<Real, decltype(at)::kSize> sum{};
            for (Index chunk = 0; chunk < chunks; ++chunk)
                sum += load<Real>(partial + (group * chunks + chunk) * columns, at);
            if constexpr (!overwrite)
                sum += load<Real>(out + group * columns, at);
            store(out + group * columns, at, sum);
        });
    }
};

} // namespace loops

/// Brings partial sums [groups, chunks, C] into `out` [groups, C]: added to numbers of the
/// accumulator's type, or overwriting numbers of type T. Nothing where `out` is null.
template <class T>
void finishColumnSums(Stream& stream, const Accumulator<T>* partial, void* out, Index groups,
                      Index chunks, Index columns, bool overwrite)
{
    using Real = Accumulator<T>;
    if (!out)
        return;
    if (overwrite)
        forEachRow<Real>(
            stream, groups, columns * chunks,
            loops::FinishColumnSums<T, T, true>{partial, static_cast<T*>(out), chunks, columns});
    else
        forEachRow<Real>(stream, groups, columns * chunks,
                         loops::FinishColumnSums<T, Real, false>{partial, static_cast<Real*>(out),
                                                                 chunks, columns});
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
