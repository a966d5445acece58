#include <QTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/texture/chart_atlas.h"
#include "plugins/sugar/texture/shape_packing.h"
#include "plugins/sugar/texture/texel_owners.h"
#include "tests/plugins/sugar/texture_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
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

/// A box with holes and a ragged edge; 0: whole.
TexelShape blot(int width, int height, int pattern = 0)
{
    std::vector<unsigned char> mask;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x)
            mask.push_back(pattern == 0 || (x * y + pattern * x + y) % (2 + pattern % 5) != 1);
    }
    return {width, height, mask};
}

/// Whether all shapes lie on pages and no two have a texel in common.
bool areApart(const std::vector<TexelShape>& shapes, const std::vector<ShapePlace>& places,
              int side)
{
    std::set<std::array<int, 3>> taken;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        for (const TexelRun& run : turned(shapes[i], places[i].quarterTurns).runs) {
            const int y = places[i].y + run.row;
            for (int x = places[i].x + run.begin; x < places[i].x + run.end; ++x) {
                if (x < 0 || y < 0 || x >= side || y >= side ||
                    !taken.insert({places[i].page, x, y}).second)
                    return false;
            }
        }
    }
    return true;
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
    void shapesDoNotOverlap()
    {
        std::vector<TexelShape> shapes;
        for (int i = 0; i < 80; ++i)
            shapes.push_back(blot(5 + i * 7 % 70, 4 + i * 11 % 31, i));
        std::vector<ShapePlace> places;
        QCOMPARE(packShapes(shapes, 250, 1, places), 1);
        QVERIFY(areApart(shapes, places, 250));
        QCOMPARE(packShapes(shapes, 110, 1, places), 0);
        const int pages = packShapes(shapes, 110, 8, places);
        QVERIFY2(pages > 2 && pages < 8, qPrintable(QString::number(pages)));
        QVERIFY(areApart(shapes, places, 110));
        QCOMPARE(packShapes(shapes, 60, 80, places), 0); // some are larger than a page
        QCOMPARE(packShapes(shapes, 250, 1, places, [] { return true; }), 0);
    }

    void boxesLieWithoutAGap()
    {
        std::vector<ShapePlace> places;
        const std::vector<TexelShape> boxes(16, blot(25, 25));
        QCOMPARE(packShapes(boxes, 100, 1, places), 1);
        QVERIFY(areApart(boxes, places, 100));
        QCOMPARE(packShapes(boxes, 99, 1, places), 0);
    }

    /// A square with a notch of a quarter: two fit where one box and a half would.
    void shapesReachIntoEachOther()
    {
        std::vector<unsigned char> mask(400, 1);
        for (std::size_t y = 10; y < 20; ++y)
            std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(20 * y + 10), 10, 0);
        std::vector<TexelShape> shapes(12, TexelShape(20, 20, mask)); // nine would fit as boxes
        std::vector<ShapePlace> places;
        QCOMPARE(packShapes(shapes, 60, 1, places), 1);
        QVERIFY(areApart(shapes, places, 60));
    }

    void smallShapesLieInGapsOfLargeOnes()
    {
        std::vector<unsigned char> ring(3'600, 1);
        for (std::size_t y = 20; y < 40; ++y)
            std::fill_n(ring.begin() + static_cast<std::ptrdiff_t>(60 * y + 20), 20, 0);
        const std::vector<TexelShape> shapes{TexelShape(60, 60, ring), blot(20, 20)};
        std::vector<ShapePlace> places;
        QCOMPARE(packShapes(shapes, 60, 1, places), 1);
        QCOMPARE(places[1].x, 20);
        QCOMPARE(places[1].y, 20);
    }

    void turnedPointsStayInTheirTexels()
    {
        const TexelShape shape = blot(9, 6, 3);
        for (int turns = 0; turns < 4; ++turns) {
            const TexelShape other = turned(shape, turns);
            QCOMPARE(other.area(), shape.area());
            std::set<std::pair<int, int>> texels;
            for (const TexelRun& run : other.runs) {
                for (int x = run.begin; x < run.end; ++x)
                    texels.insert({x, run.row});
            }
            for (const TexelRun& run : shape.runs) {
                const auto at = turned(shape, turns, {run.begin + 0.2, run.row + 0.7});
                QVERIFY(texels.contains({static_cast<int>(at[0]), static_cast<int>(at[1])}));
            }
        }
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

VERGENCE_TEST(TestSugarChartAtlas)
#include "tst_sugar_chart_atlas.moc"
