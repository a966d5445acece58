#pragma once

#include <functional>

#include "plugins/sugar/texture/square_packing.h"

namespace vergence::sugar {

struct ChartSettings {
    int largestSide = 4096;       ///< texels
    double texelsPerUnit = 0;     ///< per world unit; 0: as many as fill the largest side
    int gutter = 4;               ///< least distance of charts, texels, at least 2
    int mostPages = 1;            ///< further ones only where the density asks for them
    double deviationDegrees = 60; ///< of triangles' normals from that of their chart, below 90
};

struct ChartAtlas {
    TextureAtlas atlas;
    Index charts = 0;
    double texelsPerUnit = 0; ///< what there was room for
    double covered = 0;       ///< share of the texture's area inside triangles
};

/// Unfolds a mesh into connected pieces that keep their shape, for painting by hand. A piece is
/// seen along its mean normal: no triangle turns over or shrinks below cos(deviation) in area, and
/// one that would lie over another starts a piece of its own. Where there may be several pages, no
/// piece is larger than one. Pieces are packed as sets of texels, long ones first, each in the
/// quarter turn and at the place that end lowest. Throws InputError where the pieces do not fit.
/// Where `stop` says so it returns early, and what it returns is worth nothing.
/// Source of the packing: The geometry of nesting problems: a tutorial (Bennell and Oliveira,
/// 2008), its raster method.
ChartAtlas chartAtlas(const TriangleMesh& mesh, const ChartSettings& settings = {},
                      const std::function<bool()>& stop = {});

} // namespace vergence::sugar
