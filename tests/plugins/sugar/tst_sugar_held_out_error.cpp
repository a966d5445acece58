#include <QTest>

#include <cmath>

#include "plugins/sugar/train/held_out_error.h"
#include "tests/plugins/sugar/raster_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

namespace {

/// One black picture per camera, masked where asked for.
class BlackPictures final : public PictureSource {
public:
    explicit BlackPictures(std::vector<Camera> cameras) : m_cameras(std::move(cameras)) {}

    std::size_t count() const override { return m_cameras.size(); }
    const std::string& name(std::size_t) const override { return m_name; }
    const std::vector<Camera>& cameras() const override { return m_cameras; }
    std::optional<bool> isTest(std::size_t) const override { return std::nullopt; }
    std::shared_ptr<const Photograph> get(std::size_t i, int) override
    {
        auto photograph = std::make_shared<Photograph>();
        photograph->image = makeImage(m_cameras[i].width, m_cameras[i].height, 3, 0);
        photograph->mask = mask;
        return photograph;
    }
    const Scene& scene() const override { return m_scene; }
    const std::vector<SceneFinding>& findings() const override { return m_scene.findings; }
    std::string fingerprint() const override { return "black"; }

    std::vector<std::uint8_t> mask;

private:
    std::string m_name = "black.png";
    std::vector<Camera> m_cameras;
    Scene m_scene;
};

/// A grey one on the left, a white one on the right; both nearly opaque in their middle.
Parameters greyAndWhite()
{
    Parameters p;
    add(p, {-0.8, 0, 5}, {0.1, 0.1, 0.1}, {1, 0, 0, 0}, 0.95, {0.4, 0.4, 0.4});
    add(p, {0.8, 0, 5}, {0.1, 0.1, 0.1}, {1, 0, 0, 0}, 0.95, {1, 1, 1});
    add(p, {0, 0, -5}, {0.1, 0.1, 0.1}, {1, 0, 0, 0}, 0.95, {1, 1, 1}); // behind
    return p;
}

} // namespace

class SugarHeldOutErrorTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void mapIsTheMeanOverChannels()
    {
        const auto device = makeCpuDevice();
        const auto stream = device->createStream();
        Photograph photograph;
        photograph.image = makeImage(2, 1, 3, 0);
        photograph.image.pixels = {255, 0, 51, 0, 0, 0};
        const std::vector<float> planes{0.4F, 2, 0.3F, 0, 0.2F, -1}; // clamped to [0, 1]
        const Tensor render = Tensor::fromHost<float>(*stream, device, {3, 1, 2}, planes);
        const auto errors = errorMap(*stream, render, photograph);
        QVERIFY(std::abs(errors[0] - (0.6F + 0.3F + 0) / 3) < 1e-6F);
        QVERIFY(std::abs(errors[1] - 1.0F / 3) < 1e-6F);
        photograph.mask = {1, 0};
        QCOMPARE(errorMap(*stream, render, photograph)[1], 0.0F);
    }

    void gaussiansHaveTheErrorWhereTheyShow()
    {
        RasterBench bench(makeCpuDevice(), cloudOf(greyAndWhite()), 7);
        auto source =
            std::make_shared<BlackPictures>(std::vector<Camera>{plainCamera(), plainCamera()});
        TrainingPictures pictures(source, bench.device);
        const auto errors =
            heldOutErrors(*bench.stream, bench.gaussians, {}, pictures, {false, true});
        QCOMPARE(errors.size(), std::size_t(3));
        // Against black the error of a pixel is its brightness, 0.4 α, and its share is α. Over a
        // bell the mean of α² is half of that of α, times the peak of 0.95.
        QVERIFY(std::abs(errors[0] - 0.4F * 0.95F / 2) < 0.01F);
        QVERIFY(std::abs(errors[1] / errors[0] - 2.5F) < 1e-3F);
        QCOMPARE(errors[2], 0.0F);
        for (const float error :
             heldOutErrors(*bench.stream, bench.gaussians, {}, pictures, {false, false}))
            QCOMPARE(error, 0.0F);
    }

    void maskedPixelsDoNotCount()
    {
        RasterBench bench(makeCpuDevice(), cloudOf(greyAndWhite()));
        auto source = std::make_shared<BlackPictures>(std::vector<Camera>{plainCamera()});
        source->mask.assign(64 * 64, 1);
        for (std::size_t i = 0; i < source->mask.size(); ++i)
            source->mask[i] = i % 64 < 32 ? 1 : 0; // the right half does not count
        TrainingPictures pictures(source, bench.device);
        const auto errors = heldOutErrors(*bench.stream, bench.gaussians, {}, pictures, {true});
        QVERIFY(std::abs(errors[0] - 0.4F * 0.95F / 2) < 0.01F);
        QCOMPARE(errors[1], 0.0F);
    }
};

VERGENCE_TEST(SugarHeldOutErrorTest)
#include "tst_sugar_held_out_error.moc"
