#include "plugins/sugar/mesh/self_intersection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/mesh/mesh_vector.h"

namespace vergence::sugar {

namespace {

using Triangle = std::array<Point3, 3>;

struct Box {
    Point3 low{1e300, 1e300, 1e300}, high{-1e300, -1e300, -1e300};

    void include(const Point3& p)
    {
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    }
    bool meets(const Box& other) const
    {
        return low.x <= other.high.x && other.low.x <= high.x && low.y <= other.high.y &&
               other.low.y <= high.y && low.z <= other.high.z && other.low.z <= high.z;
    }
};

/// Six times the volume of a tetrahedron; its sign says on which side of abc d lies.
double orientation(const Point3& a, const Point3& b, const Point3& c, const Point3& d)
{
    return dot(cross(b - a, c - a), d - a);
}

/// Does the segment pq go through the inside of a triangle?
bool pierces(const Point3& p, const Point3& q, const Triangle& t)
{
    if (orientation(t[0], t[1], t[2], p) * orientation(t[0], t[1], t[2], q) >= 0)
        return false;
    const double u = orientation(p, q, t[0], t[1]), v = orientation(p, q, t[1], t[2]),
                 w = orientation(p, q, t[2], t[0]);
    return (u > 0 && v > 0 && w > 0) || (u < 0 && v < 0 && w < 0);
}

bool intersect(const Triangle& a, const Triangle& b)
{
    for (std::size_t k = 0; k < 3; ++k) {
        if (pierces(a[k], a[(k + 1) % 3], b) || pierces(b[k], b[(k + 1) % 3], a))
            return true;
    }
    return false;
}

/// Faces by the cells of a lattice that their boxes meet, in a table of fixed size.
class FaceGrid {
public:
    explicit FaceGrid(const TriangleMesh& mesh) : m_mesh(mesh)
    {
        const auto faces = static_cast<std::size_t>(mesh.faces());
        double sides = 0;
        for (std::size_t f = 0; f < faces; ++f) {
            const Box box = boxOf(f);
            m_all.include(box.low);
            m_all.include(box.high);
            sides += norm(box.high - box.low);
        }
        const Point3 size = m_all.high - m_all.low;
        m_cell = std::max({sides / static_cast<double>(faces), norm(size) / 128, 1e-300});
        std::vector<std::uint32_t> counts(kSlots + 1, 0);
        const auto forEachSlotOf = [&](std::size_t f, const auto& body) {
            forEachCell(boxOf(f), [&](std::size_t slot) { body(slot); });
        };
        for (std::size_t f = 0; f < faces; ++f)
            forEachSlotOf(f, [&](std::size_t slot) { ++counts[slot + 1]; });
        std::partial_sum(counts.begin(), counts.end(), counts.begin());
        m_lists.start = counts;
        m_lists.value.resize(counts.back());
        for (std::size_t f = 0; f < faces; ++f)
            forEachSlotOf(f, [&](std::size_t slot) {
                m_lists.value[counts[slot]++] = static_cast<std::uint32_t>(f);
            });
    }

    Triangle triangle(std::size_t f) const
    {
        const std::uint32_t* v = &m_mesh.triangle[3 * f];
        return {vertexOf(m_mesh, v[0]), vertexOf(m_mesh, v[1]), vertexOf(m_mesh, v[2])};
    }
    Box boxOf(std::size_t f) const
    {
        Box box;
        for (const Point3& p : triangle(f))
            box.include(p);
        return box;
    }
    bool isCut(std::size_t f) const
    {
        const Box box = boxOf(f);
        const Triangle own = triangle(f);
        bool found = false;
        forEachCell(box, [&](std::size_t slot) {
            if (found)
                return;
            for (const std::uint32_t other : m_lists.of(static_cast<Index>(slot))) {
                if (other == f || sharesVertex(f, other) || !box.meets(boxOf(other)))
                    continue;
                if (intersect(own, triangle(other))) {
                    found = true;
                    return;
                }
            }
        });
        return found;
    }

private:
    static constexpr std::size_t kSlots = std::size_t{1} << 20;

    const TriangleMesh& m_mesh;
    Box m_all;
    double m_cell = 1;
    RaggedLists m_lists; ///< faces of each slot

    std::int64_t cellOf(double x, double origin) const
    {
        return static_cast<std::int64_t>(std::floor((x - origin) / m_cell));
    }
    template <class Body>
    void forEachCell(const Box& box, const Body& body) const
    {
        const Point3& o = m_all.low;
        for (auto z = cellOf(box.low.z, o.z); z <= cellOf(box.high.z, o.z); ++z) {
            for (auto y = cellOf(box.low.y, o.y); y <= cellOf(box.high.y, o.y); ++y) {
                for (auto x = cellOf(box.low.x, o.x); x <= cellOf(box.high.x, o.x); ++x)
                    body(static_cast<std::size_t>(x * 73856093 ^ y * 19349663 ^ z * 83492791) %
                         kSlots);
            }
        }
    }
    bool sharesVertex(std::size_t f, std::size_t g) const
    {
        const std::uint32_t *a = &m_mesh.triangle[3 * f], *b = &m_mesh.triangle[3 * g];
        return std::any_of(a, a + 3,
                           [&](std::uint32_t v) { return std::find(b, b + 3, v) != b + 3; });
    }
};

/// `count` of 0 … total − 1 without repetition.
std::vector<std::uint32_t> drawn(Index total, Index count)
{
    std::vector<std::uint32_t> all(static_cast<std::size_t>(total));
    std::iota(all.begin(), all.end(), 0U);
    if (count >= total)
        return all;
    const Rng rng(1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        std::swap(all[i], all[i + rng.bits(i) % (all.size() - i)]);
    all.resize(static_cast<std::size_t>(count));
    return all;
}

} // namespace

SelfIntersections selfIntersections(const TriangleMesh& mesh, Index samples)
{
    expectSound(mesh);
    expects(samples >= 0, "selfIntersections: the number of samples must not be negative");
    SelfIntersections result;
    if (mesh.faces() == 0 || samples == 0)
        return result;
    const FaceGrid grid(mesh);
    for (const std::uint32_t f : drawn(mesh.faces(), samples)) {
        ++result.sampled;
        result.intersecting += grid.isCut(f);
    }
    return result;
}

} // namespace vergence::sugar
