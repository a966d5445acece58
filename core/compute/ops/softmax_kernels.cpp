#include "core/compute/ops/loss_kernels.h"
#include "core/compute/ops/softmax_row.h"

namespace vergence {

namespace {

template <class T>
struct Softmax {
    const T* x;
    T* y;
    Index columns;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        using Real = Accumulator<T>;
        const T* in = x + row * columns;
        T* out = y + row * columns;
        if constexpr (std::is_same_v<T, Real>) {
            // The exponentials wait in the result, so that each is taken once.
            const Real largest = largestOfRow(team, in, columns);
            LaneSum<T> sum;
            team.template each<T, 4>(columns, [&](auto at) VERGENCE_INLINE {
                const auto e = exponential(load(in, at) - largest);
                store(out, at, e);
                sum.add(at, e);
            });
            const Real factor = Real(1) / team.total(sum);
            team.template each<T>(
                columns, [&](auto at) VERGENCE_INLINE { store(out, at, load(out, at) * factor); });
        } else {
            const auto moments = softmaxMoments(team, in, columns);
            const Real factor = Real(1) / moments.sum;
            team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
                store(out, at, exponential(load(in, at) - moments.largest) * factor);
            });
        }
    }
};

template <class T>
struct SoftmaxBackward {
    const T* y;
    const T* gradY;
    T* gradX;
    Index columns;
    bool accumulate;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const T* p = y + row * columns;
        const T* g = gradY + row * columns;
        T* out = gradX + row * columns;
        LaneSum<T> sum;
        team.template each<T, 4>(
            columns, [&](auto at) VERGENCE_INLINE { sum.add(at, load(p, at) * load(g, at)); });
        const auto mean = team.total(sum);
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            auto value = load(p, at) * (load(g, at) - mean);
            if (accumulate)
                value = value + load(out, at);
            store(out, at, value);
        });
    }
};

void softmaxBody(Stream& stream, const SoftmaxArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(stream, a.rows, a.columns,
                      Softmax<T>{static_cast<const T*>(a.x), static_cast<T*>(a.out), a.columns});
    });
}

void softmaxBackwardBody(Stream& stream, const SoftmaxArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(stream, a.rows, a.columns,
                      SoftmaxBackward<T>{static_cast<const T*>(a.x), static_cast<const T*>(a.gradY),
                                         static_cast<T*>(a.out), a.columns, a.accumulate});
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(softmaxKernel, softmaxBody)
VERGENCE_REGISTER_KERNEL(softmaxBackwardKernel, softmaxBackwardBody)

} // namespace vergence
