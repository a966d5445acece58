#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "plugins/sugar/compute/projection_math.h"
#include "plugins/sugar/refine/binding_file.h"
#include "tests/plugins/sugar/refine_support.h"
#include "tests/support/numbers.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

using Numbers = std::vector<double>;
using Matrix = std::array<double, 9>; ///< row-major

/// Gaussians on a small bent mesh, with all kinds of angles and scales.
struct Model {
    TriangleMesh mesh = gridMesh(2, 1.5);
    BindingRecord record;
    GaussianCloud cloud;

    Model()
    {
        for (std::size_t v = 0; v < mesh.position.size(); v += 3)
            mesh.position[v + 2] = 0.3F * mesh.position[v] * mesh.position[v] + 0.1F;
        record.thickness = 1e-6F;
        record.triangles = mesh.faces();
        record.vertices = mesh.vertices();
        for (std::int32_t f = 0; f < mesh.faces(); ++f) {
            const auto number = static_cast<float>(f);
            record.triangle.push_back(f);
            record.barycentric.insert(record.barycentric.end(), {0.5F, 0.2F, 0.3F});
            record.scale.insert(record.scale.end(), {0.05F, 0.02F + 0.01F * number});
            record.angle.push_back(number - 3);
        }
        const auto n = static_cast<std::size_t>(mesh.faces());
        cloud.position.resize(3 * n);
        cloud.logScale.resize(3 * n);
        cloud.rotation.resize(4 * n);
        cloud.opacity.assign(n, 0.7F);
        cloud.shDc.assign(3 * n, 0.2F);
        cloud = redriven(cloud, record, mesh, mesh);
    }
};

Matrix rotationMatrix(const GaussianCloud& cloud, std::size_t i)
{
    double q[4], r[9];
    std::copy_n(cloud.rotation.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, q);
    rotationOf(q, r);
    Matrix result;
    std::copy_n(r, 9, result.begin());
    return result;
}

Matrix product(const Matrix& a, const Matrix& b, bool transposesB = false)
{
    Matrix result{};
    for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t column = 0; column < 3; ++column) {
            for (std::size_t k = 0; k < 3; ++k)
                result[3 * row + column] +=
                    a[3 * row + k] * (transposesB ? b[3 * column + k] : b[3 * k + column]);
        }
    }
    return result;
}

Matrix covariance(const GaussianCloud& cloud, std::size_t i)
{
    Matrix m = rotationMatrix(cloud, i);
    for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t axis = 0; axis < 3; ++axis)
            m[3 * row + axis] *= std::exp(static_cast<double>(cloud.logScale[3 * i + axis]));
    }
    return product(m, m, true);
}

TriangleMesh mapped(const TriangleMesh& mesh, const Matrix& map)
{
    TriangleMesh result = mesh;
    for (std::size_t v = 0; v < mesh.position.size(); v += 3) {
        for (std::size_t row = 0; row < 3; ++row) {
            double sum = 0;
            for (std::size_t k = 0; k < 3; ++k)
                sum += map[3 * row + k] * static_cast<double>(mesh.position[v + k]);
            result.position[v + row] = static_cast<float>(sum);
        }
    }
    return result;
}

} // namespace

class TestSugarBindingFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void twiceTheSizeIsTwiceTheScale()
    {
        const Model model;
        const TriangleMesh larger = mapped(model.mesh, {2, 0, 0, 0, 2, 0, 0, 0, 2});
        const GaussianCloud cloud = redriven(model.cloud, model.record, model.mesh, larger);
        for (std::size_t i = 0; i < cloud.position.size(); ++i)
            QVERIFY(std::abs(cloud.position[i] - 2 * model.cloud.position[i]) < 1e-6F);
        for (std::size_t i = 0; i < cloud.logScale.size(); ++i) {
            const float ratio = std::exp(cloud.logScale[i] - model.cloud.logScale[i]);
            QVERIFY(std::abs(ratio - (i % 3 == 0 ? 1 : 2)) < 1e-5F);
        }
        VERGENCE_AGREES(difference(cloud.rotation, model.cloud.rotation, 1e-5, 0));
        QCOMPARE(cloud.opacity, model.cloud.opacity);
    }

    void turnedMeshesTurnTheSplats()
    {
        const Model model;
        const double q[4] = {0.5, -0.5, 0.5, 0.5};
        Matrix turn;
        rotationOf(q, turn.data());
        const GaussianCloud cloud =
            redriven(model.cloud, model.record, model.mesh, mapped(model.mesh, turn));
        for (std::size_t i = 0; i < model.record.triangle.size(); ++i) {
            const Matrix got = rotationMatrix(cloud, i),
                         want = product(turn, rotationMatrix(model.cloud, i));
            VERGENCE_AGREES(difference(Numbers(got.begin(), got.end()),
                                       Numbers(want.begin(), want.end()), 1e-5, 0));
        }
        VERGENCE_AGREES(difference(cloud.logScale, model.cloud.logScale, 1e-5, 0));
    }

    void shearedSplatsHaveTheShearedCovariance()
    {
        const Model model;
        const Matrix map{1.3, 0.4, 0, -0.2, 0.8, 0.3, 0.1, 0, 1.1};
        const GaussianCloud cloud =
            redriven(model.cloud, model.record, model.mesh, mapped(model.mesh, map));
        for (std::size_t i = 0; i < model.record.triangle.size(); ++i) {
            const Matrix got = covariance(cloud, i),
                         want = product(product(map, covariance(model.cloud, i)), map, true);
            VERGENCE_AGREES(difference(Numbers(got.begin(), got.end()),
                                       Numbers(want.begin(), want.end()), 1e-7, 1e-4));
        }
    }

    void filesGiveBackWhatWasWritten()
    {
        const Scratch folder;
        const Model model;
        writeBinding(folder / "binding.safetensors", model.record);
        const BindingRecord back = readBinding(folder / "binding.safetensors");
        QCOMPARE(back.triangle, model.record.triangle);
        QCOMPARE(back.barycentric, model.record.barycentric);
        QCOMPARE(back.scale, model.record.scale);
        QCOMPARE(back.angle, model.record.angle);
        QCOMPARE(back.thickness, model.record.thickness);
        QCOMPARE(back.triangles, model.record.triangles);
        QCOMPARE(back.vertices, model.record.vertices);
    }

    void damagedFilesAreRefused()
    {
        const Scratch folder;
        const auto path = folder / "binding.safetensors";
        Model model;
        model.record.scale.pop_back();
        model.record.scale.pop_back();
        VERGENCE_THROWS(ContractError, "byte count of scale", writeBinding(path, model.record));
        const auto two = HostTensor::from<std::int32_t>("triangle", {2}, std::vector{0, 1});
        writeSafetensors(path, {two});
        VERGENCE_THROWS(InputError, "\"barycentric\" is missing", readBinding(path));
        Model other;
        other.record.triangle[3] = 99;
        writeBinding(path, other.record);
        VERGENCE_THROWS(InputError, "a triangle that is not there", readBinding(path));
        writeSafetensors(path, {HostTensor::from<float>("triangle", {1}, std::vector{0.F})});
        VERGENCE_THROWS(InputError, "holds F32 where I32", readBinding(path));
    }

    void otherTrianglesAreRefused()
    {
        const Model model;
        TriangleMesh other = model.mesh;
        std::swap(other.triangle[0], other.triangle[1]);
        VERGENCE_THROWS(InputError, "other triangles",
                        redriven(model.cloud, model.record, model.mesh, other));
    }
};

VERGENCE_TEST(TestSugarBindingFile)
#include "tst_sugar_binding_file.moc"
