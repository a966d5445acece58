#include "plugins/sugar/texture/square_packing.h"

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

SquarePacking squarePacking(Index faces, int square, int largestSide)
{
    expects(faces > 0 && square >= kLeastSquare, "squarePacking: squares have 4 texels or more");
    const Index squares = (faces + 1) / 2;
    auto perRow = static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(squares))));
    while (perRow * perRow < squares)
        ++perRow;
    const Index most = largestSide / perRow;
    if (most < kLeastSquare)
        throw InputError(fmt::format(
            "A texture of {} px a side cannot hold {} triangles with {} texels each way; simplify "
            "the mesh.",
            largestSide, faces, kLeastSquare));
    return {static_cast<int>(std::min<Index>(square, most)), static_cast<int>(perRow)};
}

TextureAtlas squareAtlas(const TriangleMesh& mesh, const SquarePacking& packing)
{
    const Index squares = Index{packing.perRow} * packing.perRow;
    expects(mesh.faces() <= 2 * squares, "squareAtlas: the packing is for fewer triangles");
    TextureAtlas atlas;
    atlas.side = packing.side();
    atlas.uv.resize(static_cast<std::size_t>(6 * mesh.faces()));
    const auto side = static_cast<double>(atlas.side);
    for (Index f = 0; f < mesh.faces(); ++f) {
        const Index square = f / 2;
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
