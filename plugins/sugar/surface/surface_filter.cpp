#include "plugins/sugar/surface/surface_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/spatial/point_tree.h"

namespace vergence::sugar {

namespace {

constexpr std::size_t kBatch = 16'384;
constexpr double kNormalTolerance = 0.01;

template <class Judge>
SurfacePoints those(const SurfacePoints& points, const Judge& isKept)
{
    std::vector<std::uint8_t> marks(points.level.size());
    for (std::size_t i = 0; i < marks.size(); ++i)
        marks[i] = isKept(i) ? 1 : 0;
    return points.selected(marks);
}

/// Mean distances to the nearest others; empty where `stop` said so.
std::vector<double> meanDistances(const SurfacePoints& points, std::size_t neighbours,
                                  const std::function<bool()>& stop)
{
    const PointTree<float> tree(points.position);
    std::vector<double> result(points.level.size());
    for (std::size_t first = 0; first < result.size(); first += kBatch) {
        if (stop && stop())
            return {};
        tbb::parallel_for(
            tbb::blocked_range<std::size_t>(first, std::min(first + kBatch, result.size()), 1024),
            [&](const tbb::blocked_range<std::size_t>& range) {
                std::vector<std::uint32_t> index(neighbours + 1);
                std::vector<double> squared(neighbours + 1);
                for (std::size_t i = range.begin(); i < range.end(); ++i) {
                    const std::size_t found = // itself, or one at its place, comes first
                        tree.nearest(&points.position[3 * i], neighbours + 1, index, squared);
                    double sum = 0;
                    for (std::size_t k = 1; k < found; ++k)
                        sum += std::sqrt(squared[k]);
                    result[i] = found > 1 ? sum / static_cast<double>(found - 1) : 0;
                }
            });
    }
    return result;
}

/// What the points of a cell add up to.
struct Cell {
    std::array<double, 3> position{}, normal{}, colour{};
    double count = 0;
    std::uint8_t level = 0;
};

struct CellKey {
    std::array<std::int64_t, 3> place{};
    int kind = 0; ///< level and octant of the normal

    bool operator==(const CellKey&) const = default;
};

struct CellHash {
    std::size_t operator()(const CellKey& key) const
    {
        auto hash = static_cast<std::uint64_t>(key.kind);
        for (const std::int64_t axis : key.place) {
            hash ^= static_cast<std::uint64_t>(axis);
            hash *= 0x9E3779B97F4A7C15U;
            hash ^= hash >> 29;
        }
        return static_cast<std::size_t>(hash);
    }
};

} // namespace

SurfacePoints insideRegion(const SurfacePoints& points, const SceneBox& box, Region region)
{
    return those(points, [&](std::size_t i) {
        const float* p = &points.position[3 * i];
        return box.regionOf({p[0], p[1], p[2]}) == region;
    });
}

SurfacePoints withoutBadNormals(const SurfacePoints& points)
{
    return those(points, [&](std::size_t i) {
        const float *p = &points.position[3 * i], *n = &points.normal[3 * i];
        const double length =
            std::sqrt(static_cast<double>(n[0]) * n[0] + static_cast<double>(n[1]) * n[1] +
                      static_cast<double>(n[2]) * n[2]);
        return std::isfinite(p[0]) && std::isfinite(p[1]) && std::isfinite(p[2]) &&
               std::abs(length - 1) <= kNormalTolerance; // false for NaN
    });
}

SurfacePoints withoutOutliers(const SurfacePoints& points, const OutlierSettings& settings,
                              const std::function<bool()>& stop)
{
    expects(settings.neighbours >= 1 && settings.deviations >= 0,
            "withoutOutliers: settings are out of range");
    if (points.count() < 3)
        return points;
    const std::vector<double> distances =
        meanDistances(points, static_cast<std::size_t>(settings.neighbours), stop);
    if (distances.empty())
        return {};
    double sum = 0, squares = 0;
    for (const double distance : distances)
        sum += distance;
    const double mean = sum / static_cast<double>(distances.size());
    for (const double distance : distances)
        squares += (distance - mean) * (distance - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(distances.size() - 1));
    const double bound = mean + settings.deviations * deviation;
    return those(points, [&](std::size_t i) { return distances[i] <= bound; });
}

SurfacePoints thinned(const SurfacePoints& points, double voxel)
{
    expects(voxel > 0 && std::isfinite(voxel), "thinned: the voxel must be above 0");
    std::unordered_map<CellKey, std::size_t, CellHash> index;
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < points.level.size(); ++i) {
        CellKey key;
        key.kind = 8 * points.level[i];
        for (std::size_t k = 0; k < 3; ++k) {
            key.place[k] = static_cast<std::int64_t>(
                std::floor(static_cast<double>(points.position[3 * i + k]) / voxel));
            key.kind += points.normal[3 * i + k] < 0 ? 1 << k : 0;
        }
        const auto [entry, isNew] = index.try_emplace(key, cells.size());
        if (isNew)
            cells.emplace_back();
        Cell& cell = cells[entry->second];
        cell.level = points.level[i];
        cell.count += 1;
        for (std::size_t k = 0; k < 3; ++k) {
            cell.position[k] += points.position[3 * i + k];
            cell.normal[k] += points.normal[3 * i + k];
            cell.colour[k] += points.colour[3 * i + k];
        }
    }
    SurfacePoints result;
    for (const Cell& cell : cells) {
        const double length = std::hypot(cell.normal[0], cell.normal[1], cell.normal[2]);
        for (std::size_t k = 0; k < 3; ++k) {
            result.position.push_back(static_cast<float>(cell.position[k] / cell.count));
            result.normal.push_back(static_cast<float>(cell.normal[k] / length));
            result.colour.push_back(
                static_cast<std::uint8_t>(std::lround(cell.colour[k] / cell.count)));
        }
        result.level.push_back(cell.level);
    }
    return result;
}

} // namespace vergence::sugar
