#include <algorithm>
#include <array>
#include <cmath>

#include <QTest>

#include "core/base/error.h"
#include "plugins/light_field/compute/eye_view.h"
#include "plugins/light_field/compute/ground_truth.h"
#include "plugins/light_field/compute/optics_math.h"
#include "tests/plugins/light_field/light_field_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

namespace {

bool isNear(double value, double expected, double tolerance)
{
    return std::abs(value - expected) <= tolerance;
}

} // namespace

class TestLightFieldOptics : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void thinLensImagesPointToPoint();
    void eyeFocusesAllRaysOnItsDistance();
    void planesAreSeenAtTheirDistance_data();
    void planesAreSeenAtTheirDistance();
    void focalLengthsAreUniformInVergence();
    void seedPlanesAreMostlyUseless();
    void rayMeetsTheKnownPoints_data();
    void rayMeetsTheKnownPoints();
    void singleTexelStaysPutAndBlurs_data();
    void singleTexelStaysPutAndBlurs();
    void seedEyeBlursByMillimetres();
    void lensletsPassTheirArea();
    void samplePatternIsCentred();
    void adequacyGrowsWithRays();
    void collimatingLensletsHaveNoPlane();
    void impossibleDisplaysAreRefused();
    void rejectionsAreNamed();
    void heldOutStatesLieBetweenTrainingStates();
};

void TestLightFieldOptics::thinLensImagesPointToPoint()
{
    // f = 50, point at (3, −100): all rays meet at (−3, 100) behind.
    for (const double height : {-20.0, 0.0, 7.5, 40.0}) {
        const double slope = refract((height - 3.0) / 100, height, 1.0 / 50);
        QVERIFY(isNear(height + 100 * slope, -3.0, 1e-12));
    }
}

void TestLightFieldOptics::eyeFocusesAllRaysOnItsDistance()
{
    for (const double pupil : {-2.0, 0.7, 1.9}) {
        QVERIFY(isNear(1 + pupil + 200 * refract(0.1, pupil, 5.0 / 1000), 21.0, 1e-12));
        QCOMPARE(refract(0.1, pupil, 0.0), 0.1);
    }
    Optics optics;
    QVERIFY(isNear(eyeFocal(optics, 0), 24.0, 1e-9));
    QVERIFY(isNear(eyeFocal(optics, 5), 21.429, 1e-3));
    QVERIFY(isNear(eyeFocal(optics, 1000.0 / 150), 20.690, 1e-3));
}

void TestLightFieldOptics::planesAreSeenAtTheirDistance_data()
{
    QTest::addColumn<double>("distance");
    QTest::addColumn<double>("focal");
    const double rows[][2] = {{100, 63.636}, {120, 46.667}, {140, 40.645}, {150, 38.889},
                              {200, 34.426}, {220, 33.521}, {400, 30.435}, {HUGE_VAL, 28}};
    for (const auto& row : rows)
        QTest::addRow("%g mm", row[0]) << row[0] << row[1];
}

void TestLightFieldOptics::planesAreSeenAtTheirDistance()
{
    QFETCH(double, distance);
    QFETCH(double, focal);
    const Optics optics;
    const double exact = focalForDistance(optics, distance);
    QVERIFY(isNear(exact, focal, 1e-3));
    if (std::isfinite(distance))
        QVERIFY(isNear(seenDistance(optics, exact), distance, 1e-3));
    else
        QVERIFY(std::isinf(seenDistance(optics, 28.0)));
}

void TestLightFieldOptics::focalLengthsAreUniformInVergence()
{
    const Optics optics = demoOptics();
    const double expected[] = {40.645, 39.253, 38.021, 36.925, 35.942, 35.055, 34.252, 33.521};
    for (std::size_t k = 0; k < 8; ++k)
        QVERIFY(isNear(optics.focalLengths[k], expected[k], 1e-3));
    QVERIFY(widestPlaneSpacing(optics) < 0.6);
    QVERIFY(isNear(planeGeometry(optics, 0).slopeExtent, 0.232, 1e-3));
    QVERIFY(isNear(planeGeometry(optics, 7).slopeExtent, 0.284, 1e-3));
    const DepthRange range = checkerboardScene({}).depthRange();
    QCOMPARE(range.nearMm, 150.0);
    QCOMPARE(range.farMm, 200.0);
}

void TestLightFieldOptics::seedPlanesAreMostlyUseless()
{
    const Optics optics = seedOptics();
    const double vergences[] = {0, -13.4, 5.57, 8.61, 9.86, 10.53, 10.96, 11.25};
    for (int k = 2; k < 8; ++k)
        QVERIFY(isNear(planeGeometry(optics, k).vergence, vergences[k], 0.01));
    QVERIFY(isNear(planeGeometry(optics, 1).vergence, vergences[1], 0.1));
    QVERIFY(!planeGeometry(optics, 0).usable);
    QVERIFY(isNear(planeGeometry(optics, 0).distance, 34.4, 0.1));
}

void TestLightFieldOptics::rayMeetsTheKnownPoints_data()
{
    QTest::addColumn<double>("pupil");
    QTest::addColumn<double>("accommodation");
    QTest::addColumn<double>("lenslet");
    QTest::addColumn<double>("panel");
    QTest::addColumn<double>("texel");
    QTest::newRow("centre") << 0.0 << 5.0 << 9.0 << 3.466667 << 688.9933;
    QTest::newRow("rim, in focus") << 1.5 << 5.0 << 9.0 << 3.466667 << 688.9933;
    QTest::newRow("rim, too near") << 1.5 << 1000.0 / 150 << 9.0 << 3.56 << 693.772;
    QTest::newRow("rim, seed eye") << 1.5 << -1000.0 / 120 << 11.0 << 4.32 << 732.684;
}

void TestLightFieldOptics::rayMeetsTheKnownPoints()
{
    QFETCH(double, pupil);
    QFETCH(double, accommodation);
    QFETCH(double, lenslet);
    QFETCH(double, panel);
    QFETCH(double, texel);
    Optics optics = demoOptics();
    optics.panelResolution = 1024;
    AxisOptics axis = axisOptics(optics);
    axis.accommodation = accommodation / 1000;
    axis.inverseFocal = 1 / 34.42622951;
    const AxisRay ray = traceAxis(axis, 0.1, pupil);
    QCOMPARE(ray.lenslet, lenslet);
    QVERIFY(isNear(ray.position[3], panel, 1e-5));
    QVERIFY(isNear(ray.texel, texel, 1e-3));
    if (pupil == 0) {
        QVERIFY(isNear(ray.position[1], 5.0, 1e-6) && isNear(ray.slope[1], -0.045238, 1e-6));
        QVERIFY(isNear(ray.position[2], 3.642857, 1e-6) && isNear(ray.local, 0.042857, 1e-6));
        QVERIFY(isNear(ray.slope[2], -0.088095, 1e-6));
    }
}

void TestLightFieldOptics::singleTexelStaysPutAndBlurs_data()
{
    QTest::addColumn<double>("accommodation");
    QTest::addColumn<double>("brightest");
    QTest::newRow("5 D") << 5.0 << 0.339;
    QTest::newRow("5.833 D") << 5.0 + 5.0 / 6 << 0.133;
    QTest::newRow("6.667 D") << 1000.0 / 150 << 0.048;
}

void TestLightFieldOptics::singleTexelStaysPutAndBlurs()
{
    QFETCH(double, accommodation);
    QFETCH(double, brightest);
    const auto device = makeCpuDevice();
    const auto stream = device->createStream();
    Optics optics;
    optics.renderResolution = 512;
    optics.headroom = 1;
    optics.focalLengths = {focalForDistance(optics, 200)};
    std::vector<float> texels(512 * 512, 0.0f);
    texels[256 * 512 + 344] = 1.0f;
    const Tensor planes = Tensor::fromHost<float>(*stream, device, {1, 512, 512, 1}, texels);
    EyeRenderer renderer(*stream, device, optics, 64);
    const auto image =
        renderer.render(*stream, planes, {0, 0, accommodation}).toHost<float>(*stream);
    double sum = 0, sumX = 0, sumY = 0, peak = 0;
    for (int i = 0; i < 512; ++i) {
        for (int j = 0; j < 512; ++j) {
            const double tx = pixelSlopeX(optics, j), ty = pixelSlopeY(optics, i);
            if (std::abs(tx - 0.1) >= 0.004 || std::abs(ty) >= 0.004)
                continue;
            const double value = static_cast<double>(image[static_cast<std::size_t>(i * 512 + j)]);
            sum += value;
            sumX += value * tx;
            sumY += value * ty;
            peak = std::max(peak, value);
        }
    }
    QVERIFY(isNear(sumX / sum, 0.10026, 0.0002));
    QVERIFY(isNear(sumY / sum, -0.00052, 0.0002));
    QVERIFY2(isNear(peak, brightest, 0.1 * brightest), qPrintable(QString::number(peak)));
}

void TestLightFieldOptics::seedEyeBlursByMillimetres()
{
    // In the plane of the point; on the retina the first is 9.0 · 24 / 150 = 1.44 mm.
    const Optics optics = seedOptics();
    QVERIFY(isNear(blurCircle(optics, 30, 150), 9.0, 1e-9));
    QVERIFY(isNear(blurCircle(optics, 30, 200), 10.667, 1e-3));
    QVERIFY(isNear(blurCircle(optics, eyeFocal(optics, 5), 200), 0.0, 1e-9));
}

void TestLightFieldOptics::lensletsPassTheirArea()
{
    const auto device = makeCpuDevice();
    const auto stream = device->createStream();
    Optics optics = demoOptics();
    optics.panelSize = 60;
    optics.lensletCount = 0;
    for (const bool circle : {true, false}) {
        optics.lensletShape = circle ? LensletShape::Circle : LensletShape::Square;
        const TableOperator op(*stream, device, optics, {EyeState{}}, 16);
        double sum = 0;
        for (const float value : op.rowSums(*stream).toHost<float>(*stream))
            sum += static_cast<double>(value);
        const double share = sum / static_cast<double>(op.measurements()) / optics.headroom;
        QVERIFY2(isNear(share, circle ? 0.7853982 : 1.0, circle ? 0.005 * 0.785 : 1e-5),
                 qPrintable(QString::number(share, 'g', 8)));
    }
}

void TestLightFieldOptics::samplePatternIsCentred()
{
    const auto pattern = samplePattern(16, 4.0);
    double x = 0, y = 0;
    for (const RaySample& sample : pattern) {
        x += sample.pupilX;
        y += sample.pupilY;
        QVERIFY(std::hypot(sample.pupilX, sample.pupilY) <= 2.0 + 1e-12);
        QVERIFY(std::abs(sample.jitterX) < 1 && std::abs(sample.jitterY) < 1);
    }
    QVERIFY(std::abs(x / 16) < 1e-12 && std::abs(y / 16) < 1e-12);
    const auto one = samplePattern(1, 4.0);
    QVERIFY(one.size() == 1 && one[0].pupilX == 0 && one[0].pupilY == 0 && one[0].jitterX == 0);
}

void TestLightFieldOptics::adequacyGrowsWithRays()
{
    const Optics optics = demoOptics();
    const double ten = samplingAdequacy(optics, 3, 16);
    QVERIFY2(isNear(ten, 9.06, 0.1), qPrintable(QString::number(ten)));
    QVERIFY(isNear(samplingAdequacy(optics, 3, 1), ten / 16, 1e-9));
    // Nearer planes spread a pixel over more texels.
    QVERIFY(samplingAdequacy(optics, 0, 3, 16) < samplingAdequacy(optics, 7, 3, 16));
}

void TestLightFieldOptics::collimatingLensletsHaveNoPlane()
{
    Optics optics = demoOptics();
    optics.panelGap = optics.lensletFocal;
    QVERIFY(!centralDepthPlane(optics));
    QVERIFY(!planeGeometry(optics, 0).usable);
    QVERIFY_THROWS_EXCEPTION(ContractError, relayDistance(optics));
    QVERIFY(isNear(lensletDiffractionRadius(Optics{}), 0.0034, 1e-4));
}

void TestLightFieldOptics::impossibleDisplaysAreRefused()
{
    QVERIFY_THROWS_EXCEPTION(ContractError, checkOptics(Optics{}));
    Optics optics = demoOptics();
    optics.lensletCount = 50;
    QVERIFY_THROWS_EXCEPTION(ContractError, checkOptics(optics));
    optics = demoOptics();
    optics.lensletZ = optics.tunableZ;
    QVERIFY_THROWS_EXCEPTION(ContractError, checkOptics(optics));
    QVERIFY_THROWS_EXCEPTION(ContractError, planeGeometry(demoOptics(), 8));
}

void TestLightFieldOptics::rejectionsAreNamed()
{
    Optics optics = demoOptics();
    const auto count = [&](Rejection reason) {
        int found = 0;
        for (int pixel = 0; pixel < 128; pixel += 3) {
            for (const RayPath& path : tracePixel(optics, {}, 16, pixel, pixel))
                found += path.rejection == reason ? 1 : 0;
        }
        return found;
    };
    QVERIFY(count(Rejection::None) > 0 && count(Rejection::LensletGap) > 0 &&
            count(Rejection::PanelEdge) > 0);
    QCOMPARE(count(Rejection::LensAperture), 0);
    optics.tunableAperture = 18;
    optics.lensletCount = 21;
    QVERIFY(count(Rejection::LensAperture) > 0 && count(Rejection::ArrayEdge) > 0);
    optics = demoOptics();
    optics.baffles = true;
    QVERIFY(count(Rejection::Baffle) > 0);
}

void TestLightFieldOptics::heldOutStatesLieBetweenTrainingStates()
{
    EyeStateSettings settings;
    const auto training = trainingStates(settings), heldOut = heldOutStates(settings);
    QCOMPARE(training.size(), std::size_t(3));
    QCOMPARE(heldOut.size(), std::size_t(2));
    QVERIFY(isNear(heldOut[0].accommodation,
                   (training[0].accommodation + training[1].accommodation) / 2, 1e-12));
    settings.eyeCount = 5;
    QCOMPARE(trainingStates(settings).size(), std::size_t(15));
    QVERIFY(isNear(heldOutStates(settings)[0].x, 0.3536, 1e-9));
    QVERIFY(isNear(trainingStates(settings)[3].x, 1.0, 1e-12));
}

VERGENCE_TEST(TestLightFieldOptics)
#include "tst_light_field_optics.moc"
