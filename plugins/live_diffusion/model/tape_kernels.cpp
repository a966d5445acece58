#include "plugins/live_diffusion/model/tape_kernels.h"

#include <cmath>

#include "core/compute/ops/loops.h"
#include "plugins/live_diffusion/model/blend_math.h"

namespace vergence::live {

namespace {

/// Bodies run over few numbers or in networks that are only measured: one item, one result.
constexpr Index kGrain = 1024;

template <class T>
struct Sinusoid {
    NumberArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        const Index row = item / a.columns, column = item % a.columns, half = a.columns / 2;
        double value = 0;
        if (column < 2 * half) {
            const double number = a.isWide ? static_cast<const double*>(a.x)[row]
                                           : static_cast<const float*>(a.x)[row];
            const Index i = column % half;
            const double frequency = std::exp(-9.210340371976182736 * static_cast<double>(i) /
                                              static_cast<double>(half));
            const double angle = a.scale * number * frequency;
            value = column < half ? std::cos(angle) : std::sin(angle);
        }
        static_cast<T*>(a.y)[item] = static_cast<T>(static_cast<Accumulator<T>>(value));
    }
};

template <class T>
struct Plane {
    NumberArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        const Index row = item / a.columns;
        const double number =
            a.isWide ? static_cast<const double*>(a.x)[row] : static_cast<const float*>(a.x)[row];
        static_cast<T*>(a.y)[item] = static_cast<T>(static_cast<Accumulator<T>>(a.scale * number));
    }
};

/// Where item lies in an image with channels last.
struct Place {
    Index image, y, x, channel;
    VERGENCE_HD Place(Index item, Index height, Index width, Index channels)
    {
        channel = item % channels;
        x = item / channels % width;
        y = item / (channels * width) % height;
        image = item / (channels * width * height);
    }
};

/// Rows (or columns) of the input that meet in output i of `to`: [first, last).
struct Bin {
    Index first, last;
    VERGENCE_HD Bin(Index i, Index from, Index to)
    {
        first = i * from / to;
        last = ((i + 1) * from + to - 1) / to;
    }
};

template <class T>
struct MeanPool {
    ResizeArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const Place at(item, a.toHeight, a.toWidth, a.channels);
        const Bin rows(at.y, a.height, a.toHeight), columns(at.x, a.width, a.toWidth);
        const T* image =
            static_cast<const T*>(a.x) + at.image * a.height * a.width * a.channels + at.channel;
        Real sum = 0;
        for (Index y = rows.first; y < rows.last; ++y)
            for (Index x = columns.first; x < columns.last; ++x)
                sum += static_cast<Real>(image[(y * a.width + x) * a.channels]);
        const Index count = (rows.last - rows.first) * (columns.last - columns.first);
        static_cast<T*>(a.y)[item] = static_cast<T>(sum / static_cast<Real>(count));
    }
};

/// Every number of the input collects from the bins that it lies in.
template <class T>
struct MeanPoolBackward {
    ResizeArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const Place at(item, a.height, a.width, a.channels);
        const T* grad = static_cast<const T*>(a.x) +
                        at.image * a.toHeight * a.toWidth * a.channels + at.channel;
        Real sum = 0;
        for (Index y = at.y * a.toHeight / a.height; y < a.toHeight; ++y) {
            const Bin rows(y, a.height, a.toHeight);
            if (rows.first > at.y)
                break;
            if (rows.last <= at.y)
                continue;
            for (Index x = at.x * a.toWidth / a.width; x < a.toWidth; ++x) {
                const Bin columns(x, a.width, a.toWidth);
                if (columns.first > at.x)
                    break;
                if (columns.last <= at.x)
                    continue;
                const Index count = (rows.last - rows.first) * (columns.last - columns.first);
                sum += static_cast<Real>(grad[(y * a.toWidth + x) * a.channels]) /
                       static_cast<Real>(count);
            }
        }
        static_cast<T*>(a.y)[item] = static_cast<T>(sum);
    }
};

template <class T>
struct MaxPool {
    ResizeArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const Place at(item, a.toHeight, a.toWidth, a.channels);
        const T* first = static_cast<const T*>(a.x) +
                         ((at.image * a.height + 2 * at.y) * a.width + 2 * at.x) * a.channels +
                         at.channel;
        Real most = static_cast<Real>(first[0]);
        for (const Index offset : {a.channels, a.width * a.channels, (a.width + 1) * a.channels}) {
            const Real other = static_cast<Real>(first[offset]);
            most = other > most ? other : most;
        }
        static_cast<T*>(a.y)[item] = static_cast<T>(most);
    }
};

/// The two samples on both sides of output i of 2n, and the share of the second.
template <class Real>
struct Between {
    Index first, second;
    Real share;
    VERGENCE_HD Between(Index i, Index n)
    {
        const Index left = (i + 1) / 2 - 1; // centre (i + 1/2)/2 − 1/2
        share = i % 2 == 0 ? Real(0.75) : Real(0.25);
        first = left < 0 ? 0 : left;
        second = left + 1 < n ? left + 1 : n - 1;
    }
};

template <class T>
struct Bilinear {
    ResizeArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const Place at(item, a.toHeight, a.toWidth, a.channels);
        const Between<Real> rows(at.y, a.height), columns(at.x, a.width);
        const T* image =
            static_cast<const T*>(a.x) + at.image * a.height * a.width * a.channels + at.channel;
        const auto pixel = [&](Index y, Index x) {
            return static_cast<Real>(image[(y * a.width + x) * a.channels]);
        };
        const auto across = [&](Index y) {
            return pixel(y, columns.first) * (Real(1) - columns.share) +
                   pixel(y, columns.second) * columns.share;
        };
        static_cast<T*>(a.y)[item] = static_cast<T>(across(rows.first) * (Real(1) - rows.share) +
                                                    across(rows.second) * rows.share);
    }
};

template <class T>
struct KeptNorm {
    KeptNormArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const Index c = item % a.channels;
        const auto of = [&](const void* numbers, Index i) {
            return static_cast<Real>(static_cast<const T*>(numbers)[i]);
        };
        const Real deviation = std::sqrt(of(a.variance, c) + static_cast<Real>(a.epsilon));
        static_cast<T*>(a.y)[item] = static_cast<T>(
            (of(a.x, item) - of(a.mean, c)) / deviation * of(a.weight, c) + of(a.bias, c));
    }
};

template <class T>
struct Tanh {
    UnaryArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        static_cast<T*>(a.y)[item] =
            static_cast<T>(std::tanh(static_cast<Real>(static_cast<const T*>(a.x)[item])));
    }
};

/// Written so that nothing cancels near 0.
template <class T>
struct SmoothRoot {
    RootArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const Real x = static_cast<Real>(static_cast<const T*>(a.x)[item]);
        const Real c = static_cast<Real>(a.c);
        static_cast<T*>(a.y)[item] = static_cast<T>(x / (std::sqrt(x + c * c) + c));
    }
};

template <class T>
struct SmoothRootBackward {
    RootArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const Real x = static_cast<Real>(static_cast<const T*>(a.x)[item]);
        const Real c = static_cast<Real>(a.c);
        const Real gradY = static_cast<Real>(static_cast<const T*>(a.gradY)[item]);
        static_cast<T*>(a.y)[item] = static_cast<T>(gradY / (Real(2) * std::sqrt(x + c * c)));
    }
};

template <class T>
struct Blend {
    BlendArguments a;
    VERGENCE_HD void operator()(Index pixel) const
    {
        using Real = Accumulator<T>;
        const BlendShare<Real> share(static_cast<Real>(static_cast<const T*>(a.logits)[pixel]),
                                     static_cast<Real>(a.beta));
        for (Index i = pixel * a.channels; i < (pixel + 1) * a.channels; ++i) {
            const Real x0 = static_cast<Real>(static_cast<const T*>(a.x0)[i]);
            const Real previous = static_cast<Real>(static_cast<const T*>(a.previous)[i]);
            static_cast<T*>(a.y)[i] = static_cast<T>(share.blend(x0, previous));
        }
    }
};

template <class T>
struct BlendBackward {
    BlendArguments a;
    VERGENCE_HD void operator()(Index pixel) const
    {
        using Real = Accumulator<T>;
        const BlendShare<Real> share(static_cast<Real>(static_cast<const T*>(a.logits)[pixel]),
                                     static_cast<Real>(a.beta));
        Real sum = 0;
        for (Index i = pixel * a.channels; i < (pixel + 1) * a.channels; ++i) {
            const Real gradient = static_cast<Real>(static_cast<const T*>(a.gradY)[i]);
            const Real x0 = static_cast<Real>(static_cast<const T*>(a.x0)[i]);
            const Real previous = static_cast<Real>(static_cast<const T*>(a.previous)[i]);
            static_cast<T*>(a.gradX0)[i] = static_cast<T>(gradient * share.ofNew);
            sum += gradient * (x0 - previous);
        }
        static_cast<T*>(a.gradLogits)[pixel] = static_cast<T>(sum * share.gradLogit);
    }
};

template <template <class> class Body, class Arguments>
void runItems(Stream& stream, const Arguments& a, Index items)
{
    withFloatType(a.type, [&](auto tag) {
        forEach(stream, items, Body<typename decltype(tag)::Type>{a}, kGrain);
    });
}

void sinusoidBody(Stream& stream, const NumberArguments& a)
{
    runItems<Sinusoid>(stream, a, a.rows * a.columns);
}
void planeBody(Stream& stream, const NumberArguments& a)
{
    runItems<Plane>(stream, a, a.rows * a.columns);
}
void meanPoolBody(Stream& stream, const ResizeArguments& a)
{
    runItems<MeanPool>(stream, a, a.images * a.toHeight * a.toWidth * a.channels);
}
void meanPoolBackwardBody(Stream& stream, const ResizeArguments& a)
{
    runItems<MeanPoolBackward>(stream, a, a.images * a.height * a.width * a.channels);
}
void maxPoolBody(Stream& stream, const ResizeArguments& a)
{
    runItems<MaxPool>(stream, a, a.images * a.toHeight * a.toWidth * a.channels);
}
void bilinearBody(Stream& stream, const ResizeArguments& a)
{
    runItems<Bilinear>(stream, a, a.images * a.toHeight * a.toWidth * a.channels);
}
void keptNormBody(Stream& stream, const KeptNormArguments& a)
{
    runItems<KeptNorm>(stream, a, a.rows * a.channels);
}
void tanhBody(Stream& stream, const UnaryArguments& a)
{
    runItems<Tanh>(stream, a, a.count);
}
void smoothRootBody(Stream& stream, const RootArguments& a)
{
    runItems<SmoothRoot>(stream, a, a.count);
}
void smoothRootBackwardBody(Stream& stream, const RootArguments& a)
{
    runItems<SmoothRootBackward>(stream, a, a.count);
}
void blendBody(Stream& stream, const BlendArguments& a)
{
    runItems<Blend>(stream, a, a.pixels);
}
void blendBackwardBody(Stream& stream, const BlendArguments& a)
{
    runItems<BlendBackward>(stream, a, a.pixels);
}

} // namespace

VERGENCE_REGISTER_KERNEL(sinusoidKernel, sinusoidBody)
VERGENCE_REGISTER_KERNEL(planeKernel, planeBody)
VERGENCE_REGISTER_KERNEL(meanPoolKernel, meanPoolBody)
VERGENCE_REGISTER_KERNEL(meanPoolBackwardKernel, meanPoolBackwardBody)
VERGENCE_REGISTER_KERNEL(maxPoolKernel, maxPoolBody)
VERGENCE_REGISTER_KERNEL(bilinearKernel, bilinearBody)
VERGENCE_REGISTER_KERNEL(keptNormKernel, keptNormBody)
VERGENCE_REGISTER_KERNEL(tanhKernel, tanhBody)
VERGENCE_REGISTER_KERNEL(smoothRootKernel, smoothRootBody)
VERGENCE_REGISTER_KERNEL(smoothRootBackwardKernel, smoothRootBackwardBody)
VERGENCE_REGISTER_KERNEL(blendKernel, blendBody)
VERGENCE_REGISTER_KERNEL(blendBackwardKernel, blendBackwardBody)

} // namespace vergence::live
