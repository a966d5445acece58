#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/io/scene_math.h"
#include "plugins/sugar/spatial/point_tree.h"

namespace vergence::sugar {

namespace {

constexpr double kC0 = 0.28209479177387814;
constexpr std::size_t kEnoughPoints = 10'000;
constexpr std::size_t kNeighbours = 3;

/// The nearest others of a point, nearest first.
struct Neighbours {
    std::size_t count = 0;
    std::array<std::uint32_t, kNeighbours> index{};
    std::array<double, kNeighbours> squaredDistance{};
};

Neighbours neighboursOf(const PointTree<double>& tree, const Vector3& point, std::size_t self)
{
    std::array<std::uint32_t, kNeighbours + 1> index{};
    std::array<double, kNeighbours + 1> squared{};
    const std::size_t found = tree.nearest(point.data(), kNeighbours + 1, index, squared);
    Neighbours result;
    for (std::size_t i = 0; i < found && result.count < kNeighbours; ++i) {
        if (index[i] == self)
            continue;
        result.index[result.count] = index[i];
        result.squaredDistance[result.count++] = squared[i];
    }
    return result;
}

std::vector<Neighbours> allNeighbours(const std::vector<Vector3>& points)
{
    std::vector<Neighbours> result(points.size());
    if (points.empty())
        return result;
    static_assert(sizeof(Vector3) == 3 * sizeof(double));
    const PointTree<double> tree(std::span(points[0].data(), 3 * points.size()));
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, points.size(), 256),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                          for (std::size_t i = range.begin(); i < range.end(); ++i)
                              result[i] = neighboursOf(tree, points[i], i);
                      });
    return result;
}

std::vector<Vector3> positionsOf(const std::vector<ScenePoint>& points)
{
    std::vector<Vector3> positions;
    positions.reserve(points.size());
    for (const ScenePoint& point : points)
        positions.push_back(point.position);
    return positions;
}

bool isDoubtful(const ScenePoint& point)
{
    return point.error > 4 || point.trackLength == 1;
}

/// Without the doubtful points, those of the largest error first, as long as enough remain.
std::vector<ScenePoint> trustedPoints(std::vector<ScenePoint> points)
{
    if (points.size() <= kEnoughPoints)
        return points;
    const auto doubtful = std::stable_partition(
        points.begin(), points.end(), [](const ScenePoint& point) { return !isDoubtful(point); });
    std::stable_sort(doubtful, points.end(),
                     [](const ScenePoint& a, const ScenePoint& b) { return a.error < b.error; });
    const auto trusted = static_cast<std::size_t>(doubtful - points.begin());
    points.resize(std::max(trusted, kEnoughPoints));
    return points;
}

template <class T>
void keepOnly(std::vector<T>& values, const std::vector<bool>& isKept)
{
    std::size_t kept = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (isKept[i])
            values[kept++] = values[i];
    }
    values.resize(kept);
}

/// Points at the very same place would slow the search down; the first of them stays.
void dropCoincident(std::vector<ScenePoint>& points)
{
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return points[a].position < points[b].position;
    });
    std::vector<bool> isKept(points.size(), true);
    for (std::size_t i = 1; i < order.size(); ++i)
        isKept[order[i]] = points[order[i]].position != points[order[i - 1]].position;
    keepOnly(points, isKept);
}

/// Drops points that lie closer than `radius` to an earlier one; `neighbours` stay those of the
/// points.
void dropClose(std::vector<ScenePoint>& points, std::vector<Neighbours>& neighbours, double radius)
{
    std::vector<bool> isKept(points.size(), true);
    bool changed = false;
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (std::size_t n = 0; n < neighbours[i].count; ++n) {
            if (neighbours[i].index[n] < i && neighbours[i].squaredDistance[n] < radius * radius) {
                isKept[i] = false;
                changed = true;
            }
        }
    }
    if (!changed)
        return;
    keepOnly(points, isKept);
    neighbours = allNeighbours(positionsOf(points));
}

/// ln of the root mean square distance of the nearest others, kept between 1e-7 and 0.1 extents.
double logScaleOf(const Neighbours& neighbours, double extent, double factor)
{
    const double largest = std::max(0.1 * extent, 1e-7);
    double sum = 0;
    for (std::size_t n = 0; n < neighbours.count; ++n)
        sum += neighbours.squaredDistance[n];
    const double distance =
        neighbours.count > 0 ? std::sqrt(sum / static_cast<double>(neighbours.count)) : largest;
    return std::log(std::clamp(distance, 1e-7, largest) * factor);
}

GaussianCloud cloudAt(const std::vector<ScenePoint>& points,
                      const std::vector<Neighbours>& neighbours, double extent, double opacity,
                      double scaleFactor)
{
    GaussianCloud cloud;
    const std::size_t count = points.size();
    cloud.position.reserve(3 * count);
    cloud.rotation.reserve(4 * count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto scale = static_cast<float>(logScaleOf(neighbours[i], extent, scaleFactor));
        for (std::size_t axis = 0; axis < 3; ++axis) {
            cloud.position.push_back(static_cast<float>(points[i].position[axis]));
            cloud.logScale.push_back(scale);
            cloud.shDc.push_back(static_cast<float>((points[i].colour[axis] / 255.0 - 0.5) / kC0));
        }
        cloud.rotation.insert(cloud.rotation.end(), {1, 0, 0, 0});
    }
    cloud.opacity.assign(count, static_cast<float>(std::log(opacity / (1 - opacity))));
    return cloud;
}

} // namespace

GaussianCloud initialCloud(const std::vector<ScenePoint>& points, double extent, double opacity,
                           double scaleFactor)
{
    expects(extent > 0 && scaleFactor > 0, "initialCloud: extent and factor must be positive");
    expects(opacity > 0 && opacity < 1, "initialCloud: the opacity must lie between 0 and 1");
    std::vector<ScenePoint> kept = trustedPoints(points);
    dropCoincident(kept);
    auto neighbours = allNeighbours(positionsOf(kept));
    dropClose(kept, neighbours, 1e-7 * extent);
    return cloudAt(kept, neighbours, extent, opacity, scaleFactor);
}

GaussianCloud randomCloud(Index count, const std::array<double, 3>& centre, double halfSize,
                          double extent, std::uint64_t seed)
{
    expects(count >= 0 && halfSize > 0 && extent > 0, "randomCloud: sizes must be positive");
    const Rng random(seed, 0x72636C64); // "rcld": a stream of its own
    std::vector<ScenePoint> points(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (std::size_t axis = 0; axis < 3; ++axis)
            points[i].position[axis] =
                centre[axis] + halfSize * (2.0 * random.uniform(3 * i + axis) - 1);
    }
    GaussianCloud cloud = cloudAt(points, allNeighbours(positionsOf(points)), extent, 0.1, 1);
    std::fill(cloud.shDc.begin(), cloud.shDc.end(), 0.0F);
    return cloud;
}

} // namespace vergence::sugar
