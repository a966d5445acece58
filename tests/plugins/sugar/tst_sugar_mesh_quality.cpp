#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include <QTest>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/mesh/mesh_quality.h"
#include "plugins/sugar/mesh/self_intersection.h"
#include "tests/plugins/sugar/mesh_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

namespace {

/// Aspect of a right triangle with two sides of 1: 4·√3·½ over 1 + 1 + 2.
const double kRightAspect = std::sqrt(3.0) / 2;

} // namespace

/// The measures of the quality table on meshes whose answers are known.
class TestSugarMeshQuality : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aCubeIsMeasured()
    {
        const MeshQuality quality = measured(cube());
        QCOMPARE(quality.vertices, Index(8));
        QCOMPARE(quality.edges, Index(18));
        QCOMPARE(quality.faces, Index(12));
        QCOMPARE(quality.eulerNumber, Index(2));
        QCOMPARE(quality.components, Index(1));
        QCOMPARE(quality.boundaryLoops, Index(0));
        QVERIFY(quality.isClosed());
        QCOMPARE(quality.area, 6.0);
        QCOMPARE(quality.volume, 1.0);
        QCOMPARE(quality.low, (std::array<double, 3>{0, 0, 0}));
        QCOMPARE(quality.high, (std::array<double, 3>{1, 1, 1}));
        QVERIFY(std::abs(quality.meanAspect - kRightAspect) < 1e-12);
        QCOMPARE(quality.lowAspectShare, 0.0);
        const double mean = (12 + 6 * std::sqrt(2.0)) / 18; // 12 sides, 6 diagonals
        QVERIFY(std::abs(quality.meanEdge - mean) < 1e-12);
        const double deviation = std::sqrt(24.0 / 18 - mean * mean);
        QVERIFY(std::abs(quality.edgeUniformity - (1 - deviation / mean)) < 1e-9);
        Index vertices = 0, ends = 0;
        for (std::size_t i = 0; i < quality.valence.size(); ++i) {
            vertices += quality.valence[i];
            ends += quality.valence[i] * static_cast<Index>(i + 3);
        }
        QCOMPARE(vertices, Index(8));
        QCOMPARE(ends, Index(36));
        QCOMPARE(quality.intersectingFaces, Index(0));
        QVERIFY(std::abs(quality.score -
                         (40 * kRightAspect + 20 + 20 * quality.edgeUniformity + 20)) < 1e-9);
        QCOMPARE(quality.label, std::string("excellent"));
    }

    void openAndBrokenMeshesAreTold()
    {
        const MeshQuality quad = measured(openQuad());
        QCOMPARE(quad.boundaryLoops, Index(1));
        QCOMPARE(quad.boundaryEdges, Index(4));
        QCOMPARE(quad.eulerNumber, Index(1));
        QVERIFY(!quad.isClosed());
        QCOMPARE(quad.volume, 0.0);
        const MeshQuality tie = measured(bowTie());
        QCOMPARE(tie.components, Index(2));
        QCOMPARE(tie.nonManifoldVertices, Index(1));
        QCOMPARE(tie.boundaryLoops, Index(2));
        const MeshQuality strip = measured(moebiusStrip());
        QCOMPARE(strip.eulerNumber, Index(0));
        QCOMPARE(strip.boundaryLoops, Index(1));
        QVERIFY(strip.windingConflicts > 0);
        const MeshQuality broken = measured(fin());
        QCOMPARE(broken.nonManifoldEdges, Index(1));
        QCOMPARE(broken.nonManifoldVertices, Index(2));
        QVERIFY(!broken.isClosed());
        QVERIFY(broken.score < quad.score);
    }

    void theBestTriangleHasTheScoreHundred()
    {
        const double height = std::sqrt(3.0) / 2;
        const MeshQuality quality =
            measured(meshOf({0, 0, 0, 1, 0, 0, 0.5F, static_cast<float>(height), 0}, {0, 1, 2}));
        QVERIFY(quality.score > 99.99);
        const MeshQuality sliver = measured(meshOf({0, 0, 0, 1, 0, 0, 0.5F, 0.01F, 0}, {0, 1, 2}));
        QCOMPARE(sliver.lowAspectShare, 1.0);
        QCOMPARE(sliver.label, std::string("poor"));
    }

    void facesThatCutEachOtherAreFound()
    {
        TriangleMesh mesh = cube();
        TriangleMesh shifted = cube();
        for (std::size_t i = 0; i < shifted.position.size(); ++i)
            shifted.position[i] += i % 3 == 0 ? 0.53F : i % 3 == 1 ? 0.31F : 0.2F;
        QCOMPARE(selfIntersections(mesh, 100).intersecting, Index(0));
        const SelfIntersections found = selfIntersections(joined(mesh, shifted), 100);
        QCOMPARE(found.sampled, Index(24));
        QVERIFY(found.intersecting >= 8);
        // A needle through one triangle: exactly those two are cut.
        const TriangleMesh needle =
            meshOf({0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2F, 0.2F, -1, 0.2F, 0.2F, 1, 0.25F, 0.2F, 1},
                   {0, 1, 2, 3, 4, 5});
        QCOMPARE(selfIntersections(needle, 10).intersecting, Index(2));
        QCOMPARE(selfIntersections(octahedralSphere(4), 500).intersecting, Index(0));
        QCOMPARE(selfIntersections(octahedralSphere(4), 500).sampled, Index(500));
    }

    void theTableComesBackFromJson()
    {
        const MeshQuality quality = measured(octahedralSphere(3));
        const nlohmann::json json = nlohmann::json::parse(toJson(quality).dump());
        const MeshQuality back = meshQualityFromJson(json);
        QCOMPARE(toJson(back).dump(), toJson(quality).dump());
        QCOMPARE(back.score, quality.score);
        QCOMPARE(back.valence, quality.valence);
    }

    void emptyAndUnsoundMeshes()
    {
        const MeshQuality none = measured({});
        QCOMPARE(none.score, 0.0);
        QCOMPARE(none.label, std::string("poor"));
        QVERIFY(!none.isClosed());
        TriangleMesh bad = openQuad();
        bad.position[0] = std::numeric_limits<float>::quiet_NaN();
        QVERIFY_EXCEPTION_THROWN(measured(bad), ContractError);
    }
};

VERGENCE_TEST(TestSugarMeshQuality)
#include "tst_sugar_mesh_quality.moc"
