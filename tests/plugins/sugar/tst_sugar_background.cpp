#include <QTemporaryDir>
#include <QTest>

#include "core/compute/rng.h"
#include "plugins/sugar/compute/learning/over_background.h"
#include "plugins/sugar/io/picture_plan.h"
#include "plugins/sugar/io/scene_writer.h"
#include "plugins/sugar/io/synthetic_scene.h"
#include "plugins/sugar/train/trainer.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::test;
namespace fs = std::filesystem;

namespace {

/// Photographs of one colour and opacity, and a Gaussian that none of them shows.
struct EmptyScene {
    QTemporaryDir folder;
    std::shared_ptr<TrainingPictures> pictures;
    GaussianCloud cloud;

    EmptyScene(const std::shared_ptr<Device>& device, std::uint8_t opacity)
    {
        const fs::path root = folder.path().toStdString();
        Scene scene = syntheticScene({32, 24, false, 1});
        scene.views.resize(4);
        writeScene(root, scene, SceneFormat::ColmapBinary);
        Image image = makeImage(32, 24, 4, 200);
        for (std::size_t i = 3; i < image.pixels.size(); i += 4)
            image.pixels[i] = opacity;
        for (const SourceView& view : scene.views)
            writePng(root / "images" / view.name, image);
        PhotographSettings settings;
        settings.keepsTransparency = true;
        pictures = std::make_shared<TrainingPictures>(
            photographedPictures(readScene(root), settings), device);
        cloud.position = {0, 0, 50};
        cloud.logScale = {-2, -2, -2};
        cloud.rotation = {1, 0, 0, 0};
        cloud.opacity = {-6};
        cloud.shDc = {0, 0, 0};
    }
};

} // namespace

class SugarBackgroundTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void otherBackgroundsAreThoseOfTheFile_data() { addDeviceRows(); }
    void otherBackgroundsAreThoseOfTheFile()
    {
        VERGENCE_ROW_DEVICE(device)
        const auto stream = device->createStream();
        Image image = makeImage(31, 3, 4);
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            image.pixels[i] = static_cast<std::uint8_t>(i * 37 % 256);
        std::vector<std::uint8_t> transparency;
        for (std::size_t i = 3; i < image.pixels.size(); i += 4)
            transparency.push_back(static_cast<std::uint8_t>(255 - image.pixels[i]));
        const std::array<float, 3> colour{1, 0.25F, 0.6F};
        const Tensor photo = Tensor::fromHost<std::uint8_t>(*stream, device, {3, 31, 3},
                                                            opaque(image, {0, 0, 0}).pixels);
        const Tensor plane = Tensor::fromHost<std::uint8_t>(*stream, device, {3, 31}, transparency);
        const auto made =
            overBackground(*stream, photo, plane, colour).toHost<std::uint8_t>(*stream);
        const Image wanted = opaque(image, colour);
        for (std::size_t i = 0; i < made.size(); ++i)
            QVERIFY(std::abs(made[i] - wanted.pixels[i]) <= 1); // rounded twice
        VERGENCE_THROWS(ContractError, "are needed", overBackground(*stream, photo, photo, colour));
    }

    /// Where nothing is seen, render and photograph are both the background.
    void transparentPhotographsShowTheBackgroundOfTheStep_data()
    {
        QTest::addColumn<int>("opacity");
        QTest::addColumn<int>("level");
        QTest::newRow("transparent") << 0 << 0;
        QTest::newRow("transparent, progressive") << 0 << 1;
        QTest::newRow("half") << 128 << 0;
        QTest::newRow("opaque") << 255 << 0;
    }
    void transparentPhotographsShowTheBackgroundOfTheStep()
    {
        QFETCH(int, opacity);
        QFETCH(int, level);
        const auto device = makeCpuDevice(2);
        const auto stream = device->createStream();
        EmptyScene scene(device, static_cast<std::uint8_t>(opacity));
        TrainerSettings settings;
        settings.schedule = {
            .iterations = 20, .densifyFrom = 100, .degree = 0, .progressive = level > 0};
        settings.extent = 2.6;
        settings.near = 0.05F;
        settings.randomBackground = true;
        Trainer trainer(device, settings, scene.pictures, {0, 1, 2, 3});
        trainer.start(*stream, scene.cloud);
        StepReport report;
        const Rng random(settings.seed, 0x5347'0002); // specification 15
        while (!trainer.isDone()) {
            QVERIFY(trainer.step(*stream, {}, report));
            double wanted = 0; // |a·c + (1 − a)·b − b| = a·|c − b|
            for (std::int64_t i = 3 * report.step; i < 3 * report.step + 3; ++i)
                wanted += opacity / 255.0 *
                          std::abs(200 / 255.0 - random.uniform(static_cast<std::uint64_t>(i))) / 3;
            QVERIFY2(std::abs(report.value.l1 - wanted) <= 0.004,
                     qPrintable(QString("%1 %2").arg(report.value.l1).arg(wanted)));
        }
    }

    void transparencyIsKeptWhereAskedFor()
    {
        const auto device = makeCpuDevice(1);
        EmptyScene clear(device, 51);
        QCOMPARE(clear.pictures->photograph(0)->transparency, std::vector<std::uint8_t>(768, 204));
        QCOMPARE(clear.pictures->photograph(0, 1)->transparency,
                 std::vector<std::uint8_t>(192, 204));
        EmptyScene opaque(device, 255);
        QVERIFY(opaque.pictures->photograph(0)->transparency.empty());
    }
};

VERGENCE_TEST(SugarBackgroundTest)
#include "tst_sugar_background.moc"
