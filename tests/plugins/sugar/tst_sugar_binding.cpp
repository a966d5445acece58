#include <QTest>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/compute/device.h"
#include "core/compute/rng.h"
#include "plugins/sugar/compute/projection_math.h"
#include "plugins/sugar/refine/binding.h"
#include "plugins/sugar/refine/binding_math.h"
#include "tests/plugins/sugar/learning_support.h"
#include "tests/plugins/sugar/refine_support.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

using Numbers = std::vector<double>;
using Vector = Vec3<double>;

double uniform(std::uint64_t index, double low, double high)
{
    return low + (high - low) * static_cast<double>(Rng(23).uniform(index));
}

/// n numbers in [low, high).
Numbers someNumbers(std::size_t n, double low, double high, std::uint64_t seed)
{
    Numbers values(n);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = uniform(1000 * seed + i, low, high);
    return values;
}

/// A mesh in double: any precision of the formulas can be asked of it.
struct DoubleMesh {
    std::vector<std::uint32_t> triangle;
    Numbers vertex;

    Vector at(std::size_t corner) const { return Vector::at(vertex.data() + 3 * triangle[corner]); }
    TriangleFrame<double> frame(std::size_t f) const
    {
        return {at(3 * f), at(3 * f + 1), at(3 * f + 2)};
    }
    std::size_t faces() const { return triangle.size() / 3; }
};

/// A tetrahedron with a flap: edges of one and two faces, vertices of one to four.
DoubleMesh smallShape()
{
    return {{0, 1, 2, 0, 2, 3, 0, 3, 1, 1, 3, 2, 1, 4, 2},
            {0.1, 0.0, 1.0, 0.9, 0.1, -0.3, -0.5, 0.8, -0.2, -0.4, -0.9, -0.3, 1.1, 1.2, 0.4}};
}

TriangleMesh meshOf(const DoubleMesh& shape)
{
    TriangleMesh mesh;
    mesh.triangle = shape.triangle;
    mesh.position.assign(shape.vertex.begin(), shape.vertex.end());
    return mesh;
}

/// What is learnt of n Gaussians a face, in double.
struct Bound {
    DoubleMesh shape = smallShape();
    BindingPattern pattern;
    Numbers turn, logScale;

    explicit Bound(int perTriangle) : pattern(bindingPattern(perTriangle))
    {
        turn = someNumbers(2 * count(), 0.4, 1.4, 1);
        logScale = someNumbers(2 * count(), -3, -1, 2);
        for (std::size_t i = 0; i < turn.size(); i += 3)
            turn[i] = -turn[i];
    }
    std::size_t count() const { return shape.faces() * static_cast<std::size_t>(pattern.count); }
    std::size_t faceOf(std::size_t i) const { return i / static_cast<std::size_t>(pattern.count); }
    const std::array<double, 3>& row(std::size_t i) const
    {
        return pattern.barycentric[i % static_cast<std::size_t>(pattern.count)];
    }
    Vector position(std::size_t i) const
    {
        Vector p;
        for (std::size_t k = 0; k < 3; ++k)
            p = p + row(i)[k] * shape.at(3 * faceOf(i) + k);
        return p;
    }
    BoundAxes<double> axes(std::size_t i) const
    {
        return {shape.frame(faceOf(i)), turn[2 * i], turn[2 * i + 1]};
    }
    void quaternion(std::size_t i, double* q) const { quaternionOf(axes(i).axis, q); }
};

/// A function of positions and rotations, whose derivative is known: ⟨a, p⟩ + ⟨W, R(q)⟩ + ½ ⟨B,
/// R(q)⟩², which depends on q only through the rotation, as a picture does.
struct Probe {
    Numbers a, w, b;

    explicit Probe(std::size_t count)
        : a(someNumbers(3 * count, -1, 1, 3)),
          w(someNumbers(9 * count, -1, 1, 4)),
          b(someNumbers(9 * count, -1, 1, 5))
    {
    }
    double value(const Bound& bound) const
    {
        double sum = 0;
        for (std::size_t i = 0; i < bound.count(); ++i) {
            double q[4], r[9];
            bound.quaternion(i, q);
            rotationOf(q, r);
            sum += inner(Vector::at(a.data() + 3 * i), bound.position(i));
            const double turned = std::inner_product(r, r + 9, b.data() + 9 * i, 0.0);
            sum += std::inner_product(r, r + 9, w.data() + 9 * i, 0.0) + turned * turned / 2;
        }
        return sum;
    }
    /// As a rasteriser gives it: of the unit quaternion, tangent to its sphere.
    void gradQuaternion(const double* q, std::size_t i, double* grad) const
    {
        double r[9], gradR[9];
        rotationOf(q, r);
        const double turned = std::inner_product(r, r + 9, b.data() + 9 * i, 0.0);
        for (std::size_t k = 0; k < 9; ++k)
            gradR[k] = w[9 * i + k] + turned * b[9 * i + k];
        rotationBackward(q, 1.0, gradR, grad);
    }
};

struct Gradient {
    Numbers vertex, turn;
};

/// The chain of the formulas, in double.
Gradient gradientOf(const Bound& bound, const Probe& probe)
{
    Gradient result{Numbers(bound.shape.vertex.size(), 0.0), Numbers(bound.turn.size(), 0.0)};
    std::vector<FrameGradient<double>> frames(bound.shape.faces());
    const auto add = [&](std::size_t corner, const Vector& g) {
        double* at = result.vertex.data() + 3 * bound.shape.triangle[corner];
        (Vector::at(at) + g).store(at);
    };
    for (std::size_t i = 0; i < bound.count(); ++i) {
        const std::size_t f = bound.faceOf(i);
        const auto axes = bound.axes(i);
        double q[4], gradQ[4];
        bound.quaternion(i, q);
        probe.gradQuaternion(q, i, gradQ);
        Vector gradAxis[3];
        rotationGradient(axes.axis, q, gradQ, gradAxis);
        axes.backward(bound.shape.frame(f), gradAxis, frames[f], result.turn.data() + 2 * i);
        for (std::size_t k = 0; k < 3; ++k)
            add(3 * f + k, bound.row(i)[k] * Vector::at(probe.a.data() + 3 * i));
    }
    for (std::size_t f = 0; f < frames.size(); ++f) {
        CornerGradient<double> corners;
        frameBackward(bound.shape.frame(f), frames[f], corners);
        for (std::size_t k = 0; k < 3; ++k)
            add(3 * f + k, corners.corner[k]);
    }
    return result;
}

/// Mean of 1 − ⟨n, n'⟩ of smallShape(): pairs across its edges.
struct Pairs {
    std::vector<std::array<std::size_t, 2>> pair{{0, 1}, {0, 2}, {0, 3}, {1, 2},
                                                 {1, 3}, {2, 3}, {0, 4}, {3, 4}};

    double mean(const DoubleMesh& shape) const
    {
        double sum = 0;
        for (const auto& [f, g] : pair)
            sum += 1 - inner(shape.frame(f).normal, shape.frame(g).normal);
        return sum / static_cast<double>(pair.size());
    }
    Numbers gradient(const DoubleMesh& shape) const
    {
        Numbers result(shape.vertex.size(), 0.0);
        std::vector<Vector> gradNormal(shape.faces());
        const double factor = -1 / static_cast<double>(pair.size());
        for (const auto& [f, g] : pair) {
            gradNormal[f] = gradNormal[f] + factor * shape.frame(g).normal;
            gradNormal[g] = gradNormal[g] + factor * shape.frame(f).normal;
        }
        for (std::size_t f = 0; f < shape.faces(); ++f) {
            CornerGradient<double> corners;
            normalBackward(shape.frame(f), gradNormal[f], corners);
            for (std::size_t k = 0; k < 3; ++k) {
                double* at = result.data() + 3 * shape.triangle[3 * f + k];
                (Vector::at(at) + corners.corner[k]).store(at);
            }
        }
        return result;
    }
};

/// Central differences of `value` in each of `numbers`.
template <class Value>
Numbers differences(Numbers& numbers, const Value& value)
{
    Numbers result;
    for (double& x : numbers) {
        const double kept = x, h = 6e-6 * std::max(1.0, std::abs(x));
        x = kept + h;
        const double above = value();
        x = kept - h;
        const double below = value();
        x = kept;
        result.push_back((above - below) / (2 * h));
    }
    return result;
}

/// Empty where both agree to 1e-6 of the largest entry.
std::string gradientFault(const Numbers& got, const Numbers& want)
{
    double largest = 0;
    for (const double value : want)
        largest = std::max(largest, std::abs(value));
    return difference(got, want, 1e-6 * largest, 0);
}

std::vector<float> asFloats(const Numbers& values)
{
    return {values.begin(), values.end()};
}

/// The same on a device.
struct OnDevice {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    Binding binding;
    BoundArrays value, gradient;
    Gaussians gaussians;
    GaussianArrays given;
    Tensor scratch;

    OnDevice(const std::shared_ptr<Device>& on, const TriangleMesh& mesh, int perTriangle,
             int degree = 0)
        : device(on)
    {
        binding = bindToMesh(*stream, device, mesh, perTriangle, 1e-6);
        value = initialParameters(*stream, binding, mesh, degree);
        gradient =
            BoundArrays::zeros(*stream, device, binding.vertices(), binding.gaussians(), degree);
        gaussians = boundGaussians(*stream, binding, value);
        given = GaussianArrays::zeros(*stream, device, binding.gaussians(), degree);
    }
    void set(const Tensor& tensor, const std::vector<float>& values)
    {
        stream->copy(tensor.data(), values.data(), values.size() * sizeof(float));
    }
    std::vector<float> of(const Tensor& tensor) { return tensor.toHost<float>(*stream); }
};

} // namespace

class TestSugarBinding : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void patternsAreThoseOfTheSource_data()
    {
        QTest::addColumn<int>("perTriangle");
        QTest::addColumn<double>("scale");
        QTest::newRow("1") << 1 << .2886751;
        QTest::newRow("3") << 3 << .1830127;
        QTest::newRow("4") << 4 << .1443376;
        QTest::newRow("6") << 6 << .1339746;
    }
    void patternsAreThoseOfTheSource()
    {
        QFETCH(int, perTriangle);
        QFETCH(double, scale);
        const BindingPattern pattern = bindingPattern(perTriangle);
        QCOMPARE(pattern.count, perTriangle);
        QVERIFY(std::abs(pattern.scale - scale) < 1e-7);
        std::set<std::array<double, 3>> different;
        std::array<double, 3> mean{};
        for (std::size_t k = 0; k < static_cast<std::size_t>(perTriangle); ++k) {
            const auto& row = pattern.barycentric[k];
            QVERIFY(std::abs(row[0] + row[1] + row[2] - 1) < 1e-12);
            different.insert(row);
            for (std::size_t corner = 0; corner < 3; ++corner)
                mean[corner] += row[corner] / perTriangle;
        }
        QCOMPARE(different.size(), static_cast<std::size_t>(perTriangle));
        for (const double part : mean) // no corner is preferred
            QVERIFY(std::abs(part - 1.0 / 3) < 1e-12);
    }

    void otherCountsAreRefused()
    {
        VERGENCE_THROWS(ContractError, "1, 3, 4 or 6", bindingPattern(2));
    }

    void equilateralTriangleIsThatOfTheSpecification_data() { addDeviceRows(); }
    void equilateralTriangleIsThatOfTheSpecification()
    {
        VERGENCE_ROW_DEVICE(device);
        TriangleMesh mesh;
        mesh.position = {0, 0, 0, 1, 0, 0, 0.5F, std::sqrt(3.0F) / 2, 0};
        mesh.triangle = {0, 1, 2};
        mesh.colour = {255, 0, 0, 0, 255, 0, 0, 0, 0};
        OnDevice one(device, mesh, 1);
        const GaussianCloud cloud = download(*one.stream, one.gaussians);
        VERGENCE_AGREES(
            difference(cloud.position, std::vector{0.5F, std::sqrt(3.0F) / 6, 0.0F}, 1e-6, 0));
        for (const std::size_t axis : {1U, 2U})
            QVERIFY(std::abs(std::exp(cloud.logScale[axis]) - .288675F) < 1e-6F);
        QVERIFY(std::abs(cloud.logScale[0] - std::log(1e-6F)) < 1e-5F);
        QVERIFY(std::abs(cloud.opacity[0] - std::log(0.1F / 0.9F)) < 1e-6F);
        // A third of each corner's colour.
        const float third = static_cast<float>((1.0 / 3 - 0.5) / 0.28209479177387814);
        const float none = static_cast<float>(-0.5 / 0.28209479177387814);
        VERGENCE_AGREES(difference(cloud.shDc, std::vector{third, third, none}, 1e-6, 0));
        // Axes: the normal z, then from corner 1 to corner 0.
        double q[4], r[9];
        std::copy_n(cloud.rotation.begin(), 4, q);
        rotationOf(q, r);
        VERGENCE_AGREES(
            difference(Numbers(r, r + 9), Numbers{0, -1, 0, 0, 0, -1, 1, 0, 0}, 1e-6, 0));
    }

    void rotatedVerticesRotateTheAxes()
    {
        const Bound bound(6);
        const double q[4] = {0.3, -0.7, 0.5, 0.4}; // of norm 0.995, made one below
        double unit[4], turn[9];
        const double norm = std::sqrt(std::inner_product(q, q + 4, q, 0.0));
        std::transform(q, q + 4, unit, [&](double part) { return part / norm; });
        rotationOf(unit, turn);
        const auto turned = [&](const Vector& v) {
            return Vector{turn[0] * v.x + turn[1] * v.y + turn[2] * v.z,
                          turn[3] * v.x + turn[4] * v.y + turn[5] * v.z,
                          turn[6] * v.x + turn[7] * v.y + turn[8] * v.z};
        };
        Bound other = bound;
        for (std::size_t v = 0; v < other.shape.vertex.size(); v += 3)
            turned(Vector::at(bound.shape.vertex.data() + v)).store(other.shape.vertex.data() + v);
        for (std::size_t i = 0; i < bound.count(); ++i) {
            const auto before = bound.axes(i), after = other.axes(i);
            for (int k = 0; k < 3; ++k)
                QVERIFY(length(turned(before.axis[k]) - after.axis[k]) < 1e-12);
        }
    }

    void quaternionsGiveBackTheirRotation()
    {
        std::array<int, 4> largest{}; // each of the four ways is taken
        for (std::uint64_t i = 0; i < 200; ++i) {
            double q[4], r[9], back[4], again[9], norm = 0;
            for (std::uint64_t k = 0; k < 4; ++k) {
                q[k] = uniform(9000 + 4 * i + k, -1, 1);
                norm += q[k] * q[k];
            }
            for (double& part : q)
                part /= std::sqrt(norm);
            rotationOf(q, r);
            const Vector columns[3] = {{r[0], r[3], r[6]}, {r[1], r[4], r[7]}, {r[2], r[5], r[8]}};
            quaternionOf(columns, back);
            rotationOf(back, again);
            VERGENCE_AGREES(difference(Numbers(again, again + 9), Numbers(r, r + 9), 1e-14, 0));
            const auto at = std::max_element(
                q, q + 4, [](double a, double b) { return std::abs(a) < std::abs(b); });
            ++largest[static_cast<std::size_t>(at - q)];
        }
        for (const int count : largest)
            QVERIFY(count > 10);
    }

    void derivativeOfTheWholeMapIsExact_data()
    {
        QTest::addColumn<int>("perTriangle");
        for (const int n : {1, 3, 4, 6})
            QTest::addRow("%d", n) << n;
    }
    void derivativeOfTheWholeMapIsExact()
    {
        QFETCH(int, perTriangle);
        Bound bound(perTriangle);
        const Probe probe(bound.count());
        const Gradient gradient = gradientOf(bound, probe);
        const auto value = [&] { return probe.value(bound); };
        VERGENCE_AGREES(gradientFault(gradient.vertex, differences(bound.shape.vertex, value)));
        VERGENCE_AGREES(gradientFault(gradient.turn, differences(bound.turn, value)));
    }

    void kernelsFollowTheFormulas_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("perTriangle");
        forEachDevice([](const std::string& name, int device) {
            for (const int n : {1, 3, 4, 6})
                QTest::addRow("%s, %d", name.c_str(), n) << device << n;
        });
    }
    void kernelsFollowTheFormulas()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, perTriangle);
        const Bound bound(perTriangle);
        const Probe probe(bound.count());
        OnDevice own(device, meshOf(bound.shape), perTriangle);
        own.set(own.value.turn, asFloats(bound.turn));
        own.set(own.value.logScale, asFloats(bound.logScale));
        placeGaussians(*own.stream, own.binding, own.value, own.gaussians);
        Numbers rotation, gradRotation;
        for (std::size_t i = 0; i < bound.count(); ++i) {
            double q[4], gradQ[4];
            bound.quaternion(i, q);
            probe.gradQuaternion(q, i, gradQ);
            rotation.insert(rotation.end(), q, q + 4);
            gradRotation.insert(gradRotation.end(), gradQ, gradQ + 4);
        }
        VERGENCE_AGREES(difference(own.of(own.gaussians.value.rotation), rotation, 2e-6, 0));
        own.set(own.given.position, asFloats(probe.a));
        own.set(own.given.rotation, asFloats(gradRotation));
        const Numbers gradScales = someNumbers(3 * bound.count(), -1, 1, 6);
        own.set(own.given.logScale, asFloats(gradScales));
        placeGaussiansBackward(*own.stream, own.binding, own.value, own.gaussians, own.given,
                               own.gradient, own.scratch);
        const Gradient want = gradientOf(bound, probe);
        VERGENCE_AGREES(difference(own.of(own.gradient.vertex), want.vertex, 2e-4, 1e-4));
        VERGENCE_AGREES(difference(own.of(own.gradient.turn), want.turn, 2e-5, 1e-4));
        const std::vector<float> scales = own.of(own.gradient.logScale);
        for (std::size_t i = 0; i < scales.size(); ++i)
            QCOMPARE(scales[i], static_cast<float>(gradScales[i / 2 * 3 + 1 + i % 2]));
    }

    void normalTermHasTheDerivativeOfItsValue()
    {
        DoubleMesh shape = smallShape();
        const Pairs pairs;
        const Numbers gradient = pairs.gradient(shape);
        const auto value = [&] { return pairs.mean(shape); };
        VERGENCE_AGREES(gradientFault(gradient, differences(shape.vertex, value)));
    }

    void normalTermFollowsTheFormulas_data() { addDeviceRows(); }
    void normalTermFollowsTheFormulas()
    {
        VERGENCE_ROW_DEVICE(device);
        const DoubleMesh shape = smallShape();
        const Pairs pairs;
        OnDevice own(device, meshOf(shape), 1);
        QCOMPARE(own.binding.pairs(), static_cast<Index>(pairs.pair.size()));
        NormalConsistency consistency;
        own.set(own.gradient.vertex, std::vector<float>(15, 2.0F)); // is added to
        const double mean = consistency.addGradient(*own.stream, own.binding, own.value.vertex, 0.7,
                                                    own.gradient.vertex);
        QVERIFY(std::abs(mean - pairs.mean(shape)) < 1e-6);
        Numbers want = pairs.gradient(shape);
        for (double& value : want)
            value = 2 + 0.7 * value;
        VERGENCE_AGREES(difference(own.of(own.gradient.vertex), want, 1e-6, 0));
    }

    void foldsCountByTheirAngle()
    {
        // Two triangles at a right angle.
        TriangleMesh mesh;
        mesh.position = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
        mesh.triangle = {0, 1, 2, 0, 3, 1};
        OnDevice folded(makeCpuDevice(1), mesh, 1);
        NormalConsistency consistency;
        QCOMPARE(consistency.addGradient(*folded.stream, folded.binding, folded.value.vertex, 1,
                                         folded.gradient.vertex),
                 1.0);
        OnDevice flat(makeCpuDevice(1), gridMesh(4), 1);
        QCOMPARE(consistency.addGradient(*flat.stream, flat.binding, flat.value.vertex, 1,
                                         flat.gradient.vertex),
                 0.0);
        QCOMPARE(flat.of(flat.gradient.vertex), std::vector<float>(75, 0.0F));
    }

    void smoothingHasTheDerivativeOfItsValue_data() { addDeviceRows(); }
    void smoothingHasTheDerivativeOfItsValue()
    {
        VERGENCE_ROW_DEVICE(device);
        DoubleMesh shape = smallShape();
        const std::vector<std::vector<std::size_t>> neighbours{
            {1, 2, 3}, {0, 2, 3, 4}, {0, 1, 3, 4}, {0, 1, 2}, {1, 2}};
        const auto value = [&] {
            double sum = 0;
            for (std::size_t v = 0; v < neighbours.size(); ++v) {
                Vector mean;
                for (const std::size_t u : neighbours[v])
                    mean = mean + (1.0 / static_cast<double>(neighbours[v].size())) *
                                      Vector::at(shape.vertex.data() + 3 * u);
                sum += length(mean - Vector::at(shape.vertex.data() + 3 * v));
            }
            return sum / static_cast<double>(neighbours.size());
        };
        OnDevice own(device, meshOf(shape), 1);
        UniformSmoothing smoothing(*own.stream, device, meshOf(shape));
        const double mean =
            smoothing.addGradient(*own.stream, own.value.vertex, 3, own.gradient.vertex);
        QVERIFY(std::abs(mean - value()) < 1e-6);
        Numbers want = differences(shape.vertex, value);
        for (double& entry : want)
            entry *= 3;
        VERGENCE_AGREES(difference(own.of(own.gradient.vertex), want, 2e-6, 0));
    }

    void flippedTrianglesMoveNoVertex()
    {
        const TriangleMesh mesh = gridMesh(1);
        OnDevice own(makeCpuDevice(1), mesh, 1);
        own.set(own.given.position, std::vector<float>(6, 1.0F));
        std::vector<float> vertex = mesh.position;
        vertex[3 * 2 + 1] = -1; // turns the second triangle over
        own.set(own.value.vertex, vertex);
        const auto gradient = [&](bool guards) {
            placeGaussiansBackward(*own.stream, own.binding, own.value, own.gaussians, own.given,
                                   own.gradient, own.scratch, {guards});
            return own.of(own.gradient.vertex);
        };
        const auto free = gradient(false), guarded = gradient(true);
        const float third = 1.0F / 3, two = 2 * third;
        const std::vector<float> both{two,   two,   two,   third, third, third,
                                      third, third, third, two,   two,   two},
            first{third, third, third, third, third, third, 0, 0, 0, third, third, third};
        VERGENCE_AGREES(difference(free, both, 1e-6, 0));
        VERGENCE_AGREES(difference(guarded, first, 1e-6, 0));
    }

    void trianglesWithoutAreaDoNoHarm()
    {
        TriangleMesh mesh = gridMesh(1);
        mesh.triangle.insert(mesh.triangle.end(), {0, 1, 1});
        OnDevice own(makeCpuDevice(1), mesh, 6);
        own.set(own.given.rotation, std::vector<float>(72, 1.0F));
        placeGaussiansBackward(*own.stream, own.binding, own.value, own.gaussians, own.given,
                               own.gradient, own.scratch);
        NormalConsistency consistency;
        consistency.addGradient(*own.stream, own.binding, own.value.vertex, 1, own.gradient.vertex);
        for (const Tensor& tensor : {own.gaussians.value.rotation, own.gaussians.value.logScale,
                                     own.gradient.vertex, own.gradient.turn}) {
            for (const float value : own.of(tensor))
                QVERIFY(std::isfinite(value));
        }
        for (std::size_t i = 0; i < 18; ++i) {
            const std::vector<float> q = own.of(own.gaussians.value.rotation);
            const float norm =
                std::inner_product(q.begin() + static_cast<std::ptrdiff_t>(4 * i),
                                   q.begin() + static_cast<std::ptrdiff_t>(4 * i + 4),
                                   q.begin() + static_cast<std::ptrdiff_t>(4 * i), 0.0F);
            QVERIFY(std::abs(norm - 1) < 1e-5F);
        }
    }

    void gradientsDoNotDependOnThreads()
    {
        const TriangleMesh mesh = sphereMesh(24);
        const auto gradients = [&](int threads) {
            OnDevice own(makeCpuDevice(threads), mesh, 3);
            const auto n = own.binding.gaussians();
            own.set(own.given.position, uniformNumbers(3 * n, -1, 1, 1));
            own.set(own.given.rotation, uniformNumbers(4 * n, -1, 1, 2));
            placeGaussiansBackward(*own.stream, own.binding, own.value, own.gaussians, own.given,
                                   own.gradient, own.scratch);
            NormalConsistency consistency;
            const double value = consistency.addGradient(*own.stream, own.binding, own.value.vertex,
                                                         0.1, own.gradient.vertex);
            std::vector<float> all = own.of(own.gradient.vertex);
            all.push_back(static_cast<float>(value));
            return all;
        };
        QCOMPARE(gradients(1), gradients(2));
    }

    void meshesWithoutTrianglesAreRefused()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        VERGENCE_THROWS(InputError, "no triangles", bindToMesh(*stream, device, {}, 1, 1e-6));
    }
};

VERGENCE_TEST(TestSugarBinding)
#include "tst_sugar_binding.moc"
