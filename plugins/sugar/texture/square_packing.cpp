#include "plugins/sugar/texture/square_packing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

constexpr int kLeastSquare = 4;

struct Texel {
    double x, y;
};

/// The corner between the two shorter edges.
int cornerOppositeLongest(const TriangleMesh& mesh, Index f)
{
    const std::uint32_t* corners = mesh.triangle.data() + 3 * f;
    double longest = -1;
    int opposite = 0;
    for (int k = 0; k < 3; ++k) {
        const float* a = mesh.position.data() + 3 * std::size_t{corners[(k + 1) % 3]};
        const float* b = mesh.position.data() + 3 * std::size_t{corners[(k + 2) % 3]};
        const double edge =
            std::hypot(static_cast<double>(a[0] - b[0]), static_cast<double>(a[1] - b[1]),
                       static_cast<double>(a[2] - b[2]));
        if (edge > longest) {
            longest = edge;
            opposite = k;
        }
    }
    return opposite;
}

/// Corners of the first and second triangle of a square, the right angle first; all on centres of
/// texels. Counter-clockwise where y points up.
std::array<Texel, 3> cornersInSquare(bool isSecond, double s)
{
    if (isSecond)
        return {{{s - 0.5, s - 0.5}, {s - 0.5, 1.5}, {1.5, s - 0.5}}};
    return {{{0.5, 0.5}, {0.5, s - 2.5}, {s - 2.5, 0.5}}};
}

} // namespace

SquarePacking squarePacking(Index faces, int square, int largestSide, int mostPages)
{
    expects(faces > 0 && square >= kLeastSquare, "squarePacking: squares have 4 texels or more");
    expects(mostPages >= 1 && mostPages <= kMostPages, "squarePacking: 1 to 64 pages are possible");
    const Index squares = (faces + 1) / 2;
    for (int size = square; size >= kLeastSquare; --size) {
        const Index inRow = largestSide / size;
        const Index pages = inRow > 0 ? (squares + inRow * inRow - 1) / (inRow * inRow) : squares;
        if (pages > mostPages)
            continue;
        const Index onPage = (squares + pages - 1) / pages;
        auto perRow = static_cast<Index>(std::sqrt(static_cast<double>(onPage)));
        while (perRow * perRow < onPage)
            ++perRow;
        return {size, static_cast<int>(perRow), static_cast<int>(pages)};
    }
    throw InputError(fmt::format("Textures of {} px a side, {} at most, cannot hold {} triangles "
                                 "with {} texels each way; simplify the mesh.",
                                 largestSide, mostPages, faces, kLeastSquare));
}

TextureAtlas pageOf(const TextureAtlas& atlas, int page)
{
    TextureAtlas one;
    one.side = atlas.side;
    one.uv = atlas.uv;
    for (std::size_t f = 0; f < atlas.page.size(); ++f) {
        if (atlas.page[f] != page)
            std::fill_n(one.uv.begin() + static_cast<std::ptrdiff_t>(6 * f), 6, 0.0F);
    }
    return one;
}

TextureAtlas squareAtlas(const TriangleMesh& mesh, const SquarePacking& packing)
{
    const Index onPage = Index{packing.perRow} * packing.perRow;
    expects(mesh.faces() <= 2 * onPage * packing.pages,
            "squareAtlas: the packing is for fewer triangles");
    TextureAtlas atlas;
    atlas.side = packing.side();
    atlas.pages = packing.pages;
    if (packing.pages > 1)
        atlas.page.resize(static_cast<std::size_t>(mesh.faces()));
    atlas.uv.resize(static_cast<std::size_t>(6 * mesh.faces()));
    const auto side = static_cast<double>(atlas.side);
    for (Index f = 0; f < mesh.faces(); ++f) {
        const Index square = f / 2 % onPage;
        if (packing.pages > 1)
            atlas.page[static_cast<std::size_t>(f)] = static_cast<std::uint8_t>(f / 2 / onPage);
        const auto left = static_cast<double>(square % packing.perRow * packing.square),
                   top = static_cast<double>(square / packing.perRow * packing.square);
        const auto corners = cornersInSquare(f % 2 == 1, packing.square);
        const int first = cornerOppositeLongest(mesh, f);
        for (int k = 0; k < 3; ++k) {
            const Texel& place = corners[static_cast<std::size_t>(k)];
            float* uv = atlas.uv.data() + 6 * f + 2 * ((first + k) % 3);
            uv[0] = static_cast<float>((left + place.x) / side);
            uv[1] = static_cast<float>(1 - (top + place.y) / side);
        }
    }
    return atlas;
}

} // namespace vergence::sugar
