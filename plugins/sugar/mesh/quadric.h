#pragma once

#include <optional>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "plugins/sugar/mesh/mesh_vector.h"

namespace vergence::sugar {

/// A quadratic function of position, xᵀ A x + 2 bᵀ x + c: weighted squared distances to planes and
/// points. Source: Surface simplification using quadric error metrics (1997), section 4.
struct Quadric {
    double xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0; ///< A
    Point3 b;
    double c = 0;
    double area = 0; ///< of the faces that went in

    /// Adds weight · (⟨n, x⟩ + d)².
    void addPlane(const Point3& n, double d, double weight)
    {
        xx += weight * n.x * n.x;
        xy += weight * n.x * n.y;
        xz += weight * n.x * n.z;
        yy += weight * n.y * n.y;
        yz += weight * n.y * n.z;
        zz += weight * n.z * n.z;
        b = b + (weight * d) * n;
        c += weight * d * d;
    }
    /// Adds weight · |x − p|².
    void addPoint(const Point3& p, double weight)
    {
        xx += weight;
        yy += weight;
        zz += weight;
        b = b - weight * p;
        c += weight * dot(p, p);
    }
    void add(const Quadric& other)
    {
        xx += other.xx;
        xy += other.xy;
        xz += other.xz;
        yy += other.yy;
        yz += other.yz;
        zz += other.zz;
        b = b + other.b;
        c += other.c;
        area += other.area;
    }
    double at(const Point3& x) const
    {
        return x.x * (xx * x.x + 2 * (xy * x.y + xz * x.z + b.x)) +
               x.y * (yy * x.y + 2 * (yz * x.z + b.y)) + x.z * (zz * x.z + 2 * b.z) + c;
    }
    /// Where it is least; none where that is not one place.
    std::optional<Point3> minimum() const
    {
        Eigen::Matrix3d a;
        a << xx, xy, xz, xy, yy, yz, xz, yz, zz;
        const Eigen::LLT<Eigen::Matrix3d> factors(a);
        if (factors.info() != Eigen::Success)
            return std::nullopt;
        const Eigen::Vector3d x = factors.solve(Eigen::Vector3d(-b.x, -b.y, -b.z));
        return x.allFinite() ? std::optional(Point3{x[0], x[1], x[2]}) : std::nullopt;
    }
};

} // namespace vergence::sugar
