#include "core/compute/dense/unfold_kernels.h"

#include "core/compute/half.h"
#include "core/compute/launch.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace {

/// Where a pixel's channel lies in an image, and an entry in a row of the unfolded matrix.
struct Places {
    ConvProblem conv;
    bool nhwc;

    VERGENCE_HD Index pixel(Index y, Index x, Index c) const
    {
        return nhwc ? (y * conv.width + x) * conv.channels + c
                    : (c * conv.height + y) * conv.width + x;
    }
    VERGENCE_HD Index entry(Index i, Index j, Index c) const
    {
        return nhwc ? (i * conv.kernelWidth + j) * conv.channels + c
                    : (c * conv.kernelHeight + i) * conv.kernelWidth + j;
    }
    VERGENCE_HD Index rowLength() const
    {
        return conv.kernelHeight * conv.kernelWidth * conv.channels;
    }
};

/// Item: one output pixel and one tap.
template <class T>
struct UnfoldTap {
    Places at;
    const T* image;
    T* unfolded;

    VERGENCE_HD void operator()(Index item) const
    {
        const ConvProblem& p = at.conv;
        const Index taps = p.kernelHeight * p.kernelWidth;
        const Index out = item / taps, i = item % taps / p.kernelWidth, j = item % p.kernelWidth;
        const Index y = out / p.outWidth * p.stride - p.padding + i;
        const Index x = out % p.outWidth * p.stride - p.padding + j;
        const bool inside = y >= 0 && y < p.height && x >= 0 && x < p.width;
        T* row = unfolded + out * at.rowLength();
        for (Index c = 0; c < p.channels; ++c)
            row[at.entry(i, j, c)] = inside ? image[at.pixel(y, x, c)] : T(0.0f);
    }
};

/// Item: one pixel of the image.
template <class T, class U>
struct FoldPixel {
    Places at;
    T* image;
    const U* unfolded;

    VERGENCE_HD void operator()(Index item) const
    {
        const ConvProblem& p = at.conv;
        const Index y = item / p.width, x = item % p.width;
        for (Index c = 0; c < p.channels; ++c)
            image[at.pixel(y, x, c)] = T(sum(y, x, c));
    }

    VERGENCE_HD Accumulator<U> sum(Index y, Index x, Index c) const
    {
        const ConvProblem& p = at.conv;
        Accumulator<U> total = 0;
        for (Index i = 0; i < p.kernelHeight; ++i) {
            const Index rowAt = y + p.padding - i;
            if (rowAt < 0 || rowAt % p.stride != 0 || rowAt / p.stride >= p.outHeight)
                continue;
            for (Index j = 0; j < p.kernelWidth; ++j) {
                const Index columnAt = x + p.padding - j;
                if (columnAt < 0 || columnAt % p.stride != 0 || columnAt / p.stride >= p.outWidth)
                    continue;
                const Index out = rowAt / p.stride * p.outWidth + columnAt / p.stride;
                total += Accumulator<U>(unfolded[out * at.rowLength() + at.entry(i, j, c)]);
            }
        }
        return total;
    }
};

Places placesOf(const ConvProblem& conv)
{
    return {conv, conv.layout == ImageLayout::Nhwc};
}

template <class T>
void unfoldTyped(Stream& stream, const Unfolding& u)
{
    forEach(
        stream, u.conv.outPixels() * u.conv.taps(),
        UnfoldTap<T>{placesOf(u.conv), static_cast<const T*>(u.image), static_cast<T*>(u.unfolded)},
        256);
}

void unfoldBody(Stream& stream, const Unfolding& u)
{
    switch (u.type) {
    case DType::F64:
        return unfoldTyped<double>(stream, u);
    case DType::F16:
        return unfoldTyped<Float16>(stream, u);
    case DType::BF16:
        return unfoldTyped<BFloat16>(stream, u);
    default:
        return unfoldTyped<float>(stream, u);
    }
}

template <class T, class U>
void foldTyped(Stream& stream, const Unfolding& u)
{
    forEach(stream, u.conv.pixels(),
            FoldPixel<T, U>{placesOf(u.conv), static_cast<T*>(u.image),
                            static_cast<const U*>(u.unfolded)},
            64);
}

void foldBody(Stream& stream, const Unfolding& u)
{
    switch (u.type) {
    case DType::F64:
        return foldTyped<double, double>(stream, u);
    case DType::F16:
        return foldTyped<Float16, float>(stream, u);
    case DType::BF16:
        return foldTyped<BFloat16, float>(stream, u);
    default:
        return foldTyped<float, float>(stream, u);
    }
}

#if defined(__CUDACC__)
constexpr Index kLanes = 1; // channels that one item sums
#else
constexpr Index kLanes = 64;
#endif

/// Item: one run of pixels of one image and kLanes channels.
template <class T>
struct SumRun {
    ChannelSum sum;
    Index runs, blocks;

    VERGENCE_HD void operator()(Index item) const
    {
        const Index block = item % blocks, run = item / blocks % runs, image = item / blocks / runs;
        const Index c0 = block * kLanes;
        const Index lanes = c0 + kLanes < sum.channels ? kLanes : sum.channels - c0;
        const Index first = run * kSumRun;
        const Index last = first + kSumRun < sum.pixels ? first + kSumRun : sum.pixels;
        Accumulator<T> total[kLanes] = {};
        const T* y = static_cast<const T*>(sum.y) + image * sum.pixels * sum.channels;
        if (sum.channelsLast) {
            for (Index p = first; p < last; ++p) {
                for (Index l = 0; l < lanes; ++l)
                    total[l] += Accumulator<T>(y[p * sum.channels + c0 + l]);
            }
        } else {
            for (Index l = 0; l < lanes; ++l) {
                for (Index p = first; p < last; ++p)
                    total[l] += Accumulator<T>(y[(c0 + l) * sum.pixels + p]);
            }
        }
        auto* target =
            static_cast<Accumulator<T>*>(sum.partials) + (image * runs + run) * sum.channels + c0;
        for (Index l = 0; l < lanes; ++l)
            target[l] = total[l];
    }
};

/// Item: one channel; runs in their order.
template <class Real, class Out>
struct SumChannel {
    ChannelSum sum;
    Index runs;

    VERGENCE_HD void operator()(Index c) const
    {
        const Real* partials = static_cast<const Real*>(sum.partials);
        Out* target = static_cast<Out*>(sum.sums) + c;
        Real total = sum.accumulate ? Real(*target) : Real(0);
        for (Index r = 0; r < sum.images * runs; ++r)
            total += partials[r * sum.channels + c];
        *target = Out(total);
    }
};

template <class T>
void sumTyped(Stream& stream, const ChannelSum& sum)
{
    const Index runs = (sum.pixels + kSumRun - 1) / kSumRun;
    const Index blocks = (sum.channels + kLanes - 1) / kLanes;
    forEach(stream, sum.images * runs * blocks, SumRun<T>{sum, runs, blocks}, kLanes > 1 ? 4 : 1);
    using Real = Accumulator<T>;
    if (sum.sumType == sum.type)
        forEach(stream, sum.channels, SumChannel<Real, T>{sum, runs});
    else
        forEach(stream, sum.channels, SumChannel<Real, float>{sum, runs});
}

void sumChannelsBody(Stream& stream, const ChannelSum& sum)
{
    switch (sum.type) {
    case DType::F64:
        return sumTyped<double>(stream, sum);
    case DType::F16:
        return sumTyped<Float16>(stream, sum);
    case DType::BF16:
        return sumTyped<BFloat16>(stream, sum);
    default:
        return sumTyped<float>(stream, sum);
    }
}

VERGENCE_REGISTER_KERNEL(unfold, unfoldBody)
VERGENCE_REGISTER_KERNEL(fold, foldBody)
VERGENCE_REGISTER_KERNEL(sumChannels, sumChannelsBody)

} // namespace
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
