#include "plugins/sugar/mesh/decimation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/base/error.h"
#include "plugins/sugar/mesh/collapse_queue.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/mesh/quadric.h"

namespace vergence::sugar {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr double kPointWeight = 1e-4; ///< keeps vertices of flat regions among their own
constexpr double kLeastAspect = 0.02; ///< thinner faces are not made out of better ones
constexpr std::uint32_t kStopInterval = 4096;

/// Where two vertices meet, and what that costs.
struct Meeting {
    Point3 place, colour;
    double cost;
};

/// A mesh whose edges collapse. Lengths are over the diagonal of the box.
class Collapser {
public:
    Collapser(const TriangleMesh& mesh, const DecimationSettings& settings)
        : m_settings(settings),
          m_leastCosine(std::cos(settings.largestTurn * std::numbers::pi / 180)),
          m_mesh(mesh),
          m_faces(mesh.faces()),
          m_isAlive(static_cast<std::size_t>(mesh.faces()), 1)
    {
        m_mesh.normal.clear();
        placeVertices();
        linkCorners();
        gatherQuadrics(edgesOf(m_mesh));
    }

    void run(const std::function<bool()>& stop);
    TriangleMesh result();

private:
    DecimationSettings m_settings;
    double m_leastCosine;
    TriangleMesh m_mesh;
    Index m_faces;
    std::vector<std::uint8_t> m_isAlive; ///< [F]
    Point3 m_middle;
    double m_size = 1;
    std::vector<Point3> m_place, m_colour;                ///< [V]; colours 0 to 1
    std::vector<Quadric> m_quadric;                       ///< [V]
    std::vector<std::uint32_t> m_first, m_last, m_follow; ///< corners of a vertex as a chain
    std::vector<std::uint32_t> m_stamp;                   ///< [V] changes so far
    std::vector<std::uint8_t> m_isBoundary, m_isLocked;   ///< [V]
    std::vector<std::uint32_t> m_mark;                    ///< [V] sets of neighbours, by token
    std::uint32_t m_token = 0;
    CollapseQueue m_queue;

    void placeVertices();
    void linkCorners();
    void gatherQuadrics(const MeshEdges& edges);
    bool drainQueue(const std::function<bool()>& stop);
    Meeting meetingOf(std::uint32_t a, std::uint32_t b) const;
    void enqueue(std::uint32_t a, std::uint32_t b);
    bool keepsManifold(std::uint32_t a, std::uint32_t b);
    bool keepsFaces(std::uint32_t moved, std::uint32_t other, const Point3& place) const;
    void collapse(std::uint32_t a, std::uint32_t b, const Meeting& meeting);

    template <class Body>
    void forEachFaceAt(std::uint32_t vertex, const Body& body) const
    {
        for (std::uint32_t corner = m_first[vertex]; corner != kNone; corner = m_follow[corner]) {
            if (m_isAlive[corner / 3] != 0)
                body(corner / 3);
        }
    }
    const std::uint32_t* verticesOf(std::uint32_t face) const
    {
        return &m_mesh.triangle[3 * static_cast<std::size_t>(face)];
    }
    bool uses(std::uint32_t face, std::uint32_t vertex) const
    {
        const std::uint32_t* v = verticesOf(face);
        return v[0] == vertex || v[1] == vertex || v[2] == vertex;
    }
};

void Collapser::placeVertices()
{
    Point3 low{1e300, 1e300, 1e300}, high{-1e300, -1e300, -1e300};
    const auto vertices = static_cast<std::uint32_t>(m_mesh.vertices());
    for (std::uint32_t v = 0; v < vertices; ++v) {
        const Point3 p = vertexOf(m_mesh, v);
        expects(std::isfinite(p.x + p.y + p.z), "decimated: a position is not finite");
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    }
    m_middle = 0.5 * (low + high);
    m_size = std::max(norm(high - low), 1e-30);
    m_place.resize(vertices);
    m_colour.resize(vertices);
    for (std::uint32_t v = 0; v < vertices; ++v) {
        m_place[v] = (1 / m_size) * (vertexOf(m_mesh, v) - m_middle);
        if (!m_mesh.colour.empty()) {
            const std::uint8_t* c = &m_mesh.colour[3 * static_cast<std::size_t>(v)];
            m_colour[v] = {c[0] / 255.0, c[1] / 255.0, c[2] / 255.0};
        }
    }
}

void Collapser::linkCorners()
{
    m_first.assign(m_place.size(), kNone);
    m_last.assign(m_place.size(), kNone);
    m_follow.assign(m_mesh.triangle.size(), kNone);
    m_stamp.assign(m_place.size(), 0);
    m_mark.assign(m_place.size(), 0);
    for (std::uint32_t corner = 0; corner < m_mesh.triangle.size(); ++corner) {
        const std::uint32_t v = m_mesh.triangle[corner];
        (m_first[v] == kNone ? m_first[v] : m_follow[m_last[v]]) = corner;
        m_last[v] = corner;
    }
}

void Collapser::gatherQuadrics(const MeshEdges& edges)
{
    m_quadric.resize(m_place.size());
    m_isBoundary.assign(m_place.size(), 0);
    m_isLocked.assign(m_place.size(), 0);
    const auto faces = static_cast<std::uint32_t>(m_isAlive.size());
    for (std::uint32_t face = 0; face < faces; ++face) {
        const std::uint32_t* v = verticesOf(face);
        const Point3 twice = cross(m_place[v[1]] - m_place[v[0]], m_place[v[2]] - m_place[v[0]]);
        const Point3 normal = unit(twice);
        const double area = 0.5 * norm(twice);
        for (int k = 0; k < 3; ++k) {
            Quadric& quadric = m_quadric[v[k]];
            quadric.addPlane(normal, -dot(normal, m_place[v[0]]), area);
            quadric.addPoint(m_place[v[k]], kPointWeight * area);
            quadric.area += area;
        }
    }
    for (Index e = 0; e < edges.count(); ++e) {
        const auto [a, b] = edges.vertices[static_cast<std::size_t>(e)];
        if (edges.facesAt(e) > 2)
            m_isLocked[a] = m_isLocked[b] = 1;
        if (edges.facesAt(e) != 1)
            continue;
        m_isBoundary[a] = m_isBoundary[b] = 1;
        const std::uint32_t* v = verticesOf(edges.corners.of(e)[0] / 3);
        const Point3 along = m_place[b] - m_place[a];
        const Point3 normal =
            unit(cross(along, cross(m_place[v[1]] - m_place[v[0]], m_place[v[2]] - m_place[v[0]])));
        const double weight = m_settings.boundaryWeight * dot(along, along);
        for (const std::uint32_t end : {a, b})
            m_quadric[end].addPlane(normal, -dot(normal, m_place[a]), weight);
    }
}

Meeting Collapser::meetingOf(std::uint32_t a, std::uint32_t b) const
{
    Quadric sum = m_quadric[a];
    sum.add(m_quadric[b]);
    const Point3 along = m_place[b] - m_place[a];
    const Point3 middle = 0.5 * (m_place[a] + m_place[b]);
    Meeting best{middle, {}, sum.at(middle)};
    for (const Point3& end : {m_place[a], m_place[b]}) {
        if (const double cost = sum.at(end); cost < best.cost)
            best = {end, {}, cost};
    }
    const auto least = sum.minimum();
    if (least && dot(*least - middle, *least - middle) < 4 * dot(along, along))
        best = {*least, {}, sum.at(*least)};
    const double length = dot(along, along);
    const double share =
        length > 0 ? std::clamp(dot(best.place - m_place[a], along) / length, 0.0, 1.0) : 0.5;
    const Point3 difference = m_colour[b] - m_colour[a];
    best.colour = m_colour[a] + share * difference;
    best.cost =
        std::max(best.cost, 0.0) +
        m_settings.colour * m_settings.colour * dot(difference, difference) *
            (m_quadric[a].area * share * share + m_quadric[b].area * (1 - share) * (1 - share));
    return best;
}

void Collapser::enqueue(std::uint32_t a, std::uint32_t b)
{
    if (a > b)
        std::swap(a, b);
    if (m_isLocked[a] == 0 && m_isLocked[b] == 0)
        m_queue.push({static_cast<float>(meetingOf(a, b).cost), a, b, m_stamp[a] + m_stamp[b]});
}

/// The link condition: vertices next to both ends are those of the faces at the edge, and there is
/// a surface left afterwards. Source: Topology preserving edge contraction (1999).
bool Collapser::keepsManifold(std::uint32_t a, std::uint32_t b)
{
    const std::uint32_t nextToA = ++m_token, nextToBoth = ++m_token;
    int both = 0, all = 0, shared = 0;
    forEachFaceAt(a, [&](std::uint32_t face) {
        shared += uses(face, b);
        for (int k = 0; k < 3; ++k) {
            const std::uint32_t v = verticesOf(face)[k];
            if (v != a && v != b && m_mark[v] != nextToA) {
                m_mark[v] = nextToA;
                ++all;
            }
        }
    });
    const std::uint32_t nextToB = ++m_token;
    forEachFaceAt(b, [&](std::uint32_t face) {
        for (int k = 0; k < 3; ++k) {
            const std::uint32_t v = verticesOf(face)[k];
            if (v == a || v == b || m_mark[v] == nextToBoth || m_mark[v] == nextToB)
                continue;
            const bool isShared = m_mark[v] == nextToA;
            both += isShared;
            all += !isShared;
            m_mark[v] = isShared ? nextToBoth : nextToB;
        }
    });
    const bool joinsBoundaries = shared == 2 && m_isBoundary[a] != 0 && m_isBoundary[b] != 0;
    return shared > 0 && shared <= 2 && both == shared && all > shared && !joinsBoundaries;
}

/// No face at `moved`, except those at `other` too, turns too far or becomes a sliver.
bool Collapser::keepsFaces(std::uint32_t moved, std::uint32_t other, const Point3& place) const
{
    bool isFine = true;
    forEachFaceAt(moved, [&](std::uint32_t face) {
        if (!isFine || uses(face, other))
            return;
        const std::uint32_t* v = verticesOf(face);
        std::array<Point3, 3> before, after;
        for (std::size_t k = 0; k < 3; ++k) {
            before[k] = m_place[v[k]];
            after[k] = v[k] == moved ? place : before[k];
        }
        const auto shape = [](const std::array<Point3, 3>& p, Point3& normal) {
            const Point3 ab = p[1] - p[0], bc = p[2] - p[1], ca = p[0] - p[2];
            normal = cross(ab, p[2] - p[0]);
            const double squares = dot(ab, ab) + dot(bc, bc) + dot(ca, ca);
            return squares > 0 ? 2 * std::numbers::sqrt3 * norm(normal) / squares : 0.0;
        };
        Point3 normalBefore, normalAfter;
        const double aspectBefore = shape(before, normalBefore);
        const double aspectAfter = shape(after, normalAfter);
        const double lengths = norm(normalBefore) * norm(normalAfter);
        isFine = (aspectBefore == 0 || dot(normalBefore, normalAfter) > m_leastCosine * lengths) &&
                 aspectAfter > std::min(kLeastAspect, 0.5 * aspectBefore);
    });
    return isFine;
}

void Collapser::collapse(std::uint32_t a, std::uint32_t b, const Meeting& meeting)
{
    m_place[a] = meeting.place;
    m_colour[a] = meeting.colour;
    m_quadric[a].add(m_quadric[b]);
    m_isBoundary[a] |= m_isBoundary[b];
    for (std::uint32_t corner = m_first[b]; corner != kNone; corner = m_follow[corner]) {
        const std::uint32_t face = corner / 3;
        if (m_isAlive[face] != 0 && uses(face, a)) {
            m_isAlive[face] = 0;
            --m_faces;
        }
        m_mesh.triangle[corner] = a;
    }
    m_follow[m_last[a]] = m_first[b];
    m_last[a] = m_last[b];
    m_first[b] = m_last[b] = kNone;
    // Dead corners leave the chain here, so that it does not grow with every collapse.
    std::uint32_t* link = &m_first[a];
    for (std::uint32_t corner = m_first[a]; corner != kNone; corner = m_follow[corner]) {
        if (m_isAlive[corner / 3] == 0)
            continue;
        *link = corner;
        link = &m_follow[corner];
        m_last[a] = corner;
    }
    *link = kNone;
    m_stamp[a] += m_stamp[b] + 1;
    const std::uint32_t seen = ++m_token;
    forEachFaceAt(a, [&](std::uint32_t face) {
        for (int k = 0; k < 3; ++k) {
            const std::uint32_t v = verticesOf(face)[k];
            if (v != a && m_mark[v] != seen) {
                m_mark[v] = seen;
                enqueue(a, v);
            }
        }
    });
}

/// Collapses what the queue offers; whether that was enough for another round to be worth while.
bool Collapser::drainQueue(const std::function<bool()>& stop)
{
    const Index before = m_faces;
    for (std::uint32_t turn = 0; !m_queue.isEmpty() && m_faces > m_settings.triangles; ++turn) {
        if (turn % kStopInterval == 0 && stop && stop())
            return false;
        const auto [cost, a, b, stamp] = m_queue.pop();
        if (m_first[a] == kNone || m_first[b] == kNone || m_stamp[a] + m_stamp[b] != stamp)
            continue;
        const Meeting meeting = meetingOf(a, b);
        if (!keepsManifold(a, b) || !keepsFaces(a, b, meeting.place) ||
            !keepsFaces(b, a, meeting.place))
            continue;
        collapse(a, b, meeting);
    }
    return before - m_faces > before / 1000;
}

void Collapser::run(const std::function<bool()>& stop)
{
    do { // what was refused once may be possible after its surroundings have changed
        m_queue.clear();
        for (std::uint32_t face = 0; face < m_isAlive.size(); ++face) {
            if (face % kStopInterval == 0 && stop && stop())
                return;
            const std::uint32_t* v = verticesOf(face);
            for (int k = 0; m_isAlive[face] != 0 && k < 3; ++k) {
                const std::uint32_t a = v[k], b = v[(k + 1) % 3];
                if (a < b || m_isBoundary[a] != 0)
                    enqueue(a, b);
            }
        }
    } while (m_faces > m_settings.triangles && drainQueue(stop));
}

TriangleMesh Collapser::result()
{
    for (std::size_t v = 0; v < m_place.size(); ++v) {
        const Point3 place = m_middle + m_size * m_place[v];
        for (std::size_t k = 0; k < 3; ++k) {
            m_mesh.position[3 * v + k] = static_cast<float>(place[k]);
            if (!m_mesh.colour.empty())
                m_mesh.colour[3 * v + k] =
                    static_cast<std::uint8_t>(std::lround(255 * m_colour[v][k]));
        }
    }
    return keptFaces(m_mesh, m_isAlive);
}

} // namespace

TriangleMesh decimated(const TriangleMesh& mesh, const DecimationSettings& settings,
                       const std::function<bool()>& stop)
{
    expectSound(mesh);
    expects(settings.triangles >= 0 && settings.boundaryWeight >= 0 && settings.colour >= 0 &&
                settings.largestTurn > 0 && settings.largestTurn <= 180,
            "decimated: settings are out of range");
    if (mesh.faces() <= settings.triangles)
        return mesh;
    Collapser collapser(mesh, settings);
    collapser.run(stop);
    return collapser.result();
}

} // namespace vergence::sugar
