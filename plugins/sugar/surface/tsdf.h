#pragma once

#include <functional>

#include "plugins/sugar/surface/block_grid.h"
#include "plugins/sugar/surface/depth_view.h"
#include "plugins/sugar/surface/reconstruction.h"
#include "plugins/sugar/surface/scene_box.h"

namespace vergence::sugar {

struct TsdfSettings {
    double voxel = 0.02;   ///< edge, world units
    double truncation = 4; ///< voxels
    /// Distance at which a view from the front weighs 1; weights fall with the square.
    double referenceDepth = 1;
    double leastWeight = 2; ///< nodes of less give no surface
};

/// Mean signed distance to the surface, gathered view by view; positive outside. Eight bytes a
/// voxel in blocks of 8³ near the surface. A view adds, to voxels before or not far behind its
/// surface, the distance to the tangent plane of the pixel they fall on, with the weight
/// coverage · cos(angle of view) · (referenceDepth/z)². Pixels with depth steps are left out.
/// Source: A volumetric method for building complex models from range images (1996), section 3.
class TsdfVolume {
public:
    /// Takes surface of one region of the box only.
    TsdfVolume(const TsdfSettings& settings, const SceneBox& box, Region region);

    /// Adds one view. The result does not depend on the number of threads.
    void fuse(const DepthView& view);
    /// The surface so far; density is the weight. Empty where `stop` said so.
    Reconstruction reconstruct(const std::function<bool()>& stop = {}) const;

    Index blocks() const { return m_distance.blocks(); }
    std::size_t bytes() const; ///< of all voxels

private:
    struct PixelPlane;

    TsdfSettings m_settings;
    SceneBox m_box;
    Region m_region;
    BlockGrid m_distance;
    std::vector<float> m_weight; ///< [blocks, 512]

    std::vector<PixelPlane> planesOf(const DepthView& view) const;
    void allocate(const Camera& camera, const std::vector<PixelPlane>& planes);
    bool mayBeSeen(const Camera& camera, Index block) const;
    void fuseBlock(const Camera& camera, const std::vector<PixelPlane>& planes, Index block);
};

} // namespace vergence::sugar
