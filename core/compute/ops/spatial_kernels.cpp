#include "core/compute/ops/spatial_kernels.h"

#include "core/compute/ops/loops.h"

namespace vergence {

namespace {

/// Where the numbers of patch row `item` = (patch, channel, row) lie; `item` counts c·p + row
/// within a patch.
struct PatchRow {
    Index sample, channel, y, x, patch, column;

    VERGENCE_HD PatchRow(const ImageArguments& a, Index item)
    {
        const Index p = a.factor, across = a.width / p, down = a.height / p;
        const Index inPatch = item % (a.channels * p);
        patch = item / (a.channels * p);
        channel = inPatch / p;
        column = inPatch * p;
        sample = patch / (across * down);
        y = patch / across % down * p + inPatch % p;
        x = patch % across * p;
    }
};

/// Zeros that pad patch `patch` beyond C·p·p, written with its last row.
template <class T>
VERGENCE_HD void padPatch(const ImageArguments& a, T* patches, const PatchRow& at)
{
    const Index used = a.channels * a.factor * a.factor;
    if (at.column + a.factor < used)
        return;
    for (Index i = used; i < a.columns; ++i)
        patches[at.patch * a.columns + i] = T(0.0f);
}

template <class T>
struct Unfold {
    ImageArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        const PatchRow at(a, item);
        const T* from = static_cast<const T*>(a.from) +
                        ((at.sample * a.channels + at.channel) * a.height + at.y) * a.width + at.x;
        T* patches = static_cast<T*>(a.to);
        T* to = patches + at.patch * a.columns + at.column;
#pragma GCC ivdep
        for (Index i = 0; i < a.factor; ++i)
            to[i] = from[i];
        padPatch(a, patches, at);
    }
};

/// One row of the image: its numbers from the patches, zeros beyond the last whole patch.
template <class T>
struct Fold {
    ImageArguments a;
    VERGENCE_HD void operator()(Index item) const
    {
        const Index p = a.factor, across = a.width / p, down = a.height / p;
        const Index y = item % a.height, plane = item / a.height;
        const Index sample = plane / a.channels, channel = plane % a.channels;
        T* to = static_cast<T*>(a.to) + item * a.width;
        Index x = 0;
        if (y < down * p) {
            const T* from = static_cast<const T*>(a.from) +
                            ((sample * down + y / p) * across) * a.columns +
                            (channel * p + y % p) * p;
            for (; x < across * p; ++x)
                to[x] = from[x / p * a.columns + x % p];
        }
        for (; x < a.width; ++x)
            to[x] = T(0.0f);
    }
};

template <class T>
struct UnfoldPixels {
    ImageArguments a;
    PixelNormalisation how;
    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const PatchRow at(a, item);
        const auto* pixels = static_cast<const std::uint8_t*>(a.from);
        const Index step = how.channelsLast ? a.channels : 1;
        const Index plane = how.channelsLast ? at.sample : at.sample * a.channels + at.channel;
        const auto* from = pixels + (plane * a.height + at.y) * a.width * step + at.x * step +
                           (how.channelsLast ? at.channel : 0);
        T* patches = static_cast<T*>(a.to);
        T* to = patches + at.patch * a.columns + at.column;
        const Real mean = static_cast<Real>(how.mean[at.channel]);
        const Real deviation = static_cast<Real>(how.deviation[at.channel]);
        for (Index i = 0; i < a.factor; ++i)
            to[i] =
                static_cast<T>((static_cast<Real>(from[i * step]) / Real(255) - mean) / deviation);
        padPatch(a, patches, at);
    }
};

/// The 2×2 pixels above number `i` of the smaller grid: their first place and what to add for the
/// right and the lower neighbour.
struct Square {
    Index first, right, down;

    VERGENCE_HD Square(const ImageArguments& a, Index i)
    {
        const Index inner = a.channelsLast ? a.channels : 1;
        const Index c = i % inner, x = i / inner % a.width, row = i / (inner * a.width);
        right = inner;
        down = 2 * a.width * inner;
        first = row * 2 * down + x * 2 * inner + c;
    }
};

template <class T>
struct Upsample {
    ImageArguments a;
    VERGENCE_HD void operator()(Index i) const
    {
        const Square at(a, i);
        T* to = static_cast<T*>(a.to) + at.first;
        to[0] = to[at.right] = to[at.down] = to[at.down + at.right] =
            static_cast<const T*>(a.from)[i];
    }
};

template <class T>
struct UpsampleBackward {
    ImageArguments a;
    VERGENCE_HD void operator()(Index i) const
    {
        using Real = Accumulator<T>;
        const Square at(a, i);
        const T* from = static_cast<const T*>(a.from) + at.first;
        T* to = static_cast<T*>(a.to) + i;
        const Real sum =
            (static_cast<Real>(from[0]) + static_cast<Real>(from[at.right])) +
            (static_cast<Real>(from[at.down]) + static_cast<Real>(from[at.down + at.right]));
        *to = static_cast<T>(a.accumulate ? static_cast<Real>(*to) + sum : sum);
    }
};

/// Rows of whole patches.
Index patchRows(const ImageArguments& a)
{
    return a.samples * (a.height / a.factor) * (a.width / a.factor) * a.channels * a.factor;
}

void unfoldBody(Stream& stream, const ImageArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, patchRows(a), Unfold<T>{a}, kElementGrain / a.factor);
    });
}

void foldBody(Stream& stream, const ImageArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, a.samples * a.channels * a.height, Fold<T>{a},
                kElementGrain / (a.width + 1) + 1);
    });
}

void unfoldPixelsBody(Stream& stream, const ImageArguments& a, const PixelNormalisation& how)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, patchRows(a), UnfoldPixels<T>{a, how}, kElementGrain / a.factor);
    });
}

void upsampleBody(Stream& stream, const ImageArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, a.samples * a.channels * a.height * a.width, Upsample<T>{a}, kElementGrain);
    });
}

void upsampleBackwardBody(Stream& stream, const ImageArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, a.samples * a.channels * a.height * a.width, UpsampleBackward<T>{a},
                kElementGrain);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(unfoldKernel, unfoldBody)
VERGENCE_REGISTER_KERNEL(foldKernel, foldBody)
VERGENCE_REGISTER_KERNEL(unfoldPixelsKernel, unfoldPixelsBody)
VERGENCE_REGISTER_KERNEL(upsampleKernel, upsampleBody)
VERGENCE_REGISTER_KERNEL(upsampleBackwardKernel, upsampleBackwardBody)

} // namespace vergence
