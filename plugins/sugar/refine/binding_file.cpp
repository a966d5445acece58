#include "plugins/sugar/refine/binding_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "plugins/sugar/refine/binding.h"
#include "plugins/sugar/refine/binding_math.h"

namespace vergence::sugar {

namespace {

using Vector = Vec3<double>;
constexpr const char* kFormat = "vergence-bound-gaussians-1";

struct Corners {
    Vector v[3];

    TriangleFrame<double> frame() const { return {v[0], v[1], v[2]}; }
    Vector at(const float* barycentric) const
    {
        Vector p;
        for (int k = 0; k < 3; ++k)
            p = p + static_cast<double>(barycentric[k]) * v[k];
        return p;
    }
};

Corners cornersAt(const TriangleMesh& mesh, std::int32_t triangle)
{
    Corners corners;
    for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t v = mesh.triangle[3 * static_cast<std::size_t>(triangle) + k];
        const float* p = mesh.position.data() + 3 * v;
        corners.v[k] = {static_cast<double>(p[0]), static_cast<double>(p[1]),
                        static_cast<double>(p[2])};
    }
    return corners;
}

/// Two columns in the plane of a triangle, in the axes (b1, b2) of its frame.
struct Plane2 {
    double a[2][2]; ///< a[column][row]
};

/// The sides v1 − v0 and v2 − v0 of a triangle.
Plane2 sidesOf(const TriangleFrame<double>& frame)
{
    return {{{inner(frame.side1, frame.along), inner(frame.side1, frame.across)},
             {inner(frame.side2, frame.along), inner(frame.side2, frame.across)}}};
}

/// The map that takes the sides of one triangle to those of another one.
Plane2 mapBetween(const TriangleFrame<double>& rest, const TriangleFrame<double>& deformed)
{
    const Plane2 from = sidesOf(rest), to = sidesOf(deformed);
    const double determinant = from.a[0][0] * from.a[1][1] - from.a[1][0] * from.a[0][1];
    const double inverse = determinant != 0 ? 1 / determinant : 0;
    Plane2 map{};
    for (int row = 0; row < 2; ++row) {
        map.a[0][row] = inverse * (to.a[0][row] * from.a[1][1] - to.a[1][row] * from.a[0][1]);
        map.a[1][row] = inverse * (to.a[1][row] * from.a[0][0] - to.a[0][row] * from.a[1][0]);
    }
    return map;
}

/// Standard deviations and angle of a Gaussian in the plane.
struct Ellipse {
    double scale[2], angle;
};

/// The ellipse that a linear map makes of another one: the columns of (map · axes · scales) are
/// turned into each other by the least angle that makes them orthogonal (one-sided Jacobi), which
/// leaves scales and angle where they are for a similarity.
Ellipse mapped(const Plane2& map, const Ellipse& e)
{
    const double c = std::cos(e.angle), s = std::sin(e.angle);
    const double axes[2][2] = {{c, s}, {-s, c}};
    double column[2][2];
    for (int k = 0; k < 2; ++k) {
        for (int row = 0; row < 2; ++row)
            column[k][row] = e.scale[k] * (map.a[0][row] * axes[k][0] + map.a[1][row] * axes[k][1]);
    }
    const double p = column[0][0] * column[0][0] + column[0][1] * column[0][1];
    const double q = column[1][0] * column[1][0] + column[1][1] * column[1][1];
    const double r = column[0][0] * column[1][0] + column[0][1] * column[1][1];
    if (std::abs(r) > 1e-15 * std::sqrt(p * q)) {
        const double zeta = (q - p) / (2 * r);
        const double t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double cosine = 1 / std::sqrt(1 + t * t), sine = t * cosine;
        for (int row = 0; row < 2; ++row) {
            const double first = column[0][row], second = column[1][row];
            column[0][row] = cosine * first - sine * second;
            column[1][row] = sine * first + cosine * second;
        }
    }
    Ellipse result{};
    for (int k = 0; k < 2; ++k)
        result.scale[k] = std::hypot(column[k][0], column[k][1]);
    // The longer axis says the angle: the other may have no length.
    result.angle = result.scale[0] >= result.scale[1] ? std::atan2(column[0][1], column[0][0])
                                                      : std::atan2(-column[1][0], column[1][1]);
    return result;
}

const HostTensor& required(const SafetensorsFile& file, const std::string& name,
                           std::vector<Index> shape, const std::filesystem::path& path)
{
    const HostTensor* tensor = file.find(name);
    if (!tensor || tensor->shape != shape)
        throw InputError(fmt::format("{}: \"{}\" is missing or has another shape than the other "
                                     "tensors ask for. Refine the mesh again.",
                                     path.string(), name));
    return *tensor;
}

template <class Number>
Number metadata(const SafetensorsFile& file, const std::string& name,
                const std::filesystem::path& path)
{
    const auto found = file.metadata.find(name);
    Number value{};
    if (found != file.metadata.end()) {
        const char* end = found->second.data() + found->second.size();
        const auto [rest, error] = std::from_chars(found->second.data(), end, value);
        if (error == std::errc{} && rest == end)
            return value;
    }
    throw InputError(
        fmt::format("{}: this is no file of bound Gaussians (\"{}\" is missing or no number).",
                    path.string(), name));
}

template <class T>
std::vector<T> valuesOf(const HostTensor& tensor)
{
    const auto values = tensor.as<T>();
    return {values.begin(), values.end()};
}

} // namespace

BindingRecord bindingRecord(Stream& stream, const Binding& binding, const BoundArrays& parameters)
{
    BindingRecord record;
    record.thickness = binding.thickness;
    record.triangles = binding.triangles();
    record.vertices = binding.vertices();
    for (Index f = 0; f < binding.triangles(); ++f) {
        for (int k = 0; k < binding.pattern.count; ++k) {
            record.triangle.push_back(static_cast<std::int32_t>(f));
            for (const double b : binding.pattern.barycentric[static_cast<std::size_t>(k)])
                record.barycentric.push_back(static_cast<float>(b));
        }
    }
    record.scale = parameters.logScale.toHost<float>(stream);
    for (float& scale : record.scale)
        scale = std::exp(scale);
    const std::vector<float> turn = parameters.turn.toHost<float>(stream);
    for (std::size_t i = 0; i < turn.size(); i += 2)
        record.angle.push_back(std::atan2(turn[i + 1], turn[i]));
    return record;
}

void writeBinding(const std::filesystem::path& path, const BindingRecord& record)
{
    const Index n = record.count();
    writeSafetensors(path,
                     {HostTensor::from<std::int32_t>("triangle", {n}, record.triangle),
                      HostTensor::from<float>("barycentric", {n, 3}, record.barycentric),
                      HostTensor::from<float>("scale", {n, 2}, record.scale),
                      HostTensor::from<float>("angle", {n}, record.angle)},
                     {{"format", kFormat},
                      {"thickness", fmt::format("{:.9g}", record.thickness)},
                      {"triangles", std::to_string(record.triangles)},
                      {"vertices", std::to_string(record.vertices)}});
}

BindingRecord readBinding(const std::filesystem::path& path)
{
    const SafetensorsFile file = readSafetensors(path);
    const HostTensor* triangle = file.find("triangle");
    const Index n = triangle && triangle->shape.size() == 1 ? triangle->shape[0] : -1;
    BindingRecord record;
    record.triangle = valuesOf<std::int32_t>(required(file, "triangle", {n}, path));
    record.barycentric = valuesOf<float>(required(file, "barycentric", {n, 3}, path));
    record.scale = valuesOf<float>(required(file, "scale", {n, 2}, path));
    record.angle = valuesOf<float>(required(file, "angle", {n}, path));
    record.thickness = metadata<float>(file, "thickness", path);
    record.triangles = metadata<Index>(file, "triangles", path);
    record.vertices = metadata<Index>(file, "vertices", path);
    const auto isThere = [&](std::int32_t f) { return f >= 0 && f < record.triangles; };
    if (!std::all_of(record.triangle.begin(), record.triangle.end(), isThere))
        throw InputError(fmt::format("{}: a Gaussian lies on a triangle that is not there. Refine "
                                     "the mesh again.",
                                     path.string()));
    return record;
}

GaussianCloud redriven(const GaussianCloud& cloud, const BindingRecord& record,
                       const TriangleMesh& rest, const TriangleMesh& deformed)
{
    expects(cloud.count() == record.count(), "redriven: the record belongs to another cloud");
    if (rest.faces() != record.triangles || rest.vertices() != record.vertices ||
        deformed.triangle != rest.triangle || deformed.vertices() != rest.vertices())
        throw InputError(fmt::format(
            "The deformed mesh has other triangles than the one that Gaussians are bound to ({} "
            "triangles, {} vertices); deform a copy of the refined mesh without changing its "
            "triangles.",
            record.triangles, record.vertices));
    GaussianCloud result = cloud;
    for (Index i = 0; i < record.count(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const Corners from = cornersAt(rest, record.triangle[at]),
                      to = cornersAt(deformed, record.triangle[at]);
        const TriangleFrame<double> frame = to.frame();
        const Ellipse before{{static_cast<double>(record.scale[2 * at]),
                              static_cast<double>(record.scale[2 * at + 1])},
                             static_cast<double>(record.angle[at])};
        const Ellipse after = mapped(mapBetween(from.frame(), frame), before);
        const Vector p = to.at(record.barycentric.data() + 3 * at);
        const BoundAxes<double> axes(frame, std::cos(after.angle), std::sin(after.angle));
        double q[4];
        quaternionOf(axes.axis, q);
        const double position[3] = {p.x, p.y, p.z};
        const double least = static_cast<double>(record.thickness) * 1e-3;
        const double scales[3] = {static_cast<double>(record.thickness),
                                  std::max(after.scale[0], least), std::max(after.scale[1], least)};
        for (std::size_t k = 0; k < 3; ++k) {
            result.position[3 * at + k] = static_cast<float>(position[k]);
            result.logScale[3 * at + k] = static_cast<float>(std::log(scales[k]));
        }
        for (std::size_t k = 0; k < 4; ++k)
            result.rotation[4 * at + k] = static_cast<float>(q[k]);
    }
    return result;
}

} // namespace vergence::sugar
