#include <QTest>

#include <cmath>
#include <set>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/texture/chart_atlas.h"
#include "plugins/sugar/texture/skyline.h"
#include "plugins/sugar/texture/texel_owners.h"
#include "tests/plugins/sugar/texture_support.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::test;
using namespace vergence::test;

namespace {

/// A band that winds up once and a half around the z axis: seen from above it would lie over
/// itself.
TriangleMesh spiral()
{
    TriangleMesh mesh;
    constexpr int kSteps = 60;
    for (int i = 0; i <= kSteps; ++i) {
        const double angle = 3 * 3.14159265358979323846 * i / kSteps;
        for (const double radius : {1.0, 1.5})
            for (const double x : {radius * std::cos(angle), radius * std::sin(angle), 0.02 * i})
                mesh.position.push_back(static_cast<float>(x));
    }
    for (std::uint32_t i = 0; i < kSteps; ++i)
        mesh.triangle.insert(mesh.triangle.end(),
                             {2 * i, 2 * i + 1, 2 * i + 3, 2 * i, 2 * i + 3, 2 * i + 2});
    return mesh;
}

/// The largest number of triangles that a texel's centre lies inside of, clear of their edges.
int mostOver(const TextureAtlas& atlas)
{
    std::vector<int> count(static_cast<std::size_t>(atlas.side) *
                           static_cast<std::size_t>(atlas.side));
    int most = 0;
    for (Index f = 0; f < static_cast<Index>(atlas.uv.size() / 6); ++f) {
        const TexelTriangle t(atlas, f);
        for (int y = static_cast<int>(t.top()); y < t.bottom(); ++y) {
            for (int x = static_cast<int>(t.left()); x < t.right(); ++x) {
                double least = 1e9;
                for (std::size_t k = 0; k < 3; ++k) {
                    const double ex = t.x[(k + 1) % 3] - t.x[k], ey = t.y[(k + 1) % 3] - t.y[k];
                    const double turn = t.area < 0 ? -1 : 1;
                    least =
                        std::min(least, turn * (ex * (y + 0.5 - t.y[k]) - ey * (x + 0.5 - t.x[k])) /
                                            std::hypot(ex, ey));
                }
                if (least > 0.05)
                    most = std::max(most, ++count[static_cast<std::size_t>(y * atlas.side + x)]);
            }
        }
    }
    return most;
}

} // namespace

class TestSugarChartAtlas : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void boxesDoNotOverlap()
    {
        std::vector<PackedBox> boxes;
        for (int i = 0; i < 60; ++i)
            boxes.push_back({5 + i * 7 % 23, 4 + i * 11 % 31});
        QVERIFY(packUnderSkyline(boxes, 200));
        for (std::size_t a = 0; a < boxes.size(); ++a) {
            const PackedBox& p = boxes[a];
            QVERIFY(p.x >= 0 && p.y >= 0 && p.x + p.width <= 200 && p.y + p.height <= 200);
            for (std::size_t b = 0; b < a; ++b) {
                const PackedBox& q = boxes[b];
                QVERIFY(p.x + p.width <= q.x || q.x + q.width <= p.x || p.y + p.height <= q.y ||
                        q.y + q.height <= p.y);
            }
        }
        QVERIFY(!packUnderSkyline(boxes, 80));
        std::vector<PackedBox> exact(16, {25, 25});
        QVERIFY(packUnderSkyline(exact, 100)); // without a gap
        QVERIFY(!packUnderSkyline(exact, 99));
    }

    void chartsKeepShapeAndFaceOneWay_data()
    {
        QTest::addColumn<double>("degrees");
        QTest::newRow("30") << 30.0;
        QTest::newRow("60") << 60.0;
    }
    void chartsKeepShapeAndFaceOneWay()
    {
        QFETCH(double, degrees);
        const TriangleMesh mesh = sphereMesh(24);
        ChartSettings settings;
        settings.largestSide = 512;
        settings.deviationDegrees = degrees;
        const ChartAtlas charts = chartAtlas(mesh, settings);
        QVERIFY2(charts.charts >= 4 && charts.charts <= 200,
                 qPrintable(QString::number(charts.charts)));
        QVERIFY(charts.atlas.side <= 512 && charts.atlas.side > 400);
        QVERIFY2(charts.covered > 0.4, qPrintable(QString::number(charts.covered)));
        for (const float place : charts.atlas.uv)
            QVERIFY(place > 0 && place < 1);
        const double least = std::cos(degrees * 3.14159265358979323846 / 180);
        for (Index f = 0; f < mesh.faces(); ++f) {
            const double real = norm(faceVector(mesh, static_cast<std::size_t>(f))) *
                                charts.texelsPerUnit * charts.texelsPerUnit;
            const double area = -TexelTriangle(charts.atlas, f).area; // y points down
            QVERIFY(area > (least - 1e-3) * real && area < 1.001 * real);
        }
        QCOMPARE(mostOver(charts.atlas), 1);
    }

    void piecesThatWouldOverlapAreParted()
    {
        const ChartAtlas charts = chartAtlas(spiral(), {256});
        QVERIFY2(charts.charts >= 2 && charts.charts < 30,
                 qPrintable(QString::number(charts.charts)));
        QCOMPARE(mostOver(charts.atlas), 1);
    }

    void flatMeshesAreOneChart()
    {
        const ChartAtlas charts = chartAtlas(gridMesh(8, 3), {1024, 40});
        QCOMPARE(charts.charts, Index{1});
        QCOMPARE(charts.texelsPerUnit, 40.0);
        QVERIFY(charts.atlas.side >= 125 && charts.atlas.side < 135);
        QVERIFY(charts.covered > 0.8);
    }

    void finerTexturesTakeMorePages()
    {
        const TriangleMesh mesh = sphereMesh(24);
        ChartSettings settings;
        settings.largestSide = 256;
        settings.texelsPerUnit = 120;
        settings.mostPages = 16;
        const ChartAtlas charts = chartAtlas(mesh, settings);
        QCOMPARE(charts.texelsPerUnit, 120.0);
        QCOMPARE(charts.atlas.side, 256);
        QVERIFY(charts.atlas.pages > 2 && charts.atlas.pages <= 16);
        std::set<int> used(charts.atlas.page.begin(), charts.atlas.page.end());
        QCOMPARE(static_cast<int>(used.size()), charts.atlas.pages);
        for (int page = 0; page < charts.atlas.pages; ++page)
            QCOMPARE(mostOver(pageOf(charts.atlas, page)), 1);
        settings.mostPages = 2; // there is less room, and less density
        QVERIFY(chartAtlas(mesh, settings).texelsPerUnit < 120);
        settings.mostPages = 16;
        settings.largestSide = 4096;
        QVERIFY(chartAtlas(mesh, settings).atlas.page.empty());
    }

    void stopEndsTheUnfolding()
    {
        int asked = 0;
        chartAtlas(sphereMesh(24), {512}, [&] { return ++asked > 2; });
        QVERIFY(asked > 2 && asked < 6);
    }

    void linearFieldIsReproducedOnCharts()
    {
        const TriangleMesh mesh = gridMesh(3);
        const TextureAtlas atlas = chartAtlas(mesh, {64}).atlas;
        const TexturedMesh textured =
            baked(mesh, atlas, {planeView(aboveCamera(300), linearField)});
        double worst = 0;
        for (std::uint64_t i = 0; i < 1000; ++i) {
            const Probe probe(textured, i % 18, randomBarycentric(i));
            const double border =
                std::min({probe.place[0], probe.place[1], 1 - probe.place[0], 1 - probe.place[1]});
            if (border > 0.03) // at the rim the neighbours repeat the last texel
                worst = std::max(worst, largestError(probe.colour, linearField(probe.place)));
        }
        QVERIFY2(worst <= 1.0 / 255, qPrintable(QString("%1 of 255").arg(255 * worst)));
    }

    void whatDoesNotFitIsRefused()
    {
        VERGENCE_THROWS(InputError, "cannot hold", chartAtlas(sphereMesh(8), {12}));
        VERGENCE_THROWS(InputError, "without area", chartAtlas({}));
    }
};

QTEST_GUILESS_MAIN(TestSugarChartAtlas)
#include "tst_sugar_chart_atlas.moc"
