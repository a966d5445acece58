#pragma once

// For kernel files: the second half of sums over rows.

#include "core/compute/ops/column_loops.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

namespace loops {

/// out[n, c] (+)= Σ over chunks of partial[n, chunk, c], in an order that depends on their number
/// alone.
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
            team.down(0, chunks, [&](Index chunk) VERGENCE_INLINE {
                sum += load<Real>(partial + (group * chunks + chunk) * columns, at);
            });
            sum = team.total(sum);
            if (!team.isFirst())
                return;
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
        forEachColumn<Real>(
            stream, groups, chunks, columns,
            loops::FinishColumnSums<T, T, true>{partial, static_cast<T*>(out), chunks, columns});
    else
        forEachColumn<Real>(stream, groups, chunks, columns,
                            loops::FinishColumnSums<T, Real, false>{
                                partial, static_cast<Real*>(out), chunks, columns});
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
