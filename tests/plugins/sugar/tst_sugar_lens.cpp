#include <QTest>

#include <cmath>

#include "core/base/file.h"
#include "plugins/sugar/io/area_scaling.h"
#include "plugins/sugar/io/colmap.h"
#include "plugins/sugar/io/undistortion.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

SourceCamera cameraOf(CameraModel model, const std::vector<double>& lens)
{
    SourceCamera camera{1, model, 640, 480, {400, 410, 330, 235}};
    if (hasOneFocal(model))
        camera.parameters = {400, 330, 235};
    camera.parameters.insert(camera.parameters.end(), lens.begin(), lens.end());
    return camera;
}

bool isNear(const std::array<double, 2>& a, const std::array<double, 2>& b, double tolerance)
{
    return std::abs(a[0] - b[0]) < tolerance && std::abs(a[1] - b[1]) < tolerance;
}

/// PSNR of two pictures of one size, `border` pixels left out at each side.
double psnr(const Image& a, const Image& b, int border)
{
    double sum = 0;
    std::size_t count = 0;
    for (int y = border; y < a.height - border; ++y) {
        for (int i = border * a.channels; i < (a.width - border) * a.channels; ++i, ++count)
            sum += std::pow((a.row(y)[i] - b.row(y)[i]) / 255.0, 2);
    }
    return -10 * std::log10(sum / static_cast<double>(count));
}

} // namespace

class SugarLensTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void knownValues();
    void inverseUndoesEveryModel_data();
    void inverseUndoesEveryModel();
    void smallFieldOfViewIsContinuous();
    void foldedPointsHaveNoInverse();
    void resizedLensSeesTheSame();
    void insideShowsNothingBlankAndAllShowsEverything_data();
    void insideShowsNothingBlankAndAllShowsEverything();
    void picturesAgreeWithColmap_data();
    void picturesAgreeWithColmap();
    void areaScalingIsExactMean();
};

void SugarLensTest::knownValues()
{
    const SourceCamera brown = cameraOf(CameraModel::OpenCv, {-.1, .02, .001, -.0005});
    QVERIFY(isNear(brown.distort(.3, -.2), {.2959264, -.1971976}, 1e-9));
    const SourceCamera fisheye = cameraOf(CameraModel::OpenCvFisheye, {.01, -.002, .0005, -.0001});
    QVERIFY(isNear(fisheye.distort(.3, -.2), {.288265224, -.192176816}, 1e-9));
    QVERIFY(!brown.isPinhole());
    QVERIFY(cameraOf(CameraModel::OpenCv, {0, 0, 0, 0}).isPinhole());
    QVERIFY(!cameraOf(CameraModel::OpenCvFisheye, {0, 0, 0, 0}).isPinhole());
    QVERIFY(!cameraOf(CameraModel::Fov, {.5}).isPinhole());
}

void SugarLensTest::inverseUndoesEveryModel_data()
{
    QTest::addColumn<CameraModel>("model");
    QTest::addColumn<std::vector<double>>("lens");
    const auto row = [](CameraModel model, const std::vector<double>& lens) {
        QTest::newRow(nameOf(model).c_str()) << model << lens;
    };
    row(CameraModel::SimplePinhole, {});
    row(CameraModel::Pinhole, {});
    row(CameraModel::SimpleRadial, {-.05});
    row(CameraModel::Radial, {-.1, .03});
    row(CameraModel::OpenCv, {-.1, .02, .001, -.0005});
    row(CameraModel::OpenCvFisheye, {.01, -.002, .0005, -.0001});
    row(CameraModel::FullOpenCv, {.2, -.05, .001, -.0005, .01, .25, -.03, .002});
    row(CameraModel::Fov, {.9});
    row(CameraModel::SimpleRadialFisheye, {.02});
    row(CameraModel::RadialFisheye, {.02, -.003});
    row(CameraModel::ThinPrismFisheye, {.01, -.02, .001, -.0005, .003, -.001, .0004, -.0002});
}

void SugarLensTest::inverseUndoesEveryModel()
{
    QFETCH(CameraModel, model);
    QFETCH(std::vector<double>, lens);
    const SourceCamera camera = cameraOf(model, lens);
    const double reach = std::min(0.9, 0.9 * camera.foldRadius());
    double worst = 0;
    for (int i = 0; i < 50; ++i) {
        for (int j = 0; j < 50; ++j) {
            const double u = reach * (i / 24.5 - 1) / std::sqrt(2);
            const double v = reach * (j / 24.5 - 1) / std::sqrt(2);
            const auto [du, dv] = camera.distort(u, v);
            const auto back = camera.undistort(du, dv);
            QVERIFY(back.has_value());
            worst = std::max({worst, std::abs((*back)[0] - u), std::abs((*back)[1] - v)});
        }
    }
    QVERIFY2(worst < 1e-9, qPrintable(QString::number(worst)));
}

void SugarLensTest::smallFieldOfViewIsContinuous()
{
    const SourceCamera below = cameraOf(CameraModel::Fov, {.009999});
    const SourceCamera above = cameraOf(CameraModel::Fov, {.010001});
    QVERIFY(isNear(below.distort(.5, -.4), above.distort(.5, -.4), 1e-8));
    QVERIFY(isNear(cameraOf(CameraModel::Fov, {0}).distort(.5, -.4), {.5, -.4}, 1e-15));
}

void SugarLensTest::foldedPointsHaveNoInverse()
{
    // r(1 − r²/3) grows up to r = 1, where it is 2/3.
    const SourceCamera camera = cameraOf(CameraModel::SimpleRadial, {-1.0 / 3});
    QVERIFY(std::abs(camera.foldRadius() - 1) < 1e-4);
    QVERIFY(camera.undistort(.6, 0).has_value());
    QVERIFY(std::abs((*camera.undistort(.6, 0))[0]) < 1);
    QVERIFY(!camera.undistort(.7, 0));
    QVERIFY(std::isinf(cameraOf(CameraModel::Radial, {.1, .03}).foldRadius()));
}

void SugarLensTest::resizedLensSeesTheSame()
{
    for (int number = 0; number < 11; ++number) {
        const CameraModel model = *cameraModel(number);
        SourceCamera camera = cameraOf(model, {});
        while (static_cast<int>(camera.parameters.size()) < parameterCount(model))
            camera.parameters.push_back(.02);
        const SourceCamera half = camera.resized(320, 120);
        QVERIFY(isNear(half.distort(.3, -.2), camera.distort(.3, -.2), 1e-15));
        QCOMPARE(half.fx(), camera.fx() / 2);
        QCOMPARE(half.fy(), camera.fy() / 4);
        QCOMPARE(half.cx(), camera.cx() / 2);
        QCOMPARE(half.cy(), camera.cy() / 4);
    }
}

void SugarLensTest::insideShowsNothingBlankAndAllShowsEverything_data()
{
    QTest::addColumn<double>("k1");
    QTest::newRow("barrel") << -.15;
    QTest::newRow("pincushion") << .1;
}

void SugarLensTest::insideShowsNothingBlankAndAllShowsEverything()
{
    QFETCH(double, k1);
    const SourceCamera camera = cameraOf(CameraModel::OpenCv, {k1, 0, 0, 0});
    const Image picture = makeImage(640, 480, 3, 200);
    const SourceCamera inside = undistortedCamera(camera, UndistortFit::Inside);
    QVERIFY(undistorted(picture, camera, inside).mask.empty());
    const SourceCamera all = undistortedCamera(camera, UndistortFit::All);
    const auto whole = undistorted(picture, camera, all);
    QVERIFY(!whole.mask.empty());
    QVERIFY(all.fx() < inside.fx());
    // Every corner of the source is within the picture that shows all.
    for (const double x : {0.0, 640.0}) {
        for (const double y : {0.0, 480.0}) {
            const auto corner =
                camera.undistort((x - camera.cx()) / camera.fx(), (y - camera.cy()) / camera.fy());
            const double u = all.fx() * (*corner)[0] + all.cx();
            QVERIFY(u > -1e-6 && u < 640 + 1e-6);
        }
    }
    const SourceCamera kept = undistortedCamera(camera, UndistortFit::KeepK);
    QCOMPARE(kept.fx(), camera.fx());
    QCOMPARE(kept.cy(), camera.cy());
}

void SugarLensTest::picturesAgreeWithColmap_data()
{
    QTest::addColumn<QString>("name");
    QTest::newRow("0001") << "0001.png";
    QTest::newRow("0042") << "0042.png";
}

void SugarLensTest::picturesAgreeWithColmap()
{
    QFETCH(QString, name);
    VERGENCE_GOLDEN_FOLDER(golden, "undistort");
    const auto cameraIn = [&](const char* folder) {
        const auto file = golden / folder / "cameras.txt";
        return parseColmapCameras(readFile(file), file.string()).at(0);
    };
    const Image before = readPng(golden / "distorted" / name.toStdString());
    const Image expected = readPng(golden / "undistorted" / name.toStdString());
    const auto found =
        undistorted(before, cameraIn("sparse_distorted"), cameraIn("sparse_undistorted"));
    QCOMPARE(found.image.width, expected.width);
    QCOMPARE(found.image.height, expected.height);
    const double quality = psnr(found.image, expected, 4);
    qInfo("PSNR %.2f dB", quality);
    QVERIFY(quality > 41);
}

void SugarLensTest::areaScalingIsExactMean()
{
    Image ramp = makeImage(8, 4, 1);
    for (std::size_t i = 0; i < ramp.pixels.size(); ++i)
        ramp.pixels[i] = static_cast<std::uint8_t>(4 * i);
    const Image half = areaScaled(ramp, 4, 2);
    QCOMPARE(half.pixels[0], (0 + 4 + 32 + 36) / 4);
    QCOMPARE(half.pixels[7], (4 * (22 + 23 + 30 + 31)) / 4);
    // 5 to 2 columns: 2.5 old pixels each.
    Image row = makeImage(5, 1, 1);
    row.pixels = {10, 20, 30, 40, 50};
    const Image two = areaScaled(row, 2, 1);
    QCOMPARE(two.pixels[0], 18); // (10 + 20 + 15) / 2.5
    QCOMPARE(two.pixels[1], 42); // (15 + 40 + 50) / 2.5
    QVERIFY(areaScaled(ramp, 8, 4).pixels == ramp.pixels);
    QVERIFY(areaScaled(makeImage(97, 31, 3, 255), 13, 7).pixels == makeImage(13, 7, 3, 255).pixels);
}

VERGENCE_TEST(SugarLensTest)
#include "tst_sugar_lens.moc"
