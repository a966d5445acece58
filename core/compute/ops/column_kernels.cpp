#include "core/compute/ops/column_sums.h"
#include "core/compute/ops/pointwise_kernels.h"

namespace vergence {

namespace {

/// Σ g and Σ g x over the rows of one chunk of one group.
template <class T>
struct PartialSums {
    using Real = Accumulator<T>;
    const T* g;
    const T* x;
    Real* plain;    ///< [groups, chunks, C]; null where not wanted
    Real* products; ///< the same
    ColumnChunks chunks;
    Index columns;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index item) const
    {
        const Index group = item / chunks.count, chunk = item % chunks.count;
        Real* sums = plain ? plain + item * columns : nullptr;
        Real* dots = products ? products + item * columns : nullptr;
#if defined(__CUDACC__)
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            Pack<Real, decltype(at)::kSize> sum{}, dot{};
            team.down(chunks.first(chunk), chunks.last(chunk), [&](Index row) VERGENCE_INLINE {
                const Index first = (group * chunks.rows + row) * columns;
                const auto value = load<T>(g + first, at);
                sum += value;
                if (dots)
                    dot += value * load<T>(x + first, at);
            });
            storeTotal(team, sums, at, sum);
            storeTotal(team, dots, at, dot);
        });
#else
        // row by row through memory: the sums stay in the cache
        for (Index row = chunks.first(chunk); row < chunks.last(chunk); ++row) {
            const T* grad = g + (group * chunks.rows + row) * columns;
            const T* other = dots ? x + (group * chunks.rows + row) * columns : nullptr;
            const bool isFirst = row == chunks.first(chunk);
            team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
                const auto value = load<T>(grad, at);
                if (sums)
                    store(sums, at, isFirst ? value : value + load<Real>(sums, at));
                if (dots) {
                    const auto dot = value * load<T>(other, at);
                    store(dots, at, isFirst ? dot : dot + load<Real>(dots, at));
                }
            });
        }
#endif
    }
};

void columnSumBody(Stream& stream, const ColumnSumArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        const ColumnChunks chunks(a.rowsPerGroup, a.columns);
        const Index partials = a.groups * chunks.count * a.columns;
        Real* scratch = static_cast<Real*>(
            stream.scratch(2 * static_cast<std::size_t>(partials) * sizeof(Real)));
        Real* plain = a.plain ? scratch : nullptr;
        Real* products = a.products ? scratch + partials : nullptr;
        forEachColumn<T>(stream, a.groups * chunks.count, chunks.perChunk, a.columns,
                         PartialSums<T>{static_cast<const T*>(a.g), static_cast<const T*>(a.x),
                                        plain, products, chunks, a.columns});
        finishColumnSums<T>(stream, plain, a.plain, a.groups, chunks.count, a.columns, a.overwrite);
        finishColumnSums<T>(stream, products, a.products, a.groups, chunks.count, a.columns,
                            a.overwrite);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(columnSumKernel, columnSumBody)

} // namespace vergence
