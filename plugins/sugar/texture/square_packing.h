#pragma once

#include <vector>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Where the corners of triangles lie in a square picture.
struct TextureAtlas {
    int side = 0;          ///< texels
    std::vector<float> uv; ///< [F, 3, 2] as in TexturedMesh
};

/// Squares of s × s texels, each with two triangles, m of them a row. The spare diagonal between
/// the two triangles belongs half to each, so that bilinear lookups inside a triangle read only
/// texels of its own.
struct SquarePacking {
    int square = 0; ///< s, texels
    int perRow = 0; ///< m
    int side() const { return square * perRow; }
};

/// The packing of `faces` triangles; s is `square` or as much below as `largestSide` asks for.
/// Throws InputError where squares of 4 texels, the least, do not fit.
SquarePacking squarePacking(Index faces, int square = 10, int largestSide = 16'384);

/// Triangles 2k and 2k + 1 share square k; the longest edge lies along the diagonal.
TextureAtlas squareAtlas(const TriangleMesh& mesh, const SquarePacking& packing);

} // namespace vergence::sugar
