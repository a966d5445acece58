#pragma once

#include <vector>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

constexpr int kMostPages = 64; ///< of a texture

/// Where the corners of triangles lie in square pictures.
struct TextureAtlas {
    int side = 0;                   ///< texels, of every page
    std::vector<float> uv;          ///< [F, 3, 2] as in TexturedMesh
    int pages = 1;                  ///< at most kMostPages
    std::vector<std::uint8_t> page; ///< [F]; empty: all on the only one
};
/// One page of an atlas: triangles of other pages have no coordinates there.
TextureAtlas pageOf(const TextureAtlas& atlas, int page);

/// Squares of s × s texels, each with two triangles, m of them a row. The spare diagonal between
/// the two triangles belongs half to each, so that bilinear lookups inside a triangle read only
/// texels of its own.
struct SquarePacking {
    int square = 0; ///< s, texels
    int perRow = 0; ///< m
    int pages = 1;
    int side() const { return square * perRow; }
};

/// The packing of `faces` triangles on as few pages as `largestSide` allows; s is `square` or as
/// much below as `mostPages` asks for. Throws InputError where squares of 4 texels, the least, do
/// not fit.
SquarePacking squarePacking(Index faces, int square = 10, int largestSide = 16'384,
                            int mostPages = 1);

/// Triangles 2k and 2k + 1 share square k; the longest edge lies along the diagonal. Pages are
/// filled one after the other.
TextureAtlas squareAtlas(const TriangleMesh& mesh, const SquarePacking& packing);

} // namespace vergence::sugar
