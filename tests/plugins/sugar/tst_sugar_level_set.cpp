#include <array>
#include <cmath>
#include <limits>

#include <QTest>

#include <tbb/global_control.h>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/mesh/decimation.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/surface/level_set.h"
#include "plugins/sugar/surface/marching.h"
#include "tests/plugins/sugar/surface_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

namespace {

/// All nodes of the blocks about a cube of half side `reach`, filled by a function of position.
template <class Function>
BlockGrid filled(double voxel, double reach, const Function& value)
{
    BlockGrid grid({0.013, -0.007, 0.021}, voxel);
    grid.cover({-reach, -reach, -reach}, {reach, reach, reach});
    for (Index block = 0; block < grid.blocks(); ++block) {
        for (int node = 0; node < kBlockNodes; ++node) {
            const auto p = grid.position(grid.place(block), node % 8, node / 8 % 8, node / 64);
            grid.values(block)[node] = static_cast<float>(value(Point3{p[0], p[1], p[2]}));
        }
    }
    return grid;
}

/// Points on the unit sphere's level set, as cameras all around would give them.
SurfacePoints spherePoints(int count, double radius)
{
    SurfacePoints points;
    for (int i = 0; i < count; ++i) {
        const Point3 n = fibonacciPoint(i, count, 0.4);
        for (std::size_t k = 0; k < 3; ++k) {
            points.position.push_back(static_cast<float>(radius * n[k]));
            points.normal.push_back(static_cast<float>(n[k]));
            points.colour.push_back(100);
        }
        points.level.push_back(0);
    }
    return points;
}

} // namespace

/// Marching over blocks, and the level set of the density.
class TestSugarLevelSet : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void blocksAreFoundAgain()
    {
        BlockGrid grid({1, 2, 3}, 0.5);
        grid.cover({0, 0, 0}, {0.9, 0.9, 0.9});
        QCOMPARE(grid.blocks(), Index(1)); // 4 wide, from −3 to 1 along x
        grid.cover({-4, 1, 1}, {1.1, 1, 1});
        QCOMPARE(grid.blocks(), Index(3));
        for (Index block = 0; block < 3; ++block)
            QCOMPARE(grid.find(grid.place(block)), block);
        QCOMPARE(grid.find({9, 9, 9}), Index(-1));
        QCOMPARE(grid.find({1 << 21, 0, 0}), Index(-1));
        QVERIFY(std::isnan(grid.values(0)[5]));
        QCOMPARE(grid.position({-1, 0, 0}, 1, 2, 3), (std::array<double, 3>{-2.5, 3, 4.5}));
        QVERIFY_EXCEPTION_THROWN(grid.cover({0, 0, 0}, {1e9, 0, 0}), ContractError);
        QVERIFY_EXCEPTION_THROWN(BlockGrid({0, 0, 0}, 0), ContractError);
    }

    void aBallGivesASphere()
    {
        const BlockGrid grid = filled(0.05, 1.1, [](const Point3& p) { return norm(p) - 1; });
        const TriangleMesh mesh = marched(grid);
        const MeshQuality quality = measured(mesh);
        QCOMPARE(quality.eulerNumber, Index(2));
        QVERIFY(quality.isClosed());
        QCOMPARE(quality.nonManifoldVertices, Index(0));
        QCOMPARE(quality.windingConflicts, Index(0));
        const double volume = 4 * std::numbers::pi / 3;
        QVERIFY(std::abs(quality.volume - volume) < 0.005 * volume); // wound outwards: positive
        const Radii radii(mesh.position);
        QVERIFY(radii.least > 1 - 2e-3 && radii.greatest < 1 + 2e-3);
    }

    void aTorusGivesATorus()
    {
        const TriangleMesh mesh = marched(filled(0.04, 1.4, [](const Point3& p) {
            return std::hypot(std::hypot(p.x, p.y) - 0.9, p.z) - 0.3;
        }));
        const MeshEdges edges = edgesOf(mesh);
        QCOMPARE(eulerNumber(mesh, edges), Index(0));
        QVERIFY(boundaryLoops(mesh, edges).empty());
    }

    void noiseGivesAManifold()
    {
        // Every case of a cell and every meeting of two cells comes up.
        const Rng rng(5);
        std::uint64_t next = 0;
        BlockGrid grid = filled(0.1, 1.5, [&](const Point3& p) {
            const bool isRim = std::max({std::abs(p.x), std::abs(p.y), std::abs(p.z)}) > 1.4;
            return isRim ? 1.0 : rng.uniform(next++) - 0.5;
        });
        const TriangleMesh mesh = marched(grid);
        QVERIFY(mesh.faces() > 20'000);
        const MeshEdges edges = edgesOf(mesh);
        QVERIFY(nonManifoldEdges(edges).empty());
        QVERIFY(nonManifoldVertices(mesh, edges).empty());
        QVERIFY(boundaryLoops(mesh, edges).empty());
        QCOMPARE(windingConflicts(mesh, edges), Index(0));
    }

    void unknownNodesLeaveABoundary()
    {
        BlockGrid grid = filled(0.05, 1.1, [](const Point3& p) {
            return p.z > 0 ? norm(p) - 1 : std::numeric_limits<double>::quiet_NaN();
        });
        const MeshQuality quality = measured(marched(grid));
        QCOMPARE(quality.eulerNumber, Index(1));
        QCOMPARE(quality.boundaryLoops, Index(1));
        QCOMPARE(quality.nonManifoldEdges, Index(0));
        QCOMPARE(marched(BlockGrid({0, 0, 0}, 1)).faces(), Index(0));
        QCOMPARE(marched(grid, {}, [] { return true; }).faces(), Index(0));
    }

    void verticesLieWhereTheyArePlaced()
    {
        const BlockGrid grid = filled(0.1, 1.1, [](const Point3& p) { return norm(p) - 1; });
        const TriangleMesh mesh =
            marched(grid, [](const double* out, const double* in, double a, double b) {
                const double r0 = norm({out[0], out[1], out[2]}), r1 = norm({in[0], in[1], in[2]});
                return a >= 0 && b < 0 && r0 >= 1 && r1 < 1 ? 0.5 : 7.0; // 7 would show
            });
        const auto at = [&](float x, std::size_t k) {
            const double steps = (static_cast<double>(x) - grid.origin()[k]) / 0.1;
            return std::abs(steps - std::floor(steps) - 0.5) < 1e-4;
        };
        std::size_t onEdges = 0;
        for (std::size_t i = 0; i < mesh.position.size(); i += 3)
            onEdges += at(mesh.position[i], 0) || at(mesh.position[i + 1], 1) ||
                       at(mesh.position[i + 2], 2);
        QVERIFY(onEdges >= 99 * mesh.position.size() / 300); // the rest are middles of rings
    }

    void theSphereOfGaussiansIsClosed_data()
    {
        QTest::addColumn<int>("count");
        QTest::addColumn<double>("level");
        QTest::addColumn<double>("height");
        QTest::newRow("1000, 0.3") << 1000 << .3 << .03146;
        QTest::newRow("4000, 0.3") << 4000 << .3 << .01352;
    }
    void theSphereOfGaussiansIsClosed()
    {
        QFETCH(int, count);
        QFETCH(double, level);
        QFETCH(double, height);
        const GaussianCloud cloud = sphereCloud(count);
        const DensityField field(cloud, nearestNeighbours(cloud.position, 16));
        LevelSetSettings settings;
        settings.level = level;
        const TriangleMesh mesh =
            levelSetSurface(field, spherePoints(20'000, 1 + height), settings).mesh;
        const MeshQuality quality = measured(mesh);
        QCOMPARE(quality.components, Index(1));
        QCOMPARE(quality.eulerNumber, Index(2));
        QVERIFY(quality.isClosed());
        QCOMPARE(quality.windingConflicts, Index(0));
        QCOMPARE(quality.nonManifoldVertices, Index(0));
        const Radii radii(mesh.position);
        const QString found =
            QString("%1 %2 %3").arg(radii.least).arg(radii.mean).arg(radii.greatest);
        QVERIFY2(std::abs(radii.least - 1 - height) < 0.002,
                 qPrintable(found)); // 0.01 is asked for
        QVERIFY2(std::abs(radii.greatest - 1 - height) < 0.002, qPrintable(found));
        const double volume = 4 * std::numbers::pi / 3 * std::pow(1 + height, 3);
        QVERIFY(std::abs(quality.volume - volume) < 0.005 * volume);

        DecimationSettings down;
        down.triangles = 5000;
        const TriangleMesh fewer = decimated(mesh, down);
        QVERIFY(fewer.faces() <= 5000);
        const Radii after(fewer.position);
        QVERIFY(after.least > 1 + height - 0.003 && after.greatest < 1 + height + 0.003); // 0.012
        const MeshQuality rest = measured(fewer);
        QCOMPARE(rest.eulerNumber, Index(2));
        QVERIFY(rest.isClosed());
        QVERIFY(std::abs(rest.volume - volume) < 0.01 * volume); // 2 % is asked for
    }

    void coarseVoxelsSeeOneSurface()
    {
        // Voxels wider than the sheet: the inner side must not appear.
        const GaussianCloud cloud = sphereCloud(4000);
        const DensityField field(cloud, nearestNeighbours(cloud.position, 16));
        LevelSetSettings settings;
        settings.voxel = 0.08;
        const TriangleMesh mesh =
            levelSetSurface(field, spherePoints(5000, 1.01352), settings).mesh;
        const MeshQuality quality = measured(mesh);
        QCOMPARE(quality.components, Index(1));
        QCOMPARE(quality.eulerNumber, Index(2));
        QVERIFY(quality.isClosed());
        const Radii radii(mesh.position);
        QVERIFY2(radii.least > 0.99 && radii.greatest < 1.02,
                 qPrintable(QString("%1 %2").arg(radii.least).arg(radii.greatest)));
    }

    void threadsDoNotMatter()
    {
        const GaussianCloud cloud = sphereCloud(500);
        const DensityField field(cloud, nearestNeighbours(cloud.position, 16));
        const SurfacePoints points = spherePoints(3000, 1.03);
        LevelSetSettings settings;
        settings.voxel = 0.06;
        const TriangleMesh mesh = levelSetSurface(field, points, settings).mesh;
        const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
        const TriangleMesh alone = levelSetSurface(field, points, settings).mesh;
        QCOMPARE(alone.position, mesh.position);
        QCOMPARE(alone.triangle, mesh.triangle);
    }

    void nothingGivesNothing()
    {
        const GaussianCloud cloud = sphereCloud(50);
        const DensityField field(cloud, nearestNeighbours(cloud.position, 16));
        QCOMPARE(levelSetSurface(field, {}, {}).mesh.faces(), Index(0));
        QCOMPARE(levelSetSurface(field, spherePoints(100, 1), {}, [] { return true; }).mesh.faces(),
                 Index(0));
        SurfacePoints bad = spherePoints(10, 1);
        bad.position[4] = std::numeric_limits<float>::quiet_NaN();
        QVERIFY_EXCEPTION_THROWN(levelSetSurface(field, bad, {}), ContractError);
        QVERIFY_EXCEPTION_THROWN(levelSetSurface(field, {}, {.level = 0}), ContractError);
    }
};

VERGENCE_TEST(TestSugarLevelSet)
#include "tst_sugar_level_set.moc"
