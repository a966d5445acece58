// The largest plane of a mesh.

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/refine/post_process.h"

namespace vergence::sugar {

namespace {

using Eigen::Vector3d;

constexpr std::uint64_t kStream = 0x5347'0021; ///< of the random numbers
constexpr double kLeastCosine = 0.9;           ///< between a triangle's normal and the plane's
constexpr int kRefinements = 5;

/// A triangle as the plane sees it.
struct Facet {
    Vector3d centre, normal;
    double area;
};

std::vector<Facet> facetsOf(const TriangleMesh& mesh)
{
    std::vector<Facet> facets;
    for (std::size_t f = 0; f < mesh.triangle.size(); f += 3) {
        Vector3d corner[3];
        for (std::size_t k = 0; k < 3; ++k) {
            const float* p = mesh.position.data() + 3 * std::size_t{mesh.triangle[f + k]};
            corner[k] = Eigen::Vector3f(p[0], p[1], p[2]).cast<double>();
        }
        const Vector3d m = (corner[1] - corner[0]).cross(corner[2] - corner[0]);
        if (m.norm() > 0)
            facets.push_back(
                {(corner[0] + corner[1] + corner[2]) / 3, m.normalized(), m.norm() / 2});
    }
    return facets;
}

struct Plane {
    Vector3d point, normal;

    bool has(const Facet& facet, double tolerance) const
    {
        return std::abs((facet.centre - point).dot(normal)) <= tolerance &&
               std::abs(facet.normal.dot(normal)) >= kLeastCosine;
    }
};

double areaOf(const Plane& plane, const std::vector<Facet>& facets, double tolerance)
{
    double area = 0;
    for (const Facet& facet : facets)
        area += plane.has(facet, tolerance) ? facet.area : 0;
    return area;
}

/// Facets drawn with a probability that is proportional to their area.
class FacetDraw {
public:
    FacetDraw(const std::vector<Facet>& facets, std::uint64_t seed) : m_rng(seed, kStream)
    {
        double sum = 0;
        for (const Facet& facet : facets)
            m_upTo.push_back(sum += facet.area);
    }
    std::size_t at(std::uint64_t index) const
    {
        const double wanted = static_cast<double>(m_rng.uniform(index)) * m_upTo.back();
        const auto found = std::upper_bound(m_upTo.begin(), m_upTo.end(), wanted);
        return static_cast<std::size_t>(std::min<std::ptrdiff_t>(
            found - m_upTo.begin(), static_cast<std::ptrdiff_t>(m_upTo.size()) - 1));
    }

private:
    Rng m_rng;
    std::vector<double> m_upTo;
};

/// The plane of least squares through the facets of a plane.
Plane refinedPlane(const Plane& plane, const std::vector<Facet>& facets, double tolerance)
{
    double area = 0;
    Vector3d mean = Vector3d::Zero();
    for (const Facet& facet : facets) {
        if (plane.has(facet, tolerance)) {
            area += facet.area;
            mean += facet.area * facet.centre;
        }
    }
    if (!(area > 0))
        return plane;
    mean /= area;
    Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
    for (const Facet& facet : facets) {
        const Vector3d d = facet.centre - mean;
        if (plane.has(facet, tolerance))
            spread += facet.area * d * d.transpose();
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(spread);
    const Vector3d normal = solver.eigenvectors().col(0);
    // Few facets spread along a line or not at all: their normals say more.
    if (solver.eigenvalues()[1] < 1e-9 * solver.eigenvalues()[2] || solver.eigenvalues()[2] <= 0)
        return {mean, plane.normal};
    return {mean, normal.dot(plane.normal) < 0 ? Vector3d(-normal) : normal};
}

} // namespace

Similarity groundAlignment(const TriangleMesh& mesh, double tolerance, int tries,
                           std::uint64_t seed)
{
    expects(tolerance > 0 && tries > 0, "groundAlignment: tolerance and tries must be positive");
    const std::vector<Facet> facets = facetsOf(mesh);
    if (facets.empty())
        throw InputError("A mesh without area has no ground; reconstruct it again.");
    const FacetDraw draw(facets, seed);
    Plane best{facets.front().centre, facets.front().normal};
    double most = -1;
    for (int i = 0; i < tries; ++i) {
        const Facet& facet = facets[draw.at(static_cast<std::uint64_t>(i))];
        const Plane plane{facet.centre, facet.normal};
        const double area = areaOf(plane, facets, tolerance);
        if (area > most) {
            most = area;
            best = plane;
        }
    }
    for (int i = 0; i < kRefinements; ++i)
        best = refinedPlane(best, facets, tolerance);
    double above = 0;
    for (const Facet& facet : facets)
        above += facet.area * (facet.centre - best.point).dot(best.normal);
    const Vector3d up = above < 0 ? Vector3d(-best.normal) : best.normal;
    const Eigen::Matrix3d rotation =
        Eigen::Quaterniond::FromTwoVectors(up, Vector3d::UnitZ()).toRotationMatrix();
    Similarity similarity;
    for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column)
            similarity.rotation[static_cast<std::size_t>(3 * row + column)] = rotation(row, column);
    }
    similarity.translation[2] = -up.dot(best.point);
    return similarity;
}

} // namespace vergence::sugar
