#pragma once

#include "core/compute/dense/problem.h"
#include "core/compute/kernel.h"

namespace vergence {

/// The pixels under the kernel at each output pixel of one image, as a matrix [Hout · Wout, K] with
/// K in the order of one weight: (kh, kw, C) for Nhwc, (C, kh, kw) for Nchw.
struct Unfolding {
    ConvProblem conv;
    DType type = DType::F32;
    void* image = nullptr;    ///< one image in the problem's layout
    void* unfolded = nullptr; ///< [Hout · Wout, K], dense
};

/// Sums of y over all pixels of all images, per channel.
struct ChannelSum {
    const void* y = nullptr; ///< dense, layout of `channelsLast`
    DType type = DType::F32;
    Index images = 0, pixels = 0, channels = 0;
    bool channelsLast = true;
    void* partials = nullptr; ///< channelSumBytes() of memory
    void* sums = nullptr;     ///< [channels]
    DType sumType = DType::F32;
    bool accumulate = false;
};

/// Runs of pixels that one partial sum covers; fixed, so that results do not depend on threads.
inline constexpr Index kSumRun = 256;
inline std::size_t channelSumBytes(const ChannelSum& sum)
{
    const Index runs = (sum.pixels + kSumRun - 1) / kSumRun;
    return static_cast<std::size_t>(sum.images * runs * sum.channels) * sizeof(double);
}

inline const Kernel<void(const Unfolding&)> unfold{"dense.unfold"};
/// The reverse: each pixel of the image becomes the sum of the entries that unfold() made of it.
inline const Kernel<void(const Unfolding&)> fold{"dense.fold"};
inline const Kernel<void(const ChannelSum&)> sumChannels{"dense.sumChannels"};

} // namespace vergence
