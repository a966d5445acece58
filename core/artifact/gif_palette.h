#pragma once

#include <cstdint>
#include <vector>

#include <gif_lib.h>

#include "core/artifact/image.h"

namespace vergence {

/// One palette for all frames of an animation: the colours themselves where there are at most 256,
/// otherwise the median cut of giflib over a sample of all frames. Used by gif.cpp alone.
class GifPalette {
public:
    explicit GifPalette(const std::vector<Image>& frames);

    /// Filled up with black to a power of two, as the format wants it.
    const std::vector<GifColorType>& padded() const { return m_padded; }
    std::vector<std::uint8_t> nearest(const Image& frame);
    /// Floyd–Steinberg. Source: An adaptive algorithm for spatial greyscale (1976).
    std::vector<std::uint8_t> dither(const Image& frame);
    /// Each pixel takes the nearest colour or the one on the other side of what is wanted, by a
    /// threshold pattern of 8 × 8. Source: An optimum method for two-level rendition of
    /// continuous-tone pictures (1973).
    std::vector<std::uint8_t> order(const Image& frame);

private:
    bool collectExact(const std::vector<Image>& frames);
    void quantise(const std::vector<Image>& frames);
    std::uint8_t indexOf(int red, int green, int blue);

    struct CacheEntry {
        std::uint32_t colour = 0xFFFFFFFFu;
        std::uint8_t index = 0;
    };
    std::vector<GifColorType> m_colours, m_padded;
    std::vector<CacheEntry> m_cache; ///< direct mapped, by the colour's hash
};

} // namespace vergence
