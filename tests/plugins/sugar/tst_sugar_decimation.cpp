#include <algorithm>
#include <cmath>
#include <limits>

#include <QTest>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/mesh/collapse_queue.h"
#include "plugins/sugar/mesh/decimation.h"
#include "plugins/sugar/mesh/mesh_cleaning.h"
#include "plugins/sugar/mesh/mesh_quality.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "tests/plugins/sugar/mesh_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

namespace {

DecimationSettings downTo(Index triangles)
{
    DecimationSettings settings;
    settings.triangles = triangles;
    return settings;
}

} // namespace

/// Decimation: targets are met, the surface stays where and what it was.
class TestSugarDecimation : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theQueueGivesTheCheapestFirst()
    {
        const Rng rng(2);
        for (const std::uint32_t count : {1U, 2U, 5U, 6U, 33U, 1000U}) {
            CollapseQueue queue;
            std::vector<float> costs;
            for (std::uint32_t i = 0; i < count; ++i) {
                costs.push_back(static_cast<float>(rng.bits(i) % 100)); // many alike
                queue.push({costs.back(), i, i + 1, 0});
            }
            std::sort(costs.begin(), costs.end());
            std::vector<std::uint32_t> seen;
            for (const float cost : costs) {
                const CollapseCandidate candidate = queue.pop();
                QCOMPARE(candidate.cost, cost);
                seen.push_back(candidate.a);
            }
            QVERIFY(queue.isEmpty());
            std::sort(seen.begin(), seen.end());
            QVERIFY(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
        }
    }

    void aSphereStaysASphere()
    {
        const TriangleMesh sphere = octahedralSphere(6); // 32,768
        const TriangleMesh fewer = decimated(sphere, downTo(5000));
        QVERIFY(fewer.faces() <= 5000 && fewer.faces() >= 4998);
        const MeshQuality quality = measured(fewer);
        QCOMPARE(quality.eulerNumber, Index(2));
        QVERIFY(quality.isClosed());
        QCOMPARE(quality.nonManifoldVertices, Index(0));
        QCOMPARE(quality.windingConflicts, Index(0));
        QCOMPARE(quality.intersectingFaces, Index(0));
        QVERIFY2(quality.meanAspect > 0.8, qPrintable(QString::number(quality.meanAspect)));
        const double volume = 4 * std::numbers::pi / 3;
        QVERIFY(std::abs(quality.volume - volume) < 0.002 * volume);
        for (std::uint32_t v = 0; v < static_cast<std::uint32_t>(fewer.vertices()); ++v)
            QVERIFY(std::abs(norm(vertexOf(fewer, v)) - 1) < 0.002);
        for (std::size_t f = 0; f < static_cast<std::size_t>(fewer.faces()); ++f)
            QVERIFY(dot(faceVector(fewer, f), vertexOf(fewer, fewer.triangle[3 * f])) > 0);
    }

    void aSphereEndsAsATetrahedronAtTheLeast()
    {
        const TriangleMesh least = decimated(octahedralSphere(3), downTo(0));
        QVERIFY(least.faces() >= 4);
        QVERIFY(least.faces() <= 40); // faces may not turn by more than 80°
        const MeshEdges edges = edgesOf(least);
        QCOMPARE(eulerNumber(least, edges), Index(2));
        QVERIFY(nonManifoldEdges(edges).empty());
    }

    void aPlaneKeepsItsOutline()
    {
        const TriangleMesh fewer = decimated(flatGrid(20), downTo(40));
        QVERIFY(fewer.faces() <= 40);
        const MeshQuality quality = measured(fewer);
        QVERIFY(std::abs(quality.area - 1) < 1e-5);
        QCOMPARE(quality.boundaryLoops, Index(1));
        QVERIFY(std::abs(quality.low[0]) < 1e-5 && std::abs(quality.high[1] - 1) < 1e-5);
        QVERIFY(std::abs(quality.high[2] - quality.low[2]) < 1e-6);
        for (std::size_t f = 0; f < static_cast<std::size_t>(fewer.faces()); ++f)
            QVERIFY(faceVector(fewer, f).z > 0); // none has turned over
    }

    void aCubeKeepsItsCorners()
    {
        TriangleMesh fine; // six grids, joined at the edges
        const TriangleMesh grid = flatGrid(8);
        for (int side = 0; side < 6; ++side) {
            const auto base = static_cast<std::uint32_t>(fine.vertices());
            for (std::size_t i = 0; i < grid.position.size(); i += 3) {
                float p[3];
                const int axis = side / 2;
                p[axis] = static_cast<float>(side % 2);
                p[(axis + 1) % 3] = grid.position[i];
                p[(axis + 2) % 3] = grid.position[i + 1];
                fine.position.insert(fine.position.end(), p, p + 3);
            }
            for (std::size_t i = 0; i < grid.triangle.size(); i += 3) {
                const std::size_t second = side % 2 == 1 ? 1 : 2, third = 3 - second;
                for (const std::size_t k : {std::size_t{0}, second, third})
                    fine.triangle.push_back(base + grid.triangle[i + k]);
            }
        }
        mergeDuplicateVertices(fine);
        QCOMPARE(signedVolume(fine), 1.0);
        const TriangleMesh fewer = decimated(fine, downTo(12));
        QVERIFY(fewer.faces() <= 16);
        QVERIFY(std::abs(signedVolume(fewer) - 1) < 1e-3);
    }

    void coloursKeepTheirEdge()
    {
        // A flat square, black on the left and white on the right: with the term, the border of
        // the colours stays where it was.
        TriangleMesh mesh = flatGrid(24);
        for (std::uint32_t v = 0; v < static_cast<std::uint32_t>(mesh.vertices()); ++v) {
            for (int k = 0; k < 3; ++k)
                mesh.colour.push_back(vertexOf(mesh, v).x > 0.49 ? 255 : 0);
        }
        const auto misplaced = [&](double colour) {
            DecimationSettings settings = downTo(120);
            settings.colour = colour;
            const TriangleMesh fewer = decimated(mesh, settings);
            double wrong = 0;
            for (std::uint32_t v = 0; v < static_cast<std::uint32_t>(fewer.vertices()); ++v) {
                const double x = vertexOf(fewer, v).x, wanted = x > 0.5 - 1e-3 ? 1 : 0;
                const bool isOnBorder = x > 0.45 && x < 0.505; // between the two columns
                wrong += isOnBorder ? 0 : std::abs(fewer.colour[3 * v] / 255.0 - wanted);
            }
            return wrong;
        };
        const double with = misplaced(0.05), without = misplaced(0);
        QVERIFY2(with < 0.5 && with < 0.2 * without,
                 qPrintable(QString("%1 %2").arg(with).arg(without)));
    }

    void smallMeshesComeBackAsTheyAre()
    {
        const TriangleMesh mesh = cube();
        const TriangleMesh same = decimated(mesh, downTo(12));
        QCOMPARE(same.triangle, mesh.triangle);
        QCOMPARE(same.position, mesh.position);
        QCOMPARE(decimated({}, downTo(0)).faces(), Index(0));
    }

    void brokenMeshesSurvive()
    {
        for (const TriangleMesh& mesh : {bowTie(), fin(), moebiusStrip(), openQuad()}) {
            const TriangleMesh fewer = decimated(mesh, downTo(1));
            QVERIFY(fewer.faces() >= 1 && fewer.faces() <= mesh.faces());
            QVERIFY(nonManifoldEdges(edgesOf(fewer)).size() <=
                    nonManifoldEdges(edgesOf(mesh)).size());
        }
    }

    void resultsRepeatAndStops()
    {
        const TriangleMesh sphere = octahedralSphere(4);
        const TriangleMesh once = decimated(sphere, downTo(500));
        QCOMPARE(decimated(sphere, downTo(500)).position, once.position);
        const TriangleMesh stopped = decimated(sphere, downTo(500), [] { return true; });
        QCOMPARE(stopped.faces(), sphere.faces());
    }

    void badInputIsRefused()
    {
        TriangleMesh bad = openQuad();
        bad.position[4] = std::numeric_limits<float>::infinity();
        QVERIFY_EXCEPTION_THROWN(decimated(bad, downTo(1)), ContractError);
        QVERIFY_EXCEPTION_THROWN(decimated(openQuad(), downTo(-1)), ContractError);
        DecimationSettings turn = downTo(1);
        turn.largestTurn = 0;
        QVERIFY_EXCEPTION_THROWN(decimated(openQuad(), turn), ContractError);
    }
};

VERGENCE_TEST(TestSugarDecimation)
#include "tst_sugar_decimation.moc"
