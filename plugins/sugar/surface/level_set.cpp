#include "plugins/sugar/surface/level_set.h"

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

constexpr Index kBatch = 128;      ///< blocks between looks at the stop
constexpr double kBehind = 0.25;   ///< voxels below the surface points that count as inside
constexpr std::size_t kVoters = 8; ///< surface points that say on which side a place is
constexpr double kLeastInside = 1e-6;

/// The surface points, and on which side of them a place is.
class Sides {
public:
    explicit Sides(const SurfacePoints& points) : m_points(points), m_tree(points.position) {}

    struct Nearest {
        double height;   ///< above the planes of the nearest points, their mean
        double distance; ///< to the nearest
    };
    Nearest nearest(const Vector3& x) const
    {
        const float at[3] = {static_cast<float>(x[0]), static_cast<float>(x[1]),
                             static_cast<float>(x[2])};
        std::array<std::uint32_t, kVoters> index{};
        std::array<double, kVoters> squared{};
        const std::size_t found = m_tree.nearest(at, kVoters, index, squared);
        double sum = 0;
        for (std::size_t i = 0; i < found; ++i) {
            const std::size_t from = 3 * static_cast<std::size_t>(index[i]);
            for (std::size_t k = 0; k < 3; ++k)
                sum += (x[k] - m_points.position[from + k]) * m_points.normal[from + k];
        }
        return {sum / static_cast<double>(found), std::sqrt(squared[0])};
    }

private:
    const SurfacePoints& m_points;
    PointTree<float> m_tree;
};

double densityAt(const DensityField& field, const Vector3& x, const Vector3& listFor)
{
    const float at[3] = {static_cast<float>(listFor[0]), static_cast<float>(listFor[1]),
                         static_cast<float>(listFor[2])};
    return field.density(field.nearest(at), x.data());
}

Vector3 between(const double* a, const double* b, double share)
{
    return {a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]),
            a[2] + share * (b[2] - a[2])};
}

class LevelSet {
public:
    LevelSet(const DensityField& field, const SurfacePoints& points,
             const LevelSetSettings& settings)
        : m_field(field),
          m_settings(settings),
          m_sides(points)
    {
    }

    /// Above 0 outside, below 0 inside, NaN far from the surface.
    float valueAt(const Vector3& x) const
    {
        const auto [height, distance] = m_sides.nearest(x);
        if (distance > m_settings.band * m_settings.voxel)
            return std::numeric_limits<float>::quiet_NaN();
        const double ratio = densityAt(m_field, x, x) / m_settings.level;
        if (ratio >= 1)
            return static_cast<float>(-std::max(ratio - 1, kLeastInside));
        return height < -kBehind * m_settings.voxel ? -1.0F : static_cast<float>(1 - ratio);
    }

    /// Where the level is first met from outside; where it is not, between the nodes' planes.
    double placeOnEdge(const double* outside, const double* inside) const
    {
        constexpr int kLooks = 8, kSteps = 3;
        const Vector3 middle = between(outside, inside, 0.5);
        const float at[3] = {static_cast<float>(middle[0]), static_cast<float>(middle[1]),
                             static_cast<float>(middle[2])};
        const std::uint32_t of = m_field.nearest(at);
        const auto excess = [&](double share) { // a log is nearly straight across a sheet
            const double density = m_field.density(of, between(outside, inside, share).data());
            return std::log(std::max(density, 1e-30) / m_settings.level);
        };
        double t0 = 0, f0 = excess(0);
        for (int i = 1; i <= kLooks; ++i) {
            double t1 = static_cast<double>(i) / kLooks, f1 = excess(t1);
            if (f0 < 0 && f1 >= 0) {
                for (int step = 0; step < kSteps; ++step) {
                    const double t = t0 - f0 * (t1 - t0) / (f1 - f0), f = excess(t);
                    (f < 0 ? t0 : t1) = t;
                    (f < 0 ? f0 : f1) = f;
                }
                return f1 > f0 ? t0 - f0 * (t1 - t0) / (f1 - f0) : t1;
            }
            t0 = t1;
            f0 = f1;
        }
        const double above = m_sides.nearest(between(outside, inside, 0)).height;
        const double below = m_sides.nearest(between(outside, inside, 1)).height;
        return above > below ? above / (above - below) : 0.5;
    }

private:
    const DensityField& m_field;
    LevelSetSettings m_settings;
    Sides m_sides;
};

/// Blocks for all nodes within `reach` of a point.
void coverPoints(BlockGrid& grid, const SurfacePoints& points, double reach)
{
    for (std::size_t i = 0; i < points.position.size(); i += 3) {
        Vector3 low{}, high{};
        for (std::size_t k = 0; k < 3; ++k) {
            low[k] = points.position[i + k] - reach;
            high[k] = points.position[i + k] + reach;
        }
        grid.cover(low, high);
    }
}

} // namespace

Reconstruction levelSetSurface(const DensityField& field, const SurfacePoints& points,
                               const LevelSetSettings& settings, const std::function<bool()>& stop)
{
    expects(settings.level > 0 && settings.band >= 2,
            "levelSetSurface: the level must be above 0 and the band at least 2 voxels");
    BlockGrid grid({0, 0, 0}, settings.voxel);
    if (points.count() == 0)
        return {};
    coverPoints(grid, points, settings.band * settings.voxel);
    const LevelSet levelSet(field, points, settings);
    for (Index first = 0; first < grid.blocks(); first += kBatch) {
        if (stop && stop())
            return {};
        tbb::parallel_for(first, std::min(first + kBatch, grid.blocks()), [&](Index block) {
            float* values = grid.values(block);
            for (int node = 0; node < kBlockNodes; ++node)
                values[node] = levelSet.valueAt(grid.position(grid.place(block), node % kBlockSide,
                                                              node / kBlockSide % kBlockSide,
                                                              node / (kBlockSide * kBlockSide)));
        });
    }
    Reconstruction result;
    result.mesh = marched(
        grid,
        [&](const double* outside, const double* inside, double, double) {
            return levelSet.placeOnEdge(outside, inside);
        },
        stop);
    return result;
}

} // namespace vergence::sugar
