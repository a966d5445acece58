#pragma once

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence::live {

/// Group norm, and SiLU where asked for, over the channels of one or two images that lie in
/// different places: the concatenation itself never exists. Channels innermost; statistics in F32.
/// Formula: core/compute/ops/norm.h.
struct JoinedNormArguments {
    DType type = DType::F32; ///< of images; not F64
    Index images = 0, pixels = 0;
    Index channelsA = 0, channelsB = 0; ///< B: 0 where there is one image
    const void* a = nullptr;            ///< [images, pixels, channelsA]
    const void* b = nullptr;
    void* y = nullptr;             ///< [images, pixels, channelsA + channelsB]
    const float* weight = nullptr; ///< [channelsA + channelsB]
    const float* bias = nullptr;
    Index groups = 1; ///< divides the number of channels
    double epsilon = 1e-5;
    bool silu = false;
    float* room = nullptr; ///< joinedNormRoom() numbers

    VERGENCE_HD Index channels() const { return channelsA + channelsB; }
};

/// Pixels of a partial sum; a function of the shape alone, so that results do not depend on
/// threads.
struct PixelChunks {
    Index perChunk = 1, count = 1;
    PixelChunks(Index pixels, Index channels)
    {
        constexpr Index kNumbers = 16384, kMostChunks = 64;
        const Index least = kNumbers / channels + 1;
        perChunk = (pixels + kMostChunks - 1) / kMostChunks;
        perChunk = perChunk > least ? perChunk : least;
        count = (pixels + perChunk - 1) / perChunk;
    }
};

inline Index joinedNormRoom(Index images, Index pixels, Index channels)
{
    return images * channels * (2 * PixelChunks(pixels, channels).count + 2);
}

inline const Kernel<void(const JoinedNormArguments&)> joinedNorm{"live.joined_norm"};

} // namespace vergence::live
