#include <algorithm>
#include <cmath>
#include <limits>

#include <QTest>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/mesh/vertex_colour.h"
#include "tests/plugins/sugar/mesh_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

/// How triangles hang together, parts of meshes, and colours at vertices.
class TestSugarMesh : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aCubeIsClosed()
    {
        const TriangleMesh mesh = cube();
        const MeshEdges edges = edgesOf(mesh);
        QCOMPARE(edges.count(), Index(18));
        for (Index e = 0; e < edges.count(); ++e) {
            QCOMPARE(edges.facesAt(e), Index(2));
            for (const std::uint32_t corner : edges.corners.of(e))
                QCOMPARE(Index(edges.ofCorner[corner]), e);
        }
        QCOMPARE(eulerNumber(mesh, edges), Index(2));
        QVERIFY(boundaryLoops(mesh, edges).empty());
        QVERIFY(nonManifoldVertices(mesh, edges).empty());
        QCOMPARE(windingConflicts(mesh, edges), Index(0));
        QCOMPARE(signedVolume(mesh), 1.0);
        QCOMPARE(componentsOf(mesh, edges).faces, std::vector<Index>{12});
    }

    void everyCornerIsListedAtItsVertex()
    {
        const TriangleMesh mesh = octahedralSphere(2);
        const RaggedLists corners = cornersOf(mesh);
        std::size_t listed = 0;
        for (Index v = 0; v < mesh.vertices(); ++v) {
            const auto list = corners.of(v);
            listed += list.size();
            QVERIFY(std::is_sorted(list.begin(), list.end()));
            for (const std::uint32_t corner : list)
                QCOMPARE(Index(mesh.triangle[corner]), v);
        }
        QCOMPARE(listed, mesh.triangle.size());
    }

    void aQuadHasOneBoundaryLoop()
    {
        const TriangleMesh mesh = openQuad();
        const MeshEdges edges = edgesOf(mesh);
        QCOMPARE(eulerNumber(mesh, edges), Index(1));
        const auto loops = boundaryLoops(mesh, edges);
        QCOMPARE(loops.size(), std::size_t(1));
        QCOMPARE(loops[0], (std::vector<std::uint32_t>{0, 1, 2, 3}));
    }

    void aBowTieHasTwoLoopsAndABadVertex()
    {
        const TriangleMesh mesh = bowTie();
        const MeshEdges edges = edgesOf(mesh);
        QCOMPARE(boundaryLoops(mesh, edges).size(), std::size_t(2));
        QCOMPARE(nonManifoldVertices(mesh, edges), std::vector<std::uint32_t>{0});
        QVERIFY(nonManifoldEdges(edges).empty());
        QCOMPARE(componentsOf(mesh, edges).faces, (std::vector<Index>{1, 1}));
    }

    void aFinHasANonManifoldEdge()
    {
        const TriangleMesh mesh = fin();
        const MeshEdges edges = edgesOf(mesh);
        QCOMPARE(nonManifoldEdges(edges).size(), std::size_t(1));
        QCOMPARE(edges.vertices[nonManifoldEdges(edges)[0]], (std::array<std::uint32_t, 2>{0, 1}));
        QCOMPARE(nonManifoldVertices(mesh, edges), (std::vector<std::uint32_t>{0, 1}));
        QCOMPARE(componentsOf(mesh, edges).faces, std::vector<Index>{3});
    }

    void aMoebiusStripCannotBeWound()
    {
        TriangleMesh mesh = moebiusStrip();
        const MeshEdges edges = edgesOf(mesh);
        QCOMPARE(eulerNumber(mesh, edges), Index(0));
        QCOMPARE(boundaryLoops(mesh, edges).size(), std::size_t(1));
        QVERIFY(windingConflicts(mesh, edges) > 0);
        QCOMPARE(windConsistently(mesh), Index(1));
        QCOMPARE(windingConflicts(mesh, edgesOf(mesh)), Index(1));
    }

    void windingFollowsTheMajority()
    {
        TriangleMesh mesh = octahedralSphere(2);
        const double volume = signedVolume(mesh);
        for (const std::size_t f : {0U, 5U, 17U, 90U})
            std::swap(mesh.triangle[3 * f], mesh.triangle[3 * f + 1]);
        QCOMPARE(windingConflicts(mesh, edgesOf(mesh)), Index(12));
        QCOMPARE(windConsistently(mesh), Index(0));
        QCOMPARE(windingConflicts(mesh, edgesOf(mesh)), Index(0));
        QVERIFY(std::abs(signedVolume(mesh) - volume) < 1e-12);
    }

    void nothingHasNothing()
    {
        TriangleMesh mesh;
        const MeshEdges edges = edgesOf(mesh);
        QCOMPARE(edges.count(), Index(0));
        QCOMPARE(eulerNumber(mesh, edges), Index(0));
        QVERIFY(boundaryLoops(mesh, edges).empty());
        QVERIFY(componentsOf(mesh, edges).faces.empty());
        QCOMPARE(windConsistently(mesh), Index(0));
        computeNormals(mesh);
        QVERIFY(mesh.normal.empty());
    }

    void unsoundMeshesAreRefused()
    {
        TriangleMesh missing = openQuad();
        missing.triangle[0] = 4;
        QVERIFY_EXCEPTION_THROWN(edgesOf(missing), ContractError);
        QVERIFY_EXCEPTION_THROWN(cornersOf(missing), ContractError);
        TriangleMesh halfColoured = openQuad();
        halfColoured.colour.resize(3);
        QVERIFY_EXCEPTION_THROWN(expectSound(halfColoured), ContractError);
        QVERIFY_EXCEPTION_THROWN(keptFaces(openQuad(), {1}), ContractError);
    }

    void keptFacesTakeTheirVerticesAlong()
    {
        TriangleMesh mesh = bowTie();
        mesh.colour = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4};
        mesh.group = {0, 1};
        const TriangleMesh kept = keptFaces(mesh, {0, 1});
        QCOMPARE(kept.triangle, (std::vector<std::uint32_t>{0, 1, 2}));
        QCOMPARE(kept.colour, (std::vector<std::uint8_t>{0, 0, 0, 3, 3, 3, 4, 4, 4}));
        QCOMPARE(kept.position[3], -1.0F);
        QCOMPARE(kept.group, std::vector<std::uint8_t>{1});
    }

    void joinedMeshesKeepTheirGroups()
    {
        TriangleMesh all = joined(cube(), openQuad());
        QCOMPARE(all.vertices(), Index(12));
        QCOMPARE(all.faces(), Index(14));
        QCOMPARE(std::count(all.group.begin(), all.group.end(), 1), 2);
        QCOMPARE(all.triangle[36], 8U);
        QCOMPARE(componentsOf(all, edgesOf(all)).faces, (std::vector<Index>{12, 2}));
        const TriangleMesh alone = joined(openQuad(), {});
        QCOMPARE(alone.faces(), Index(2));
    }

    void normalsOfASphereLookOutwards()
    {
        TriangleMesh mesh = octahedralSphere(3);
        computeNormals(mesh);
        for (std::uint32_t v = 0; v < static_cast<std::uint32_t>(mesh.vertices()); ++v) {
            const Point3 n{mesh.normal[3 * v], mesh.normal[3 * v + 1], mesh.normal[3 * v + 2]};
            QVERIFY(dot(n, vertexOf(mesh, v)) > std::cos(0.05));
        }
    }

    void coloursAreMeansByInverseDistance()
    {
        TriangleMesh mesh = openQuad();
        const std::vector<float> position = {0, 0, 0, 0, 0, 3, 5, 0, 0, 0, 5, 0, 9, 9, 9};
        const std::vector<std::uint8_t> colour = {255, 0,  10, 0,  90,  20,  0,  0,
                                                  30,  30, 30, 30, 200, 200, 200};
        mesh.position = {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        colourVertices(mesh, {position, colour});
        // Distances 1, 2, √26, √26 at the first vertex; the second lies on a point.
        const double far = 1 / std::sqrt(26.0), sum = 1 + 0.5 + 2 * far;
        QCOMPARE(int(mesh.colour[0]), int(std::lround((255 + 30 * far) / sum)));
        QCOMPARE(int(mesh.colour[1]), int(std::lround((45 + 30 * far) / sum)));
        QCOMPARE(int(mesh.colour[3]), 255);
        QCOMPARE(int(mesh.colour[4]), 0);
        QVERIFY_EXCEPTION_THROWN(colourVertices(mesh, {}), ContractError);
    }

    void verticesAreProjectedWithinReach()
    {
        TriangleMesh mesh = openQuad();
        const std::vector<float> position = {0, 0, 0.25F, 5, 5, 5};
        const std::vector<std::uint8_t> colour = {1, 2, 3, 4, 5, 6};
        QVERIFY_EXCEPTION_THROWN(projectVertices(mesh, {position, colour}, 1), ContractError);
        mesh.colour.assign(12, 9);
        QCOMPARE(projectVertices(mesh, {position, colour}, 0.5), Index(1));
        QCOMPARE(mesh.position[2], 0.25F);
        QCOMPARE(int(mesh.colour[1]), 2);
        QCOMPARE(mesh.position[3], 1.0F);
        QCOMPARE(int(mesh.colour[4]), 9);
    }
};

VERGENCE_TEST(TestSugarMesh)
#include "tst_sugar_mesh.moc"
