#include <QTest>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/refine/post_process.h"
#include "tests/plugins/sugar/refine_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

TriangleMesh together(const TriangleMesh& a, const TriangleMesh& b)
{
    TriangleMesh mesh = joined(a, b);
    mesh.group.clear();
    return mesh;
}

/// Without the faces whose numbers are given.
TriangleMesh without(const TriangleMesh& mesh, const std::vector<std::size_t>& faces)
{
    std::vector<std::uint8_t> isKept(static_cast<std::size_t>(mesh.faces()), 1);
    for (const std::size_t f : faces)
        isKept[f] = 0;
    return keptFaces(mesh, isKept);
}

/// A flat Gaussian at every face's centre of a mesh that lies in a plane of constant z.
GaussianCloud sheet(const TriangleMesh& mesh, double scale, double leftOf)
{
    GaussianCloud cloud;
    for (std::size_t f = 0; f < mesh.triangle.size(); f += 3) {
        float centre[3] = {};
        for (std::size_t k = 0; k < 3; ++k)
            for (std::size_t axis = 0; axis < 3; ++axis)
                centre[axis] += mesh.position[3 * mesh.triangle[f + k] + axis] / 3;
        const auto wide = static_cast<float>(std::log(scale));
        cloud.position.insert(cloud.position.end(), centre, centre + 3);
        cloud.logScale.insert(cloud.logScale.end(), {wide, wide, -14.0F});
        cloud.rotation.insert(cloud.rotation.end(), {2, 0, 0, 0});
        cloud.opacity.push_back(static_cast<double>(centre[0]) < leftOf ? 3.0F : -9.0F);
        cloud.shDc.insert(cloud.shDc.end(), {0, 0, 0});
    }
    return cloud;
}

double meanRadius(const TriangleMesh& mesh)
{
    double sum = 0;
    for (std::size_t v = 0; v < mesh.position.size(); v += 3)
        sum += std::hypot(static_cast<double>(mesh.position[v]),
                          static_cast<double>(mesh.position[v + 1]),
                          static_cast<double>(mesh.position[v + 2]));
    return sum / static_cast<double>(mesh.vertices());
}

double roughness(const TriangleMesh& mesh)
{
    double sum = 0;
    for (std::size_t v = 0; v < mesh.position.size(); v += 3)
        sum +=
            static_cast<double>(mesh.position[v + 2]) * static_cast<double>(mesh.position[v + 2]);
    return std::sqrt(sum / static_cast<double>(mesh.vertices()));
}

} // namespace

class TestSugarMeshPost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void thinBordersGoRoundByRound()
    {
        // Opaque where x < 0.55 of a strip of 10 × 10 squares.
        const TriangleMesh mesh = gridMesh(10);
        const GaussianCloud cloud = sheet(mesh, 0.02, 0.55);
        Index before = mesh.faces();
        for (const int rounds : {1, 2, 3}) {
            const TriangleMesh result = withoutThinBorder(mesh, cloud, 0.001, 0.1, rounds);
            QVERIFY(result.faces() < before);
            before = result.faces();
        }
        const TriangleMesh result = withoutThinBorder(mesh, cloud, 0.001, 0.1, 30);
        double right = 0;
        for (std::size_t v = 0; v < result.position.size(); v += 3)
            right = std::max(right, static_cast<double>(result.position[v]));
        QVERIFY(std::abs(right - 0.6) < 1e-6); // squares whose triangles' centres are beyond 0.55
        QCOMPARE(withoutThinBorder(mesh, sheet(mesh, 0.02, 2), 0.001).faces(), mesh.faces());
    }

    void componentsAreChosenBySize()
    {
        const TriangleMesh small = sphereMesh(3), large = sphereMesh(6, 1, {5, 0, 0});
        const TriangleMesh both = together(small, large);
        QCOMPARE(withLargestComponent(both).faces(), large.faces());
        QCOMPARE(withoutSmallComponents(both, small.faces() + 1).faces(), large.faces());
        QCOMPARE(withoutSmallComponents(both, small.faces()).faces(), both.faces());
    }

    void holesAreClosed()
    {
        // A square without two of its squares, and the closed sphere without a cap.
        const TriangleMesh sphere = sphereMesh(8);
        std::vector<std::size_t> cap;
        for (std::size_t i = 0; i < 16; ++i)
            cap.push_back(i * 14); // the first face of each of the 16 slices touches the pole
        const TriangleMesh open = without(sphere, cap);
        QCOMPARE(boundaryLoops(open, edgesOf(open)).size(), std::size_t{1});
        const TriangleMesh closed = withFilledHoles(open, 16);
        const MeshEdges edges = edgesOf(closed);
        QVERIFY(boundaryLoops(closed, edges).empty());
        QCOMPARE(eulerNumber(closed, edges), Index{2});
        QCOMPARE(windingConflicts(closed, edges), Index{0});
        QCOMPARE(closed.faces(), open.faces() + 14);
        QVERIFY(nonManifoldEdges(edges).empty());
        QCOMPARE(withFilledHoles(open, 15).faces(), open.faces());
    }

    void fillingOfAConvexHoleIsFlat()
    {
        // The hole of a flat mesh is filled with its own area.
        TriangleMesh mesh = gridMesh(4);
        mesh.group.assign(32, 1);
        const TriangleMesh open = without(mesh, {10, 11, 12, 13});
        const TriangleMesh closed = withFilledHoles(open, 6);
        QCOMPARE(closed.faces(), mesh.faces());
        QCOMPARE(closed.group, std::vector<std::uint8_t>(32, 1));
        double area = 0;
        for (std::size_t f = 0; f < closed.triangle.size(); f += 3) {
            const float* a = closed.position.data() + 3 * std::size_t{closed.triangle[f]};
            const float* b = closed.position.data() + 3 * std::size_t{closed.triangle[f + 1]};
            const float* c = closed.position.data() + 3 * std::size_t{closed.triangle[f + 2]};
            area +=
                static_cast<double>((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) /
                2; // signed: a triangle the wrong way round would count against it
        }
        QVERIFY(std::abs(area - 1) < 1e-6);
    }

    void smoothingTakesNoiseButNotTheSize()
    {
        TriangleMesh noisy = gridMesh(16);
        for (std::size_t v = 0; v < noisy.position.size(); v += 3)
            noisy.position[v + 2] = 0.02F * (Rng(5).uniform(v) - 0.5F);
        const double after = roughness(smoothed(noisy, 10)), before = roughness(noisy);
        QVERIFY2(after < 0.5 * before, qPrintable(QString("%1 of %2").arg(after).arg(before)));
        const TriangleMesh sphere = sphereMesh(16);
        const double radius = meanRadius(smoothed(sphere, 10)),
                     shrunk = meanRadius(smoothed(sphere, 10, 0.5, 0));
        QVERIFY2(std::abs(radius - 1) < 0.01, qPrintable(QString::number(radius)));
        QVERIFY(shrunk < 0.97);
        // One step of λ alone, by hand: a corner moves halfway to the mean of its neighbours.
        const TriangleMesh once = smoothed(gridMesh(1), 1, 0.5, 0);
        QVERIFY(std::abs(once.position[3] - (1 + 0.5F * (0.5F - 1))) < 1e-6F); // vertex 1: x
        QCOMPARE(once.position[5], 0.0F);
    }

    void groundComesToZero()
    {
        // A large tilted floor with a ball above it.
        TriangleMesh scene = together(gridMesh(8, 4), sphereMesh(8, 0.5, {2, 2, 1}));
        Similarity tilt;
        tilt.rotation = {1, 0, 0, 0, 0.6, -0.8, 0, 0.8, 0.6};
        tilt.translation = {3, -2, 7};
        const TriangleMesh tilted = transformed(scene, tilt);
        const TriangleMesh upright = transformed(tilted, groundAlignment(tilted, 0.02));
        double low = 1e9, high = -1e9;
        for (std::size_t v = 0; v < 81; ++v) {
            low = std::min(low, static_cast<double>(upright.position[3 * v + 2]));
            high = std::max(high, static_cast<double>(upright.position[3 * v + 2]));
        }
        QVERIFY(std::abs(low) < 1e-4 && std::abs(high) < 1e-4);
        for (std::size_t v = 81; v < static_cast<std::size_t>(upright.vertices()); ++v)
            QVERIFY(upright.position[3 * v + 2] > 0.4F);
        VERGENCE_THROWS(InputError, "no ground", groundAlignment({}, 0.1));
    }

    void unitSizeIsCentred()
    {
        const TriangleMesh mesh = sphereMesh(8, 3, {10, -4, 2});
        const TriangleMesh unit = transformed(mesh, unitAlignment(mesh, 2));
        const auto [low, high] = std::minmax_element(unit.position.begin(), unit.position.end());
        QVERIFY(std::abs(*low + 1) < 1e-5F && std::abs(*high - 1) < 1e-5F);
        VERGENCE_THROWS(InputError, "without vertices", unitAlignment({}));
    }

    void croppingKeepsWholeTriangles()
    {
        const TriangleMesh mesh = gridMesh(4);
        const TriangleMesh part = cropped(mesh, {{-1, -1, -1}, {0.5, 0.6, 1}});
        QCOMPARE(part.faces(), Index{8});
        for (std::size_t v = 0; v < part.position.size(); v += 3)
            QVERIFY(part.position[v] <= 0.5F && part.position[v + 1] <= 0.5F);
        QCOMPARE(cropped(mesh, {{2, 2, 2}, {3, 3, 3}}).faces(), Index{0});
    }

    void normalsTurnWithTheMesh()
    {
        TriangleMesh mesh = gridMesh(1);
        computeNormals(mesh);
        Similarity turn;
        turn.rotation = {1, 0, 0, 0, 0, -1, 0, 1, 0};
        turn.scale = 3;
        const TriangleMesh turned = transformed(mesh, turn);
        QCOMPARE(turned.normal[1], -1.0F);
        QCOMPARE(turned.normal[2], 0.0F);
        QCOMPARE(turned.position[3], 3.0F);
    }
};

VERGENCE_TEST(TestSugarMeshPost)
#include "tst_sugar_mesh_post.moc"
