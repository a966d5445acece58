#include "core/artifact/gif_palette.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::size_t kMostColours = 256, kCacheEntries = 1u << 16, kMostSamples = 1u << 20;

std::uint32_t packed(int red, int green, int blue)
{
    return static_cast<std::uint32_t>(red << 16 | green << 8 | blue);
}

} // namespace

GifPalette::GifPalette(const std::vector<Image>& frames) : m_cache(kCacheEntries)
{
    if (!collectExact(frames))
        quantise(frames);
    std::size_t size = 2;
    while (size < m_colours.size())
        size *= 2;
    m_padded = m_colours;
    m_padded.resize(size, GifColorType{0, 0, 0});
}

bool GifPalette::collectExact(const std::vector<Image>& frames)
{
    std::set<std::uint32_t> colours;
    std::uint32_t last = 0xFFFFFFFFu;
    for (const Image& frame : frames) {
        for (std::size_t i = 0; i + 2 < frame.pixels.size(); i += 3) {
            const std::uint32_t colour =
                packed(frame.pixels[i], frame.pixels[i + 1], frame.pixels[i + 2]);
            if (colour == last)
                continue;
            last = colour;
            colours.insert(colour);
            if (colours.size() > kMostColours)
                return false;
        }
    }
    for (const std::uint32_t colour : colours)
        m_colours.push_back({static_cast<GifByteType>(colour >> 16),
                             static_cast<GifByteType>(colour >> 8 & 255),
                             static_cast<GifByteType>(colour & 255)});
    return true;
}

void GifPalette::quantise(const std::vector<Image>& frames)
{
    const std::size_t pixels = frames[0].pixels.size() / 3 * frames.size();
    const std::size_t stride =
        std::max<std::size_t>(1, pixels / kMostSamples) | 1; // odd: not one column alone
    std::vector<GifByteType> red, green, blue;
    std::size_t skip = 0;
    for (const Image& frame : frames) {
        std::size_t i = skip;
        for (; i < frame.pixels.size() / 3; i += stride) {
            red.push_back(frame.pixels[i * 3]);
            green.push_back(frame.pixels[i * 3 + 1]);
            blue.push_back(frame.pixels[i * 3 + 2]);
        }
        skip = i - frame.pixels.size() / 3;
    }
    int size = static_cast<int>(kMostColours);
    m_colours.resize(kMostColours);
    std::vector<GifByteType> unused(red.size());
    const int done = GifQuantizeBuffer(static_cast<unsigned>(red.size()), 1, &size, red.data(),
                                       green.data(), blue.data(), unused.data(), m_colours.data());
    if (done != GIF_OK)
        throw Error("Cannot choose the colours of the GIF: out of memory.", ExitCode::OutOfMemory);
    m_colours.resize(static_cast<std::size_t>(std::clamp(size, 1, static_cast<int>(kMostColours))));
    // giflib averages in five bits, of which the largest is 248: white must stay white.
    for (GifColorType& colour : m_colours)
        for (GifByteType* channel : {&colour.Red, &colour.Green, &colour.Blue})
            *channel = static_cast<GifByteType>(*channel + (*channel >> 5));
}

std::uint8_t GifPalette::indexOf(int red, int green, int blue)
{
    const std::uint32_t colour = packed(red, green, blue);
    CacheEntry& entry = m_cache[(colour * 2654435761u) >> 16];
    if (entry.colour == colour)
        return entry.index;
    int best = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < m_colours.size(); ++i) {
        const int dr = m_colours[i].Red - red, dg = m_colours[i].Green - green,
                  db = m_colours[i].Blue - blue;
        const int distance = dr * dr + dg * dg + db * db;
        if (distance < best) {
            best = distance;
            entry.index = static_cast<std::uint8_t>(i);
        }
    }
    entry.colour = colour;
    return entry.index;
}

std::vector<std::uint8_t> GifPalette::nearest(const Image& frame)
{
    std::vector<std::uint8_t> indices(frame.pixels.size() / 3);
    for (std::size_t i = 0; i < indices.size(); ++i)
        indices[i] = indexOf(frame.pixels[i * 3], frame.pixels[i * 3 + 1], frame.pixels[i * 3 + 2]);
    return indices;
}

std::vector<std::uint8_t> GifPalette::dither(const Image& frame)
{
    const auto width = static_cast<std::size_t>(frame.width),
               height = static_cast<std::size_t>(frame.height);
    std::vector<std::uint8_t> indices(width * height);
    // Errors in sixteenths, one column of margin on each side.
    std::vector<int> current((width + 2) * 3), next((width + 2) * 3);
    for (std::size_t y = 0; y < height; ++y) {
        std::fill(next.begin(), next.end(), 0);
        for (std::size_t x = 0; x < width; ++x) {
            int wanted[3];
            for (std::size_t c = 0; c < 3; ++c)
                wanted[c] = std::clamp(
                    frame.pixels[(y * width + x) * 3 + c] + current[(x + 1) * 3 + c] / 16, 0, 255);
            const std::uint8_t index = indexOf(wanted[0], wanted[1], wanted[2]);
            indices[y * width + x] = index;
            const int chosen[3] = {m_colours[index].Red, m_colours[index].Green,
                                   m_colours[index].Blue};
            for (std::size_t c = 0; c < 3; ++c) {
                const int error = wanted[c] - chosen[c];
                current[(x + 2) * 3 + c] += error * 7;
                next[x * 3 + c] += error * 3;
                next[(x + 1) * 3 + c] += error * 5;
                next[(x + 2) * 3 + c] += error;
            }
        }
        std::swap(current, next);
    }
    return indices;
}

namespace {

/// Rank of a place in the pattern, 0 … 63: bits of x xor y and of y by turns, lowest first.
int patternRank(std::size_t x, std::size_t y)
{
    int rank = 0;
    for (int bit = 0; bit < 3; ++bit) {
        const auto mixed = static_cast<int>((x ^ y) >> bit & 1),
                   own = static_cast<int>(y >> bit & 1);
        rank = rank << 2 | mixed << 1 | own;
    }
    return rank;
}

} // namespace

std::vector<std::uint8_t> GifPalette::order(const Image& frame)
{
    const auto width = static_cast<std::size_t>(frame.width);
    std::vector<std::uint8_t> indices(width * static_cast<std::size_t>(frame.height));
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::uint8_t* wanted = frame.pixels.data() + i * 3;
        const std::uint8_t nearest = indexOf(wanted[0], wanted[1], wanted[2]);
        const GifColorType& here = m_colours[nearest];
        const int error[3] = {wanted[0] - here.Red, wanted[1] - here.Green, wanted[2] - here.Blue};
        const auto beyond = [&](int c) { return std::clamp(wanted[c] + error[c], 0, 255); };
        const std::uint8_t other = indexOf(beyond(0), beyond(1), beyond(2));
        const GifColorType& there = m_colours[other];
        const int way[3] = {there.Red - here.Red, there.Green - here.Green, there.Blue - here.Blue};
        const int along = error[0] * way[0] + error[1] * way[1] + error[2] * way[2];
        const int length = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
        // along / length of the way lies what is wanted.
        const bool isFar = 128 * along > length * (2 * patternRank(i % width, i / width) + 1);
        indices[i] = isFar ? other : nearest;
    }
    return indices;
}

} // namespace vergence
