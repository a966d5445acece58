#include "plugins/sugar/texture/texel_owners.h"

#include <algorithm>

namespace vergence::sugar {

/// Calls use(row, column) for the rows and columns of this part that a triangle may own.
template <class Use>
void TexelOwners::eachTexelAround(const TexelTriangle& triangle, const Use& use) const
{
    const auto limited = [](double value, int low, int high) {
        return static_cast<int>(
            std::clamp(value, static_cast<double>(low), static_cast<double>(high)));
    };
    const int left = limited(std::floor(triangle.left() - 1), 0, side),
              right = limited(std::ceil(triangle.right() + 1), 0, side);
    const int top = limited(std::floor(triangle.top() - 1), begin, end),
              bottom = limited(std::ceil(triangle.bottom() + 1), begin, end);
    for (int row = top; row < bottom; ++row) {
        for (int column = left; column < right; ++column)
            use(row, column);
    }
}

TexelOwners::TexelOwners(const TextureAtlas& atlas, int firstRow, int lastRow)
    : begin(firstRow),
      end(lastRow),
      side(atlas.side),
      face(static_cast<std::size_t>(lastRow - firstRow) * static_cast<std::size_t>(atlas.side),
           kNoFace)
{
    const auto count = static_cast<Index>(atlas.uv.size() / 6);
    for (Index f = 0; f < count; ++f) {
        const TexelTriangle triangle(atlas, f);
        if (triangle.area != 0 && triangle.bottom() + 1 > begin && triangle.top() - 1 < end)
            faces.push_back(static_cast<std::uint32_t>(f));
    }
    for (const double reach : {0.0, 1.0}) {
        for (const std::uint32_t f : faces) {
            const TexelTriangle triangle(atlas, f);
            eachTexelAround(triangle, [&](int row, int column) {
                std::uint32_t& owner = face[at(row, column)];
                if (owner == kNoFace && triangle.meets(column + 0.5, row + 0.5, reach))
                    owner = f;
            });
        }
    }
    start.push_back(0);
    for (const std::uint32_t f : faces) {
        eachTexelAround(TexelTriangle(atlas, f), [&](int row, int column) {
            if (face[at(row, column)] == f)
                texel.push_back(static_cast<std::uint32_t>(at(row, column)));
        });
        start.push_back(static_cast<std::uint32_t>(texel.size()));
    }
}

} // namespace vergence::sugar
