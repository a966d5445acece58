#include "plugins/sugar/surface/tsdf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/surface/marching.h"

namespace vergence::sugar {

namespace {

using Vector3 = std::array<double, 3>;

constexpr double kReach = 2; ///< voxels about the surface that are given a block

Vector3 rayOf(const Camera& camera, int row, int column)
{
    const Vector3 inCamera{(column + 0.5 - camera.cx) / camera.fx,
                           (row + 0.5 - camera.cy) / camera.fy, 1};
    Vector3 ray{};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t k = 0; k < 3; ++k)
            ray[i] += camera.rotation[3 * k + i] * inCamera[k];
    }
    return ray;
}

} // namespace

/// The tangent plane of a pixel; weight 0 where there is none.
struct TsdfVolume::PixelPlane {
    float point[3], normal[3], depth, weight;
};

TsdfVolume::TsdfVolume(const TsdfSettings& settings, const SceneBox& box, Region region)
    : m_settings(settings),
      m_box(box),
      m_region(region),
      m_distance(box.centre, settings.voxel)
{
    expects(settings.truncation > 0 && settings.referenceDepth > 0 && settings.leastWeight >= 0,
            "TsdfVolume: settings are out of range");
}

/// Each pixel on its own, in parallel.
std::vector<TsdfVolume::PixelPlane> TsdfVolume::planesOf(const DepthView& view) const
{
    const Camera& camera = view.camera;
    const Vector3 centre = camera.centre();
    std::vector<PixelPlane> planes(view.depth.size());
    tbb::parallel_for(0, camera.height, [&](int row) {
        for (int column = 0; column < camera.width; ++column) {
            const std::size_t i =
                static_cast<std::size_t>(row) * static_cast<std::size_t>(camera.width) +
                static_cast<std::size_t>(column);
            PixelPlane& plane = planes[i];
            plane = {};
            const double depth = view.depth[i];
            if (!(depth > 0) || !(view.coverage[i] > kLeastCoverage) ||
                hasDepthStep(view, row, column))
                continue;
            const Vector3 ray = rayOf(camera, row, column);
            Vector3 point{};
            double facing = 0, squares = 0;
            for (std::size_t k = 0; k < 3; ++k) {
                point[k] = centre[k] + depth * ray[k];
                facing -= ray[k] * view.normal[3 * i + k];
                squares += ray[k] * ray[k];
                plane.point[k] = static_cast<float>(point[k]);
                plane.normal[k] = view.normal[3 * i + k];
            }
            const double cosine = facing / std::sqrt(squares);
            if (!(cosine > 0) || m_box.regionOf(point) != m_region)
                continue;
            plane.depth = static_cast<float>(depth);
            plane.weight = static_cast<float>(view.coverage[i] * cosine *
                                              std::pow(m_settings.referenceDepth / depth, 2));
        }
    });
    return planes;
}

void TsdfVolume::allocate(const Camera& camera, const std::vector<PixelPlane>& planes)
{
    for (const PixelPlane& plane : planes) {
        if (plane.weight <= 0)
            continue;
        // At least a pixel wide, so that neighbouring pixels leave no gap.
        const double reach =
            std::max(kReach * m_settings.voxel, plane.depth / std::min(camera.fx, camera.fy));
        Vector3 low{}, high{};
        for (std::size_t k = 0; k < 3; ++k) {
            low[k] = plane.point[k] - reach;
            high[k] = plane.point[k] + reach;
        }
        m_distance.cover(low, high);
    }
    m_weight.resize(static_cast<std::size_t>(m_distance.blocks()) * kBlockNodes, 0.0F);
}

void TsdfVolume::fuseBlock(const Camera& camera, const std::vector<PixelPlane>& planes, Index block)
{
    const auto toCamera = [&](const Vector3& p) {
        Vector3 t = camera.translation;
        for (std::size_t row = 0; row < 3; ++row) {
            for (std::size_t k = 0; k < 3; ++k)
                t[row] += camera.rotation[3 * row + k] * p[k];
        }
        return t;
    };
    const double truncation = m_settings.truncation * m_settings.voxel;
    const Vector3 corner = m_distance.position(m_distance.place(block), 0, 0, 0);
    const Vector3 start = toCamera(corner);
    float* distances = m_distance.values(block);
    float* weights = &m_weight[static_cast<std::size_t>(block) * kBlockNodes];
    for (int node = 0; node < kBlockNodes; ++node) {
        const double steps[3] = {m_settings.voxel * (node % kBlockSide),
                                 m_settings.voxel * (node / kBlockSide % kBlockSide),
                                 m_settings.voxel * (node / (kBlockSide * kBlockSide))};
        Vector3 t = start;
        for (std::size_t row = 0; row < 3; ++row) {
            for (std::size_t k = 0; k < 3; ++k)
                t[row] += camera.rotation[3 * row + k] * steps[k];
        }
        if (!(t[2] > 0))
            continue;
        const double column = std::floor(camera.fx * t[0] / t[2] + camera.cx),
                     row = std::floor(camera.fy * t[1] / t[2] + camera.cy);
        if (!(column >= 0 && column < camera.width && row >= 0 && row < camera.height))
            continue;
        const PixelPlane& plane =
            planes[static_cast<std::size_t>(row) * static_cast<std::size_t>(camera.width) +
                   static_cast<std::size_t>(column)];
        if (plane.weight <= 0 || t[2] - plane.depth > truncation)
            continue;
        double distance = 0;
        for (std::size_t k = 0; k < 3; ++k)
            distance += (corner[k] + steps[k] - plane.point[k]) * plane.normal[k];
        if (distance < -truncation)
            continue;
        const float before = weights[node], weight = before + plane.weight;
        const auto kept = static_cast<float>(std::min(distance, truncation));
        distances[node] =
            before > 0 ? (distances[node] * before + kept * plane.weight) / weight : kept;
        weights[node] = weight;
    }
}

void TsdfVolume::fuse(const DepthView& view)
{
    const auto pixels =
        static_cast<std::size_t>(view.camera.width) * static_cast<std::size_t>(view.camera.height);
    expects(view.depth.size() == pixels && view.coverage.size() == pixels &&
                view.normal.size() == 3 * pixels,
            "TsdfVolume: depth, coverage and normals must fill the picture");
    const std::vector<PixelPlane> planes = planesOf(view);
    allocate(view.camera, planes);
    tbb::parallel_for(Index{0}, m_distance.blocks(), [&](Index block) {
        if (mayBeSeen(view.camera, block))
            fuseBlock(view.camera, planes, block);
    });
}

/// False only for blocks that are behind the camera or beside its picture as a whole.
bool TsdfVolume::mayBeSeen(const Camera& camera, Index block) const
{
    int behind = 0, left = 0, right = 0, above = 0, below = 0;
    for (int corner = 0; corner < 8; ++corner) {
        const int last = kBlockSide - 1;
        const Vector3 p = m_distance.position(m_distance.place(block), (corner & 1) * last,
                                              (corner >> 1 & 1) * last, (corner >> 2) * last);
        Vector3 t = camera.translation;
        for (std::size_t row = 0; row < 3; ++row) {
            for (std::size_t k = 0; k < 3; ++k)
                t[row] += camera.rotation[3 * row + k] * p[k];
        }
        const double u = camera.fx * t[0] + camera.cx * t[2], // times z, so that signs hold
            v = camera.fy * t[1] + camera.cy * t[2];
        behind += t[2] <= 0;
        left += u < 0;
        right += u > camera.width * t[2];
        above += v < 0;
        below += v > camera.height * t[2];
    }
    return std::max({behind, left, right, above, below}) < 8;
}

Reconstruction TsdfVolume::reconstruct(const std::function<bool()>& stop) const
{
    BlockGrid known = m_distance;
    const auto least = static_cast<float>(m_settings.leastWeight);
    for (Index block = 0; block < known.blocks(); ++block) {
        const float* weights = &m_weight[static_cast<std::size_t>(block) * kBlockNodes];
        for (std::size_t node = 0; node < kBlockNodes; ++node) {
            if (!(weights[node] > 0 && weights[node] >= least))
                known.values(block)[node] = std::numeric_limits<float>::quiet_NaN();
        }
    }
    Reconstruction result;
    result.mesh = marched(known, {}, stop);
    result.density.reserve(static_cast<std::size_t>(result.mesh.vertices()));
    for (std::size_t i = 0; i < result.mesh.position.size(); i += 3) {
        std::array<int, 3> node{};
        BlockGrid::Place place{};
        for (std::size_t k = 0; k < 3; ++k) {
            node[k] = static_cast<int>(std::lround(
                (static_cast<double>(result.mesh.position[i + k]) - m_distance.origin()[k]) /
                m_settings.voxel));
            place[k] = node[k] >> 3; // blocks of 8, also below 0
        }
        const Index block = m_distance.find(place);
        result.density.push_back(
            block < 0 ? 0.0F
                      : m_weight[static_cast<std::size_t>(block) * kBlockNodes +
                                 BlockGrid::offsetOf(node[0] & 7, node[1] & 7, node[2] & 7)]);
    }
    return result;
}

std::size_t TsdfVolume::bytes() const
{
    return static_cast<std::size_t>(m_distance.blocks()) * kBlockNodes * 2 * sizeof(float);
}

} // namespace vergence::sugar
