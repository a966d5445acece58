#include "plugins/foveated_vlm/encoder/fold_kernels.h"

#include "core/compute/ops/loops.h"

namespace vergence::fvlm {

namespace {

template <class T>
struct Fold {
    using Real = Accumulator<T>;
    FoldArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const Real scale = static_cast<const Real*>(a.scale)[row];
        const Real* weight = static_cast<const Real*>(a.weight) + row * a.columns;
        T* folded = static_cast<T*>(a.foldedWeight) + row * a.columns;
        team.template each<T>(a.columns, [&](auto at) VERGENCE_INLINE {
            store(folded, at, loadAs<Real>(weight, at) * scale);
        });
        if (team.isFirst())
            static_cast<T*>(a.foldedBias)[row] =
                static_cast<T>(scale * static_cast<const Real*>(a.bias)[row]);
    }
};

template <class Real>
struct Unfold {
    UnfoldArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const Index first = row * a.columns;
        const Real scale = static_cast<const Real*>(a.scale)[row];
        const Real* weight = static_cast<const Real*>(a.weight) + first;
        const Real* folded = static_cast<const Real*>(a.gradFoldedWeight) + first;
        Real* gradient = a.gradWeight ? static_cast<Real*>(a.gradWeight) + first : nullptr;
        LaneSum<Real, 1> sum;
        team.template each<Real>(a.columns, [&](auto at) VERGENCE_INLINE {
            const auto g = load<Real>(folded, at);
            sum.add(at, g * load<Real>(weight, at));
            if (gradient)
                store(gradient, at, load<Real>(gradient, at) + g * scale);
        });
        const Real total = team.total(sum);
        if (!team.isFirst())
            return;
        const Real gradBias = static_cast<const Real*>(a.gradFoldedBias)[row];
        if (a.gradScale)
            static_cast<Real*>(a.gradScale)[row] +=
                total + gradBias * static_cast<const Real*>(a.bias)[row];
        if (a.gradBias)
            static_cast<Real*>(a.gradBias)[row] += scale * gradBias;
    }
};

void foldBody(Stream& stream, const FoldArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(stream, a.rows, a.columns, Fold<T>{a});
    });
}

void unfoldBody(Stream& stream, const UnfoldArguments& a)
{
    if (a.type == DType::F64)
        forEachRow<double>(stream, a.rows, a.columns, Unfold<double>{a});
    else
        forEachRow<float>(stream, a.rows, a.columns, Unfold<float>{a});
}

} // namespace

VERGENCE_REGISTER_KERNEL(foldLinear, foldBody)
VERGENCE_REGISTER_KERNEL(unfoldGradients, unfoldBody)

} // namespace vergence::fvlm
