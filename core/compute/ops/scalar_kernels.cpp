#include "core/compute/ops/scalar_kernels.h"

#include "core/compute/launch.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

namespace {
template <class From, class To>
struct ScaleItem {
    const From* x;
    const Accumulator<To>* factor;
    To* y;
    bool accumulate;

    VERGENCE_HD void operator()(Index i) const
    {
        using Real = Accumulator<To>;
        const Real value = static_cast<Real>(x[i]) * factor[0];
        y[i] = static_cast<To>(accumulate ? static_cast<Real>(y[i]) + value : value);
    }
};

template <class From, class To>
void scaleTyped(Stream& stream, const Tensor& x, const Tensor& factor, const Tensor& y,
                bool accumulate)
{
    forEach(stream, x.size(),
            ScaleItem<From, To>{static_cast<const From*>(x.data()),
                                static_cast<const Accumulator<To>*>(factor.data()),
                                static_cast<To*>(y.data()), accumulate},
            4096);
}

void scaleByDeviceBody(Stream& stream, const Tensor& x, const Tensor& factor, const Tensor& y,
                       bool accumulate)
{
    const auto run = [&](auto from, auto to) {
        scaleTyped<decltype(from), decltype(to)>(stream, x, factor, y, accumulate);
    };
    switch (y.dtype()) {
    case DType::F64:
        return run(double{}, double{});
    case DType::F16:
        return x.dtype() == DType::F32 ? run(float{}, Float16{}) : run(Float16{}, Float16{});
    case DType::BF16:
        return x.dtype() == DType::F32 ? run(float{}, BFloat16{}) : run(BFloat16{}, BFloat16{});
    default:
        return run(float{}, float{});
    }
}

template <class A, class B>
struct Product {
    const A* x;
    const B* w;
    VERGENCE_HD double operator()(Index i) const
    {
        return static_cast<double>(x[i]) * static_cast<double>(w[i]);
    }
};

template <class Real>
struct StoreSum {
    const double* sum;
    Real* out;
    VERGENCE_HD void operator()(Index) const { out[0] = static_cast<Real>(sum[0]); }
};

template <class A, class B>
void dotTyped(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& sum)
{
    // The last partial sum of the tree lies in the stream's scratch memory, behind all others.
    const Index chunks = (x.size() + kReduceChunk - 1) / kReduceChunk;
    const Index reserved = chunks + (chunks + kReduceChunk - 1) / kReduceChunk;
    auto* total = static_cast<double*>(
                      stream.scratch(static_cast<std::size_t>(reserved + 1) * sizeof(double))) +
                  reserved;
    reduceInto(stream, x.size(),
               Product<A, B>{static_cast<const A*>(x.data()), static_cast<const B*>(w.data())},
               Plus{}, 0.0, total);
    if (sum.dtype() == DType::F64)
        forEach(stream, 1, StoreSum<double>{total, static_cast<double*>(sum.data())});
    else
        forEach(stream, 1, StoreSum<float>{total, static_cast<float*>(sum.data())});
}

void dotProductBody(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& sum)
{
    const bool single = w.dtype() == DType::F32;
    switch (x.dtype()) {
    case DType::F64:
        return dotTyped<double, double>(stream, x, w, sum);
    case DType::F16:
        return single ? dotTyped<Float16, float>(stream, x, w, sum)
                      : dotTyped<Float16, Float16>(stream, x, w, sum);
    case DType::BF16:
        return single ? dotTyped<BFloat16, float>(stream, x, w, sum)
                      : dotTyped<BFloat16, BFloat16>(stream, x, w, sum);
    default:
        return dotTyped<float, float>(stream, x, w, sum);
    }
}

VERGENCE_REGISTER_KERNEL(scaleByDeviceKernel, scaleByDeviceBody)
VERGENCE_REGISTER_KERNEL(dotProductKernel, dotProductBody)
} // namespace

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
