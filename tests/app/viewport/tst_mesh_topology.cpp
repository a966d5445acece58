#include <QTest>

#include "app/viewport/mesh/mesh_topology.h"
#include "tests/app/viewport/mesh_fixtures.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

using Triangles = std::vector<std::array<std::uint32_t, 3>>;

/// The box with four vertices for each of its sides, as files with textures have it.
std::pair<std::vector<QVector3D>, Triangles> box(std::size_t sides)
{
    std::vector<QVector3D> positions;
    Triangles triangles;
    const auto all = test::boxSides();
    for (std::size_t s = 0; s < sides; ++s) {
        const auto first = static_cast<std::uint32_t>(positions.size());
        positions.insert(positions.end(), all[s].corners.begin(), all[s].corners.end());
        triangles.push_back({first, first + 1, first + 2});
        triangles.push_back({first, first + 2, first + 3});
    }
    return {positions, triangles};
}

} // namespace

class MeshTopologyTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void seamsOfTheTextureAreNoBoundary()
    {
        const auto [positions, triangles] = box(6);
        const MeshTopology topology = findTopology(positions, triangles);
        QCOMPARE(topology.vertexCount, std::size_t{8});
        QCOMPARE(topology.boundary.size(), std::size_t{0});
        QCOMPARE(topology.nonManifold.size(), std::size_t{0});
        QCOMPARE(topology.componentCount, std::size_t{1});
    }

    void anOpenBoxHasFourBoundaryEdges()
    {
        const auto [positions, triangles] = box(5);
        QCOMPARE(findTopology(positions, triangles).boundary.size(), std::size_t{4});
    }

    void threeFacesAtAnEdgeAreNonManifold()
    {
        const std::vector<QVector3D> positions{
            {0, 0, 0}, {0, 0, 1}, {1, 0, 0}, {-1, 1, 0}, {-1, -1, 0}};
        const Triangles triangles{{0, 1, 2}, {0, 1, 3}, {1, 0, 4}};
        const MeshTopology topology = findTopology(positions, triangles);
        QCOMPARE(topology.nonManifold.size(), std::size_t{1});
        QVERIFY((topology.nonManifold[0] == MeshEdge{0, 1}));
        QCOMPARE(topology.boundary.size(), std::size_t{6});
    }

    void piecesAreCountedByTheirVertices()
    {
        auto [positions, triangles] = box(6);
        const std::size_t own = positions.size(), faces = triangles.size();
        for (std::size_t i = 0; i < own; ++i)
            positions.push_back(positions[i] + QVector3D(10, 0, 0));
        for (std::size_t f = 0; f < faces; ++f) {
            auto triangle = triangles[f];
            for (auto& vertex : triangle)
                vertex += static_cast<std::uint32_t>(own);
            triangles.push_back(triangle);
        }
        const MeshTopology topology = findTopology(positions, triangles);
        QCOMPARE(topology.componentCount, std::size_t{2});
        QCOMPARE(topology.component[0], 0U);
        QCOMPARE(topology.component[faces], 1U);
    }

    void minusZeroIsTheSamePlaceAndSlimTrianglesHaveNoEdgeOfLengthZero()
    {
        const std::vector<QVector3D> positions{{0, 0, 0}, {-0.0F, 0, -0.0F}, {1, 0, 0}};
        const Triangles triangles{{0, 1, 2}};
        const MeshTopology topology = findTopology(positions, triangles);
        QCOMPARE(topology.vertexCount, std::size_t{2});
        QCOMPARE(topology.boundary.size() + topology.nonManifold.size(), std::size_t{0});
    }

    void nothingHasNothing()
    {
        const MeshTopology topology = findTopology({}, {});
        QCOMPARE(topology.componentCount + topology.vertexCount + topology.boundary.size(),
                 std::size_t{0});
    }

    void normalsOfAnOctahedronPointOutwards_data()
    {
        QTest::addColumn<float>("size");
        QTest::newRow("one unit") << 1.0F;
        QTest::newRow("small") << 1e-5F;
        QTest::newRow("large") << 1e5F;
    }
    void normalsOfAnOctahedronPointOutwards()
    {
        QFETCH(float, size);
        std::vector<QVector3D> positions;
        Triangles triangles;
        for (const float x : {1.0F, -1.0F})
            for (const float y : {1.0F, -1.0F})
                for (const float z : {1.0F, -1.0F}) {
                    const auto first = static_cast<std::uint32_t>(positions.size());
                    positions.insert(positions.end(),
                                     {QVector3D(x * size, 0, 0), QVector3D(0, y * size, 0),
                                      QVector3D(0, 0, z * size)});
                    const bool isTurned = x * y * z < 0;
                    triangles.push_back({first, isTurned ? first + 2 : first + 1,
                                         isTurned ? first + 1 : first + 2});
                }
        const auto normals =
            smoothNormals(positions, triangles, findTopology(positions, triangles));
        for (std::size_t i = 0; i < positions.size(); ++i)
            QVERIFY((normals[i] - positions[i] / size).length() < 1e-5F);
    }
};

VERGENCE_TEST(MeshTopologyTest)
#include "tst_mesh_topology.moc"
