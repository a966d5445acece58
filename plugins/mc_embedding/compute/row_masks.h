#pragma once

// For kernel files: masks over packs.

#include "core/compute/ops/loops.h"
#include "plugins/mc_embedding/compute/row_kernels.h"

namespace vergence::mc_embedding {
inline namespace VERGENCE_KERNEL_NAMESPACE {

#if defined(__CUDACC__)
template <class P>
VERGENCE_HD P keptBits(unsigned dropped, P value)
{
    constexpr int N = sizeof(P) / sizeof(ScalarOf<P>);
    for (int i = 0; i < N; ++i)
        value[i] = (dropped >> i & 1u) != 0 ? ScalarOf<P>(0) : value[i];
    return value;
}
#else
/// 0 where a bit is set, also where the value is not finite.
template <class P>
VERGENCE_HD P keptBits(unsigned dropped, P value)
{
    constexpr int N = sizeof(P) / sizeof(ScalarOf<P>);
    using Bits = BitsOf<P>;
    using Bit = std::remove_cvref_t<decltype(std::declval<Bits&>()[0])>;
    const Bits place = packs::countUp<Bits>(std::make_integer_sequence<Bit, N>{});
    const Bits isDropped = (Bits{} + static_cast<Bit>(dropped)) & (Bits{} + Bit(1)) << place;
    return select((Bits)(isDropped == Bits{}), value, P{});
}
#endif

/// Values of a row of `columns` from `at` on, masked.
template <class P, class At>
VERGENCE_HD P masked(const RowMask& mask, Index row, Index columns, At at, P value)
{
    if (!mask.bits)
        return value;
    const unsigned block = mask.bits[(row * columns + at.first) / kMaskBlock];
    return keptBits(block >> (at.first % kMaskBlock), value * mask.scale);
}

/// LayerNorm of a row; `out` may be `in`. Types: In and Out of the row, packs as of Lanes.
template <class Lanes, class In, class Out, class Group>
VERGENCE_HD void normRow(const Group& team, const In* in, Out* out, Index columns,
                         const RowNormWeights& norm)
{
    const auto count = static_cast<float>(columns);
    LaneSum<Lanes> total;
    team.template each<Lanes, 4>(
        columns, [&](auto at) VERGENCE_INLINE { total.add(at, loadAs<float>(in, at)); });
    const float centre = team.total(total) / count;
    LaneSum<Lanes> squares;
    team.template each<Lanes, 4>(columns, [&](auto at) VERGENCE_INLINE {
        const auto d = loadAs<float>(in, at) - centre;
        squares.add(at, d * d);
    });
    const float scale = 1.0f / std::sqrt(team.total(squares) / count + norm.epsilon);
    team.template each<Lanes>(columns, [&](auto at) VERGENCE_INLINE {
        const auto value = (loadAs<float>(in, at) - centre) * scale;
        store(out, at, value * loadAs<float>(norm.weight, at) + loadAs<float>(norm.bias, at));
    });
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::mc_embedding
