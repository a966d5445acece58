#pragma once

#include <cstdint>
#include <vector>

#include "core/artifact/image.h"
#include "core/compute/tensor.h"

namespace vergence::sugar {

/// Triangles with shared vertices, in world units. Seen from outside, corners run
/// counter-clockwise.
struct TriangleMesh {
    std::vector<float> position;         ///< [V, 3]
    std::vector<std::uint32_t> triangle; ///< [F, 3] rows of position
    std::vector<float> normal;           ///< [V, 3] unit, or empty
    std::vector<std::uint8_t> colour;    ///< [V, 3] sRGB, or empty
    std::vector<std::uint8_t> group;     ///< [F] 0 foreground, 1 background; or empty

    Index vertices() const { return static_cast<Index>(position.size() / 3); }
    Index faces() const { return static_cast<Index>(triangle.size() / 3); }
};

/// A mesh with pictures on it. Corners have places of their own in the picture of their triangle.
struct TexturedMesh {
    TriangleMesh mesh;
    std::vector<float> uv;    ///< [F, 3, 2] 0 to 1, u to the right, v upwards from the lower edge
    std::vector<Image> pages; ///< at least one, sRGB, 8 bits
    std::vector<std::uint8_t> page; ///< [F] of `pages`; empty: all on the first

    std::size_t pageOf(std::size_t face) const { return page.empty() ? 0 : page[face]; }
};

} // namespace vergence::sugar
