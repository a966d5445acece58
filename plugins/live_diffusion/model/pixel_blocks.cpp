#include "plugins/live_diffusion/model/pixel_blocks.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

namespace {
/// Calls body(place in the frame, place in the grid) for every number of three colours.
template <class Body>
void eachNumber(std::size_t frame, std::size_t grid, Index size, Index patch, const Body& body)
{
    expects(size > 0 && patch > 0 && size % patch == 0,
            fmt::format("{} pixels are not cut into patches of {}", size, patch));
    const auto count = static_cast<std::size_t>(3 * size * size);
    expects(
        frame == count && grid == count,
        fmt::format("a frame of {} numbers and a grid of {} instead of {}", frame, grid, count));
    const Index cells = size / patch;
    for (Index row = 0; row < 3 * size; ++row) {
        const Index colour = row / size, y = row % size;
        for (Index x = 0; x < size; ++x) {
            const Index channel = (colour * patch + y % patch) * patch + x % patch;
            body(static_cast<std::size_t>(row * size + x),
                 static_cast<std::size_t>((channel * cells + y / patch) * cells + x / patch));
        }
    }
}
} // namespace

void pixelUnshuffle(std::span<const float> frame, Index size, Index patch, std::span<float> grid)
{
    eachNumber(frame.size(), grid.size(), size, patch,
               [&](std::size_t inFrame, std::size_t inGrid) { grid[inGrid] = frame[inFrame]; });
}

void pixelShuffle(std::span<const float> grid, Index size, Index patch, std::span<float> frame)
{
    eachNumber(frame.size(), grid.size(), size, patch,
               [&](std::size_t inFrame, std::size_t inGrid) { frame[inFrame] = grid[inGrid]; });
}

} // namespace vergence::live
