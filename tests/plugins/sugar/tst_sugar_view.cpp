#include <algorithm>
#include <cmath>

#include <QTest>

#include "plugins/sugar/view/line_drawing.h"
#include "plugins/sugar/view/splat_mode.h"
#include "plugins/sugar/view/view_camera.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

std::vector<Camera> ring(int count, double radius, double height)
{
    std::vector<Camera> cameras;
    for (int i = 0; i < count; ++i) {
        const double angle = 2 * 3.14159265358979 * i / count;
        cameras.push_back(
            lookingAt({1 + radius * std::cos(angle), 2 + radius * std::sin(angle), 3 + height},
                      {1, 2, 3}, {0, 0, 1}, 100, 64, 48));
    }
    return cameras;
}

bool near(const std::array<double, 3>& a, const std::array<double, 3>& b, double tolerance)
{
    return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) <= tolerance;
}

} // namespace

class SugarViewTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cameraMatrixRoundTrips()
    {
        const Camera camera = lookingAt({2, -1, 3}, {0, 0.2, 0.5}, {0, 0, 1}, 100, 64, 48);
        const Camera back = cameraFrom(viewToWorld(camera), 100, 64, 48);
        for (std::size_t i = 0; i < 9; ++i)
            QVERIFY(std::abs(back.rotation[i] - camera.rotation[i]) < 1e-12);
        QVERIFY(near(back.centre(), camera.centre(), 1e-12));
        QCOMPARE(back.cx, 32.0);
    }

    void matrixThatIsNoRotationIsRefused()
    {
        std::vector<double> matrix = viewToWorld(Camera{});
        matrix[0] = 2;
        QVERIFY_THROWS_EXCEPTION(ContractError, cameraFrom(matrix, 1, 2, 2));
        matrix[0] = -1; // a mirror
        QVERIFY_THROWS_EXCEPTION(ContractError, cameraFrom(matrix, 1, 2, 2));
        QVERIFY_THROWS_EXCEPTION(ContractError, cameraFrom({1, 2, 3}, 1, 2, 2));
    }

    void sceneFrameFindsTargetUpAndRadius()
    {
        const SceneFrame frame = sceneFrame(ring(12, 2, 1));
        QVERIFY(near(frame.target, {1, 2, 3}, 1e-3));
        QVERIFY(near(frame.up, {0, 0, 1}, 1e-9));
        QVERIFY(std::abs(frame.radius - std::sqrt(5.0)) < 1e-3);
        QVERIFY(std::abs(frame.elevation - std::atan2(1.0, 2.0)) < 1e-3);
    }

    void turntableCirclesAtTheScenesDistance()
    {
        const SceneFrame scene = sceneFrame(ring(12, 2, 1));
        for (const int frame : {0, 5, 17}) {
            const Camera camera = turntableCamera(scene, frame, 24, 80, 32, 24);
            const auto centre = camera.centre();
            QVERIFY(std::abs(std::hypot(centre[0] - 1, centre[1] - 2, centre[2] - 3) -
                             std::sqrt(5.0)) < 1e-2);
            QVERIFY(std::abs(centre[2] - 4) < 1e-2);
        }
        const auto first = turntableCamera(scene, 0, 24, 80, 32, 24).centre();
        QVERIFY(near(first, turntableCamera(scene, 24, 24, 80, 32, 24).centre(), 1e-9));
        QVERIFY(!near(first, turntableCamera(scene, 1, 24, 80, 32, 24).centre(), 0.1));
    }

    void lineCoversItsPixelsOnly()
    {
        std::vector<std::uint8_t> pixels(4 * 16 * 8, 0);
        drawLine({pixels, 16, 8}, 2, 3.5, 12, 3.5, {255, 100, 50}, 1);
        const auto red = [&](int x, int y) { return pixels[4 * (y * 16 + x)]; };
        QCOMPARE(int(red(6, 3)), 255);
        QCOMPARE(int(red(6, 1)), 0);
        QCOMPARE(int(red(6, 5)), 0);
        QCOMPARE(int(red(0, 3)), 0);
        QCOMPARE(int(red(15, 3)), 0);
    }

    void lineFarOutsideChangesNothing()
    {
        std::vector<std::uint8_t> pixels(4 * 16 * 8, 7);
        const Canvas canvas{pixels, 16, 8};
        drawLine(canvas, -1e12, -50, 1e12, -50, {255, 255, 255}, 2);
        drawLine(canvas, 3, 3, 3, 3, {255, 255, 255}, 2);
        drawLine(canvas, std::nan(""), 3, 9, 3, {255, 255, 255}, 2);
        QVERIFY(std::all_of(pixels.begin(), pixels.end(), [](auto p) { return p == 7; }));
        drawLine(canvas, -1e9, 4.5, 1e9, 4.5, {255, 255, 255}, 1); // through the picture
        QCOMPARE(int(pixels[4 * (4 * 16 + 8)]), 255);
    }

    void frustumUnderThePointerIsFound()
    {
        const Camera viewer = lookingAt({0, -10, 0}, {0, 0, 0}, {0, 0, 1}, 200, 200, 200);
        std::vector<Frustum> frusta(2);
        frusta[0].camera = lookingAt({0, 0, 0}, {0, 1, 0}, {0, 0, 1}, 100, 64, 64);
        frusta[1].camera = lookingAt({2, 0, 0}, {2, 1, 0}, {0, 0, 1}, 100, 64, 64);
        QCOMPARE(frustumAt(viewer, frusta, 0.2, 100, 100, 12), std::optional<std::size_t>(0));
        QCOMPARE(frustumAt(viewer, frusta, 0.2, 140, 100, 12), std::optional<std::size_t>(1));
        QVERIFY(!frustumAt(viewer, frusta, 0.2, 100, 30, 12));
    }

    void frustaBehindTheViewerAreLeftOut()
    {
        const Camera viewer = lookingAt({0, -10, 0}, {0, -20, 0}, {0, 0, 1}, 200, 64, 64);
        std::vector<std::uint8_t> pixels(4 * 64 * 64, 0);
        Frustum frustum;
        frustum.camera = lookingAt({0, 0, 0}, {0, 1, 0}, {0, 0, 1}, 100, 64, 64);
        frustum.colour = {255, 255, 255};
        drawFrusta({pixels, 64, 64}, viewer, {frustum}, 0.2);
        QVERIFY(std::all_of(pixels.begin(), pixels.end(), [](auto p) { return p == 0; }));
    }

    void everyModeHasATitle()
    {
        QCOMPARE(splatModeTitles().size(), static_cast<std::size_t>(SplatMode::Ellipsoids) + 1);
    }

    void turboRunsFromBlueToRed()
    {
        QVERIFY(turbo(0.15F)[2] > turbo(0.15F)[0]);
        QVERIFY(turbo(0.9F)[0] > turbo(0.9F)[2]);
        QCOMPARE(turbo(-3), turbo(0));
        QCOMPARE(turbo(7), turbo(1));
        QCOMPARE(turbo(std::nanf("")), turbo(0));
    }

    void pixelsOfDepthSpanTheColours()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        RasterImages images;
        const auto tensor = [&](Shape shape, std::vector<float> values) {
            return Tensor::fromHost<float>(*stream, device, std::move(shape), values);
        };
        // Two covered pixels and one that is not; depths are not normalised.
        images.transmittance = tensor({1, 3}, {0, 0.2F, 0.9F});
        images.depth = tensor({1, 3}, {2, 0.8F * 4, 1});
        images.normal = tensor({3, 1, 3}, {0, 0, 0, 0, 0, 0, -1, -0.8F, 0});
        Camera camera;
        camera.width = 3;
        camera.height = 1;
        ColourSpan span;
        const auto depth = pixelsOf(*stream, images, camera, SplatMode::Depth, &span);
        QCOMPARE(depth.size(), std::size_t(12));
        QVERIFY(std::abs(span.low - 2) < 1e-5);
        const auto normal = pixelsOf(*stream, images, camera, SplatMode::Normal);
        QCOMPARE(int(normal[2]), 255); // towards the viewer
        QCOMPARE(int(normal[0]), 128);
        QVERIFY(normal[8] < 60); // not covered
    }
};

VERGENCE_TEST(SugarViewTest)
#include "tst_sugar_view.moc"
