#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugins/sugar/texture/texel_owners.h"

namespace vergence::sugar {

/// A texture that is seen in part, and what is made up for the rest of it.
struct FilledTexture {
    using Colour = std::array<float, 3>; ///< 0 to 1

    Image image; ///< [side, side, 3]

    FilledTexture(int side, Index faces);

    void see(int row, int column, std::uint32_t face, const Colour& colour);
    void miss(int row, int column);
    double seenShare() const; ///< of texels seen or missed; 0 without

    /// Mean colours of triangles: of those without a seen texel, the area-weighted mean of the
    /// neighbours that have one, ring after ring; `otherwise` where there is no way.
    void colourUnseenFaces(const TriangleMesh& mesh, const Colour& otherwise);
    /// Missed texels take the mean of texels beside them in the same triangle, up to `reach`
    /// texels away from a seen one; further ones the colour of their triangle.
    void fillFaces(const TexelOwners& owners, int reach);
    /// Texels without a triangle take the mean of filled ones beside them, `reach` times.
    void dilate(int reach);
    /// Texels that are still empty take the mean colour of the smallest square around them, of 2,
    /// 4, 8 … texels a side, that holds a filled one.
    void fillRest();

private:
    enum class State : std::uint8_t { Outside, Missed, Filled };

    std::size_t texel(int row, int column) const
    {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(image.width) +
               static_cast<std::size_t>(column);
    }
    void store(std::size_t at, const Colour& colour);
    template <class IsAlike>
    void grow(std::vector<std::uint32_t>& open, int reach, const IsAlike& isAlike);

    std::vector<State> m_state;               ///< [side, side]
    std::vector<std::array<float, 4>> m_face; ///< [F] sums of seen texels, later means; count
    Index m_seen = 0, m_missed = 0;
};

} // namespace vergence::sugar
