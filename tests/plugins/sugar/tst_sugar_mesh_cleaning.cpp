#include <algorithm>
#include <limits>

#include <QTest>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_cleaning.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "tests/plugins/sugar/mesh_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

/// Repairs of meshes: each removes what it names and nothing else.
class TestSugarMeshCleaning : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void facesAtSparseVerticesGo()
    {
        TriangleMesh mesh = flatGrid(10);
        std::vector<float> density(121, 5.0F);
        for (std::size_t i = 0; i < 11; ++i) // the lowest row
            density[i] = 1.0F + 0.1F * static_cast<float>(i);
        TriangleMesh untouched = mesh;
        QCOMPARE(removeSparse(untouched, density, 0), Index(0));
        QCOMPARE(removeSparse(untouched, {}, 0.1), Index(0));
        QCOMPARE(removeSparse(mesh, density, 0.1), Index(20)); // the quantile is the first 5
        QCOMPARE(mesh.faces(), Index(180));
        QCOMPARE(mesh.vertices(), Index(110));
        QVERIFY_EXCEPTION_THROWN(removeSparse(mesh, density, 0.1), ContractError);
        QVERIFY_EXCEPTION_THROWN(removeSparse(mesh, {}, 1.5), ContractError);
    }

    void smallPartsGoAndTheLargestStays()
    {
        TriangleMesh mesh = joined(joined(cube(), flatGrid(6)), openQuad()); // 12, 72, 2
        TriangleMesh byCount = mesh, byShare = mesh, all = mesh;
        QCOMPARE(removeSmallComponents(byCount, 0, 3), Index(2));
        QCOMPARE(removeSmallComponents(byShare, 0.2, 0), Index(14)); // of 86: 17.2
        QCOMPARE(byShare.faces(), Index(72));
        QCOMPARE(removeSmallComponents(all, 1, 1000), Index(14));
        TriangleMesh none;
        QCOMPARE(removeSmallComponents(none), Index(0));
    }

    void verticesAtOnePlaceBecomeOne()
    {
        const TriangleMesh whole = cube();
        TriangleMesh soup;
        for (std::uint32_t i = 0; i < whole.triangle.size(); ++i) {
            const Point3 p = vertexOf(whole, whole.triangle[i]);
            for (std::size_t k = 0; k < 3; ++k)
                soup.position.push_back(static_cast<float>(p[k]));
            soup.triangle.push_back(i);
        }
        QCOMPARE(mergeDuplicateVertices(soup), Index(0));
        QCOMPARE(soup.vertices(), Index(8));
        QCOMPARE(eulerNumber(soup, edgesOf(soup)), Index(2));
        TriangleMesh folded = openQuad();
        folded.position[3] = 0; // corner 1 falls on corner 0
        QCOMPARE(mergeDuplicateVertices(folded), Index(1));
    }

    void facesOfTheSameVerticesGo()
    {
        TriangleMesh mesh = openQuad();
        mesh.triangle.insert(mesh.triangle.end(), {2, 0, 1, 3, 2, 0});
        QCOMPARE(removeDuplicateFaces(mesh), Index(2));
        QCOMPARE(mesh.triangle, openQuad().triangle);
    }

    void facesWithoutAreaGo()
    {
        TriangleMesh mesh =
            meshOf({0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 1, 0, std::numeric_limits<float>::quiet_NaN(), 0,
                    0, 0.001F, 0.001F, 0},
                   {0, 1, 3, 0, 1, 2, 0, 0, 3, 0, 1, 4, 0, 1, 5});
        TriangleMesh strict = mesh;
        QCOMPARE(removeDegenerateFaces(mesh, 0), Index(3));
        QCOMPARE(removeDegenerateFaces(strict, 0.001), Index(4));
        QCOMPARE(strict.vertices(), Index(3));
    }

    void theSmallestFaceAtANonManifoldEdgeGoes()
    {
        TriangleMesh mesh = fin();
        QCOMPARE(removeNonManifoldEdges(mesh), Index(1));
        QVERIFY(nonManifoldEdges(edgesOf(mesh)).empty());
        QCOMPARE(mesh.vertices(), Index(4)); // the tip of the fin has gone
        TriangleMesh sound = cube();
        QCOMPARE(removeNonManifoldEdges(sound), Index(0));
        QCOMPARE(sound.triangle, cube().triangle);
    }

    void facesThatRemainAtAnEdgeAreWoundAlike()
    {
        // Three faces of areas 1, 0.5 and 0.25 at one edge; the larger two run along it alike.
        TriangleMesh mesh =
            meshOf({0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, -0.5F, 0}, {0, 1, 2, 0, 1, 3, 1, 0, 4});
        QCOMPARE(removeNonManifoldEdges(mesh), Index(1));
        const MeshEdges edges = edgesOf(mesh);
        QVERIFY(nonManifoldEdges(edges).empty());
        QCOMPARE(windingConflicts(mesh, edges), Index(0));
        QCOMPARE(mesh.vertices(), Index(4));
    }

    void fansArePartedAtBowTies()
    {
        TriangleMesh mesh = bowTie();
        mesh.colour.assign(15, 7);
        QCOMPARE(splitNonManifoldVertices(mesh), Index(1));
        QCOMPARE(mesh.vertices(), Index(6));
        QCOMPARE(mesh.colour.size(), std::size_t(18));
        QVERIFY(nonManifoldVertices(mesh, edgesOf(mesh)).empty());
        TriangleMesh sound = cube();
        QCOMPARE(splitNonManifoldVertices(sound), Index(0));
    }

    void cleaningLeavesAManifold()
    {
        TriangleMesh mesh = octahedralSphere(4);
        const Index faces = mesh.faces();
        const auto tip = static_cast<std::uint32_t>(mesh.vertices());
        mesh.position.insert(mesh.position.end(), {1.001F, 0.001F, 0.001F});
        const std::uint32_t a = mesh.triangle[0], b = mesh.triangle[1], c = mesh.triangle[2];
        mesh.triangle.insert(mesh.triangle.end(), {a, b, tip, a, b, c, a, a, b});
        mesh = joined(mesh, openQuad());
        const CleaningReport report = clean(mesh, {}, {});
        QCOMPARE(report.smallParts, Index(2));
        QCOMPARE(report.nonManifold, Index(1));
        QCOMPARE(report.duplicates, Index(2)); // one twice, one that uses a vertex twice
        QCOMPARE(mesh.faces(), faces);
        const MeshEdges edges = edgesOf(mesh);
        QCOMPARE(eulerNumber(mesh, edges), Index(2));
        QVERIFY(nonManifoldEdges(edges).empty());
        TriangleMesh again = mesh;
        QCOMPARE(clean(again, {}, {}), CleaningReport{});
        QCOMPARE(again.triangle, mesh.triangle);
    }

    void cleaningHearsAStopBeforeEachRepair()
    {
        for (int heard = 0; heard < 7; ++heard) {
            TriangleMesh mesh = joined(octahedralSphere(4), openQuad());
            const Index faces = mesh.faces();
            int asked = 0;
            const CleaningReport report = clean(mesh, {}, {}, [&] { return asked++ >= heard; });
            QCOMPARE(report.smallParts, Index(0)); // the last of the seven
            QCOMPARE(mesh.faces(), faces);
            QCOMPARE(asked, 7);
        }
    }
};

VERGENCE_TEST(TestSugarMeshCleaning)
#include "tst_sugar_mesh_cleaning.moc"
