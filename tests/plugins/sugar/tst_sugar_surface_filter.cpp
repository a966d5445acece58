#include <cmath>
#include <limits>

#include <QTest>

#include "core/base/error.h"
#include "plugins/sugar/surface/surface_filter.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

SurfacePoints pointsAt(const std::vector<std::array<float, 3>>& places)
{
    SurfacePoints points;
    for (const auto& place : places) {
        points.position.insert(points.position.end(), place.begin(), place.end());
        points.normal.insert(points.normal.end(), {0, 0, 1});
        points.colour.insert(points.colour.end(), {10, 20, 30});
        points.level.push_back(0);
    }
    return points;
}

/// A square of n × n points a tenth apart.
std::vector<std::array<float, 3>> square(int n)
{
    std::vector<std::array<float, 3>> places;
    for (int i = 0; i < n * n; ++i)
        places.push_back({0.1F * static_cast<float>(i % n), 0.1F * static_cast<float>(i / n), 0});
    return places;
}

} // namespace

/// What is kept of surface points, and what a box calls foreground.
class TestSugarSurfaceFilter : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void boxesPartTheWorld()
    {
        std::vector<Camera> cameras = {lookingAt({2, 0, 0}, {0, 0, 0}, {0, 0, 1}, 50, 10, 10),
                                       lookingAt({0, 2, 3}, {0, 0, 0}, {0, 0, 1}, 50, 10, 10)};
        const SceneBox box = boxAround(cameras, 2);
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(std::abs(box.centre[i] - (i < 2 ? 1.0 : 1.5)) < 1e-12);
        QVERIFY(box.regionOf({2.9, 1, 1.5}) == Region::Foreground);
        QVERIFY(box.regionOf({3.1, 1, 1.5}) == Region::Background);
        QVERIFY(box.regionOf({1, 1, 9.4}) == Region::Background);
        QVERIFY(box.regionOf({1, 1, 9.6}) == Region::Outside);
        QVERIFY(box.regionOf({1, std::nan(""), 1}) == Region::Outside);
        QCOMPARE(box.voxelOf(Region::Foreground, 7), 4.0 / 128);
        QCOMPARE(box.voxelOf(Region::Background, 7), 16.0 / 128);
        const SceneBox alone = boxAround(cameras, 2, false);
        QVERIFY(alone.regionOf({3.1, 1, 1.5}) == Region::Outside);
        QVERIFY_EXCEPTION_THROWN(boxAround({}, 1), ContractError);
        QVERIFY_EXCEPTION_THROWN(boxAround(cameras, 0), ContractError);
        QVERIFY_EXCEPTION_THROWN(box.voxelOf(Region::Foreground, 0), ContractError);
    }

    void pointsAreKeptByRegion()
    {
        SceneBox box;
        box.halfSize = {1, 2, 1};
        const SurfacePoints points = pointsAt({{0, 1.5F, 0}, {1.5F, 0, 0}, {0, 0, 5}});
        QCOMPARE(insideRegion(points, box, Region::Foreground).position,
                 (std::vector<float>{0, 1.5F, 0}));
        QCOMPARE(insideRegion(points, box, Region::Background).count(), Index(1));
        QCOMPARE(insideRegion({}, box, Region::Foreground).count(), Index(0));
    }

    void outliersGo()
    {
        auto places = square(20);
        places.push_back({1, 1, 3});
        const SurfacePoints points = pointsAt(places);
        QCOMPARE(withoutOutliers(points, {.deviations = 2}).count(), Index(400));
        QCOMPARE(withoutOutliers(points, {}).count(), Index(401)); // the default is weak
        auto farther = square(40);
        farther.push_back({100, 100, 100});
        QCOMPARE(withoutOutliers(pointsAt(farther), {}).count(), Index(1600));
        QCOMPARE(withoutOutliers(points, {}, [] { return true; }).count(), Index(0));
        QCOMPARE(withoutOutliers(pointsAt({{0, 0, 0}, {9, 9, 9}}), {}).count(), Index(2));
        QCOMPARE(withoutOutliers({}, {}).count(), Index(0));
        // All at one place: no deviation, none goes.
        QCOMPARE(withoutOutliers(pointsAt({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}), {}).count(),
                 Index(3));
        QVERIFY_EXCEPTION_THROWN(withoutOutliers(points, {.neighbours = 0}), ContractError);
    }

    void badNormalsGo()
    {
        SurfacePoints points = pointsAt(square(3));
        points.normal[0] = std::numeric_limits<float>::quiet_NaN();
        points.normal[5] = 0;
        points.normal[8] = 1.005F;
        points.position[9] = std::numeric_limits<float>::infinity();
        const SurfacePoints kept = withoutBadNormals(points);
        QCOMPARE(kept.count(), Index(6));
        QCOMPARE(kept.normal[2], 1.005F);
    }

    void thinningTakesMeans()
    {
        SurfacePoints points =
            pointsAt({{0.1F, 0.1F, 0.1F}, {0.3F, 0.3F, 0.1F}, {0.2F, 0.2F, 0.1F}, {1.5F, 0, 0}});
        points.colour[0] = 50;
        points.normal[8] = -1; // seen from the other side
        points.level[3] = 1;
        const SurfacePoints fewer = thinned(points, 1);
        QCOMPARE(fewer.count(), Index(3));
        QVERIFY(std::abs(fewer.position[0] - 0.2F) < 1e-6F);
        QCOMPARE(int(fewer.colour[0]), 30);
        QCOMPARE(fewer.normal[2], 1.0F);
        QCOMPARE(fewer.normal[5], -1.0F);
        QCOMPARE(int(fewer.level[2]), 1);
        QCOMPARE(thinned(pointsAt(square(20)), 0.01).count(), Index(400));
        QVERIFY(thinned(pointsAt(square(20)), 0.5).count() <= 25);
        QVERIFY_EXCEPTION_THROWN(thinned(points, 0), ContractError);
    }
};

VERGENCE_TEST(TestSugarSurfaceFilter)
#include "tst_sugar_surface_filter.moc"
