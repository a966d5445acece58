#pragma once

#include <cstdint>

#include "core/compute/kernel.h"
#include "core/compute/view.h"
#include "plugins/sugar/compute/adam_math.h"
#include "plugins/sugar/compute/projection_math.h"
#include "plugins/sugar/compute/rasteriser.h"
#include "plugins/sugar/compute/ray_depth_math.h"

namespace vergence::sugar {

// The stages of a pass, as the rasteriser strings them together: project, order, list, blend, and
// back. All pointers are memory of the stream's device.

inline constexpr int kTile = 16; ///< side of a tile, px
inline constexpr int kTilePixels = kTile * kTile;

/// A Gaussian on screen: what tiles read, one cache line. α = 2^e for
/// e = level − (a dx² + b dx dy + c dy²), that is the conic times ½ log2(e) (b: times log2(e)) and
/// the opacity's logarithm to base 2. On a row the splat covers
/// x = u + slope dy ± sqrt((level − cut − row dy²) column), dy = v − y.
struct alignas(64) Splat {
    float u, v, a, b, c, level;
    float colour[3];
    float depth;
    float normal[3];
    float slope, row, column;
};

/// Tiles [x0, x1) × [y0, y1) that the splat's box touches; empty where it was culled.
struct TileBox {
    std::uint16_t x0, x1, y0, y1;
};

/// Sums that one tile adds to the gradient of one splat: QuadraticSums, then colour, depth, normal
/// and the absolute screen gradients.
struct alignas(64) SplatRecord {
    float one, x, y, xx, xy, yy;
    float colour[3];
    float depth;
    float normal[3];
    float absoluteU, absoluteV;
    float unused;
};

template <class T>
struct GaussianPointers {
    T *position = nullptr, *logScale = nullptr, *rotation = nullptr, *opacity = nullptr,
      *shDc = nullptr, *shRest = nullptr;
};

/// What a pass looks at.
struct RasterView {
    GaussianPointers<const float> values;
    const float* filter = nullptr; ///< or null
    Index count = 0;
    int restCount = 0; ///< coefficients of degrees above 0 that are stored
    int shDegree = 0;  ///< in use
    bool threeSigma = false;
    CameraView<float> camera{};
    ScreenFilter<float> blur{};
    int tilesX = 0;
    int firstRow = 0, lastRow = 0; ///< rows of tiles [first, last) that are looked at
};

struct ProjectArguments {
    RasterView view;
    Index first = 0, last = 0; ///< Gaussians of this call; first a multiple of kBlock
    Splat* splats = nullptr;
    TileBox* boxes = nullptr;
    std::uint32_t* keys = nullptr;   ///< bits of the depth; ~0 where culled
    std::uint32_t* counts = nullptr; ///< tiles; 0 where culled
    std::uint64_t* masks = nullptr;  ///< the tiles of small boxes, see kMaskSide
    std::uint8_t* visible = nullptr;
};
/// Gaussians that one task of the per-Gaussian stages takes.
inline constexpr Index kBlock = 64;

struct RasterTotals {
    Index visible = 0, instances = 0;
};

struct OrderArguments {
    Index count = 0;
    const std::uint32_t* keys = nullptr;
    const std::uint32_t* counts = nullptr;
    std::uint32_t* slots = nullptr;   ///< [count], first instance of each Gaussian
    std::uint32_t* order = nullptr;   ///< [count], visible Gaussians by depth, ties by index
    std::uint32_t* scratch = nullptr; ///< [4 count]
    RasterTotals* totals = nullptr;   ///< host
};

struct ListArguments {
    RasterTotals totals;
    int tilesX = 0, firstRow = 0, lastRow = 0; ///< as in RasterView; tiles count from firstRow on
    const std::uint32_t* order = nullptr;
    const std::uint32_t* slots = nullptr;
    const std::uint32_t* counts = nullptr;
    const Splat* splats = nullptr;
    const TileBox* boxes = nullptr;
    const std::uint64_t* masks = nullptr;
    std::uint32_t* starts = nullptr;     ///< [tiles + 1], first entry of each tile
    std::uint32_t* gaussians = nullptr;  ///< [instances], by tile, then by depth
    std::uint32_t* entrySlots = nullptr; ///< [instances], instance number of each entry; or null
    std::uint32_t* tileOrder = nullptr;  ///< [tiles], those with most entries first
};

struct BlendImages {
    float* colour = nullptr;
    float* transmittance = nullptr;
    float* depth = nullptr; ///< null without geometry, like normal
    float* normal = nullptr;
    std::int32_t* contributors = nullptr;
};

struct BlendArguments {
    int width = 0, height = 0, tilesX = 0; ///< of the images
    int firstRow = 0;                      ///< of tiles of the picture: where the images begin
    Index firstTile = 0, lastTile = 0;     ///< of tileOrder
    const std::uint32_t* starts = nullptr;
    const std::uint32_t* tileOrder = nullptr;
    const std::uint32_t* gaussians = nullptr;
    const Splat* splats = nullptr;
    float background[3] = {};
    BlendImages images;
    /// For the backward pass, or null: [instances] blocks of pixels that each entry reached, and
    /// [tiles, 256] the last entry that was blended into each pixel.
    std::uint64_t* reached = nullptr;
    std::int32_t* last = nullptr;
    Index* evaluations = nullptr; ///< [tiles, 2]: blended, looked at; null on CUDA
};

struct BlendBackwardArguments {
    BlendArguments forward;
    const float *gradColour = nullptr, *gradCoverage = nullptr, *gradDepth = nullptr,
                *gradNormal = nullptr; ///< null counts as 0
    const std::uint32_t* entrySlots = nullptr;
    SplatRecord* records = nullptr; ///< [instances], overwritten
    Index instances = 0;
    bool absolute = false; ///< also the sums of absolute values
};

struct StatisticsPointers {
    float *gradient = nullptr, *absolute = nullptr, *visible = nullptr, *radius = nullptr;
};

struct GaussianBackwardArguments {
    RasterView view;
    Index first = 0, last = 0;
    const TileBox* boxes = nullptr;
    const std::uint32_t* counts = nullptr;
    const std::uint32_t* slots = nullptr; ///< null: one record per Gaussian
    const SplatRecord* records = nullptr;
    StatisticsPointers statistics;     ///< null pointers where not wanted
    GaussianPointers<float> gradients; ///< written by gaussianBackward; null ones are not
    // For gaussianUpdate:
    GaussianPointers<const float> extra; ///< null ones count as 0
    GaussianPointers<float> values;
    GaussianPointers<void> moment1, moment2;
    bool compactMoments = false; ///< see MomentFormat
    AdamFactors<float> adam{};
    bool sparse = false, keepsExtra = false; ///< as in AdamStep
    Index* skipped = nullptr;                ///< [blocks] rows whose gradient was not finite
};

struct RecordSumArguments {
    Index count = 0;
    const std::uint32_t* counts = nullptr; ///< of this band
    const std::uint32_t* slots = nullptr;
    const SplatRecord* records = nullptr;
    SplatRecord* sums = nullptr;     ///< [count], added to
    std::uint32_t* seen = nullptr;   ///< [count], 1 once a band has shown the Gaussian
    std::uint8_t* visible = nullptr; ///< [count], the same
    Index* visibleCount = nullptr;   ///< host: how many are
};

struct RayGaussianArguments {
    RasterView view;
    const std::uint32_t* counts = nullptr;
    RayGaussian* gaussians = nullptr; ///< [count], of visible ones
};

struct PixelDepthArguments {
    BlendArguments blend; ///< of a whole picture
    CameraView<float> camera{};
    const RayGaussian* gaussians = nullptr; ///< null: median depth
    float* depth = nullptr;                 ///< [H, W]
};

struct FilterArguments {
    const float* position = nullptr;
    float* filter = nullptr;  ///< [count], overwritten
    float* largest = nullptr; ///< one number for the kernel
    Index count = 0;
    const CameraView<float>* cameras = nullptr; ///< [cameraCount]
    Index cameraCount = 0;
};

inline const Kernel<void(const ProjectArguments&)> projectGaussians{"sugar.project"};
inline const Kernel<void(const OrderArguments&)> orderGaussians{"sugar.order"};
inline const Kernel<void(const ListArguments&)> listTiles{"sugar.list"};
inline const Kernel<void(const BlendArguments&)> blendTiles{"sugar.blend"};
inline const Kernel<void(const BlendBackwardArguments&)> blendTilesBackward{"sugar.blendBackward"};
inline const Kernel<void(const RecordSumArguments&)> sumRecords{"sugar.sumRecords"};
inline const Kernel<void(const GaussianBackwardArguments&)> gaussianBackward{
    "sugar.gaussianBackward"};
inline const Kernel<void(const GaussianBackwardArguments&)> gaussianUpdate{"sugar.gaussianUpdate"};
inline const Kernel<void(const RayGaussianArguments&)> formRayGaussians{"sugar.rayGaussians"};
inline const Kernel<void(const PixelDepthArguments&)> pixelDepth{"sugar.pixelDepth"};
inline const Kernel<void(const FilterArguments&)> smoothingFilter{"sugar.smoothingFilter"};

} // namespace vergence::sugar
