#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

ScenePoint pointAt(double x, double y, double z)
{
    return {{x, y, z}, {51, 128, 255}, 0.5, 3};
}

bool isNear(double a, double b, double tolerance = 1e-6)
{
    return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

} // namespace

class SugarInitialCloudTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void valuesFollowTheRule();
    void scaleIsRootMeanSquareOfThreeNearest();
    void scaleStaysWithinItsBounds();
    void fewPointsWork();
    void closePointsAreMerged();
    void coincidentPointsAreMerged();
    void doubtfulPointsGoWhileEnoughRemain();
    void neighboursEqualBruteForce();
    void randomCloudFillsItsCube();
    void foxBecomesFiniteGaussians();
};

void SugarInitialCloudTest::valuesFollowTheRule()
{
    const GaussianCloud cloud =
        initialCloud({pointAt(1, 2, 3), pointAt(2, 2, 3), pointAt(1, 3, 3), pointAt(1, 2, 4)}, 100);
    QCOMPARE(cloud.count(), 4);
    QCOMPARE(cloud.degree, 0);
    QVERIFY(cloud.shRest.empty());
    QVERIFY(cloud.filter.empty());
    QCOMPARE(cloud.position[2], 3.0F);
    QVERIFY(isNear(cloud.opacity[0], -2.1972246));
    QVERIFY(isNear(cloud.shDc[0], -1.0634723)); // (0.2 − 0.5)/C0, specification 17.5
    QCOMPARE(cloud.rotation[0], 1.0F);
    QCOMPARE(cloud.rotation[3], 0.0F);
    QVERIFY(isNear(cloud.logScale[0], 0.0, 1e-7)); // three neighbours at distance 1
}

void SugarInitialCloudTest::scaleIsRootMeanSquareOfThreeNearest()
{
    const GaussianCloud cloud = initialCloud(
        {pointAt(0, 0, 0), pointAt(1, 0, 0), pointAt(0, 2, 0), pointAt(0, 0, 3), pointAt(50, 0, 0)},
        1e4, 0.5, 0.1);
    QVERIFY(isNear(cloud.logScale[0], std::log(0.1 * std::sqrt((1 + 4 + 9) / 3.0))));
    QVERIFY(isNear(cloud.opacity[0], 0));
}

void SugarInitialCloudTest::scaleStaysWithinItsBounds()
{
    const GaussianCloud wide =
        initialCloud({pointAt(0, 0, 0), pointAt(100, 0, 0), pointAt(0, 100, 0)}, 10);
    QVERIFY(isNear(wide.logScale[0], 0)); // 0.1 extents
    const GaussianCloud narrow =
        initialCloud({pointAt(0, 0, 0), pointAt(1e-9, 0, 0), pointAt(0, 1e-9, 0)}, 1e-3);
    QVERIFY(isNear(narrow.logScale[0], std::log(1e-7)));
}

void SugarInitialCloudTest::fewPointsWork()
{
    QCOMPARE(initialCloud({}, 1).count(), 0);
    const GaussianCloud one = initialCloud({pointAt(0, 0, 0)}, 10);
    QCOMPARE(one.count(), 1);
    QVERIFY(isNear(one.logScale[0], 0));
    const GaussianCloud two = initialCloud({pointAt(0, 0, 0), pointAt(0.5, 0, 0)}, 10);
    QVERIFY(isNear(two.logScale[3], std::log(0.5)));
    QVERIFY_THROWS_EXCEPTION(ContractError, initialCloud({}, 0));
}

void SugarInitialCloudTest::closePointsAreMerged()
{
    const GaussianCloud cloud = initialCloud(
        {pointAt(0, 0, 0), pointAt(5e-8, 0, 0), pointAt(2e-7, 0, 0), pointAt(1, 0, 0)}, 1);
    QCOMPARE(cloud.count(), 3);
    QCOMPARE(cloud.position[3], 2e-7F);
}

void SugarInitialCloudTest::coincidentPointsAreMerged()
{
    std::vector<ScenePoint> points(5000, pointAt(1, 2, 3));
    points.push_back(pointAt(2, 2, 3));
    points[0].colour = {9, 9, 9};
    const GaussianCloud cloud = initialCloud(points, 1);
    QCOMPARE(cloud.count(), 2);
    QVERIFY(isNear(cloud.shDc[0], (9 / 255.0 - 0.5) / 0.28209479177387814)); // the first stays
}

void SugarInitialCloudTest::doubtfulPointsGoWhileEnoughRemain()
{
    const auto grid = [](int count) {
        std::vector<ScenePoint> points;
        for (int i = 0; i < count; ++i)
            points.push_back(pointAt(i % 100, i / 100 % 100, i / 10'000));
        return points;
    };
    auto few = grid(10'000);
    few[0].error = 9;
    QCOMPARE(initialCloud(few, 100).count(), 10'000);
    auto many = grid(10'500);
    for (std::size_t i = 0; i < 300; ++i)
        many[i].error = 4.5;
    for (std::size_t i = 300; i < 400; ++i)
        many[i].trackLength = 1;
    QCOMPARE(initialCloud(many, 100).count(), 10'100);
    for (std::size_t i = 0; i < 700; ++i)
        many[i].error = 5 + static_cast<double>(i);
    const GaussianCloud cloud = initialCloud(many, 100);
    QCOMPARE(cloud.count(), 10'000); // 9,800 good ones and the 200 of smallest error
    for (auto& point : many)
        point.trackLength = 0; // unknown, as in a PLY file
    for (auto& point : many)
        point.error = 0;
    QCOMPARE(initialCloud(many, 100).count(), 10'500);
}

void SugarInitialCloudTest::neighboursEqualBruteForce()
{
    const GaussianCloud cloud = randomCloud(700, {0, 0, 0}, 1, 100, 5);
    for (std::size_t i = 0; i < 700; ++i) {
        std::vector<double> squared;
        for (std::size_t j = 0; j < 700; ++j) {
            double sum = 0;
            for (std::size_t axis = 0; axis < 3; ++axis)
                sum += std::pow(static_cast<double>(cloud.position[3 * i + axis]) -
                                    cloud.position[3 * j + axis],
                                2);
            squared.push_back(sum);
        }
        std::sort(squared.begin(), squared.end());
        const double expected =
            0.5 * std::log((squared[1] + squared[2] + squared[3]) / 3); // squared[0] is itself
        QVERIFY(isNear(cloud.logScale[3 * i], expected, 1e-4)); // positions are rounded to floats
    }
}

void SugarInitialCloudTest::randomCloudFillsItsCube()
{
    const GaussianCloud cloud = randomCloud(20'000, {1, 2, 3}, 0.5, 1, 7);
    QCOMPARE(cloud.count(), 20'000);
    double mean = 0;
    for (std::size_t i = 0; i < 20'000; ++i) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const double offset = cloud.position[3 * i + axis] - (1.0 + static_cast<double>(axis));
            QVERIFY(std::abs(offset) <= 0.5);
            mean += offset / 60'000;
        }
        QCOMPARE(cloud.shDc[3 * i], 0.0F);
    }
    QVERIFY(std::abs(mean) < 5 * 0.2887 / std::sqrt(60'000)); // five standard errors
    QVERIFY(cloud.position == randomCloud(20'000, {1, 2, 3}, 0.5, 1, 7).position);
    QVERIFY(cloud.position != randomCloud(20'000, {1, 2, 3}, 0.5, 1, 8).position);
}

void SugarInitialCloudTest::foxBecomesFiniteGaussians()
{
    VERGENCE_DATA_FOLDER(fox, "fox");
    const Scene scene = readScene(fox);
    std::vector<Camera> cameras;
    for (const SourceView& view : scene.views)
        cameras.push_back(pinholeCamera(scene.cameras[0], view));
    const double extent = sceneExtent(cameras, scene.points);
    QVERIFY(extent > 1 && extent < 20);
    const GaussianCloud cloud = initialCloud(scene.points, extent);
    QVERIFY(cloud.count() > 9'000 && cloud.count() <= 11'969);
    for (const float scale : cloud.logScale)
        QVERIFY(std::isfinite(scale) && scale <= std::log(0.1 * extent) + 1e-5);
}

VERGENCE_TEST(SugarInitialCloudTest)
#include "tst_sugar_initial_cloud.moc"
