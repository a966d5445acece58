#include <chrono>
#include <fstream>

#include "plugins/mc_embedding/io/unfinished_files.h"
#include "plugins/mc_embedding/models/vision_model.h"
#include "plugins/mc_embedding/study/memory_plan.h"
#include "plugins/mc_embedding/study/model_shelf.h"
#include "plugins/mc_embedding/study/pixel_feed.h"
#include "tests/plugins/mc_embedding/encoder_setup.h"
#include "tests/plugins/mc_embedding/lent_context.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

namespace fs = std::filesystem;

/// A GPU of which only the memory is of interest.
class FakeGpu final : public Device {
public:
    explicit FakeGpu(std::size_t bytes) : Device(gpu()), free(bytes) {}
    void* allocate(std::size_t) override { throw ContractError("FakeGpu has no memory"); }
    void deallocate(void*, std::size_t) noexcept override {}
    DeviceMemory memory() const override { return {free, free, 0, 0}; }
    std::unique_ptr<Stream> createStream() override { return nullptr; }
    int kernelVariant() const override { return 0; }

    std::size_t free;

private:
    static DeviceInfo gpu()
    {
        DeviceInfo info;
        info.kind = DeviceKind::Cuda;
        info.name = "GPU";
        return info;
    }
};

bool isNear(std::size_t value, std::size_t other, double relative)
{
    const auto a = static_cast<double>(value), b = static_cast<double>(other);
    return std::abs(a - b) <= relative * b;
}

} // namespace

/// Where pixels and models are while a study runs. Specification, section 10.
class TestMcResidency : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyLevelBringsTheSamePixels_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("level");
        QTest::addColumn<int>("type");
        vergence::test::forEachDevice([](const std::string& name, int device) {
            for (const auto level : {Residency::Resident, Residency::Pinned, Residency::Mapped}) {
                for (const auto type : {PixelType::U8, PixelType::F16, PixelType::F32})
                    QTest::addRow("%s, %s, type %d", name.c_str(), nameOf(level).data(),
                                  static_cast<int>(type))
                        << device << static_cast<int>(level) << static_cast<int>(type);
            }
        });
    }
    void everyLevelBringsTheSamePixels()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, level);
        QFETCH(int, type);
        const test::Scratch scratch;
        McEmbeddingConfig config;
        config.models = {"tiny_clip"};
        config.sampling = "uniform";
        ImageSource source(config, scratch / "cache", scratch / "painted");
        test::LentContext context;
        source.list(context, 11);
        Preprocess how = defaultPreprocess(*towerShape("tiny_clip"));
        how.stored = static_cast<PixelType>(type);
        QVERIFY(source.open(context, how, "none"));
        const auto stream = device->createStream();
        const auto bytesOf = [&](const Tensor& pixels) {
            const Tensor bytes =
                Tensor::wrap(device, pixels.data(), {static_cast<Index>(pixels.bytes())}, DType::U8,
                             pixels.storage());
            return bytes.toHost<std::uint8_t>(*stream);
        };
        PixelFeed feed(*stream, device, source, 11, static_cast<Residency>(level));
        QCOMPARE(static_cast<int>(feed.level()), level);
        // Whole chunks, a smaller one, larger ones, out of order and to the end.
        for (const auto& [first, count] :
             {std::pair(0, 3), std::pair(3, 3), std::pair(6, 2), std::pair(8, 3), std::pair(2, 5),
              std::pair(7, 4), std::pair(0, 11)}) {
            const auto at = static_cast<std::size_t>(first), n = static_cast<std::size_t>(count);
            const Tensor pixels = feed.take(*stream, at, n),
                         wanted = source.pixels(*stream, device, at, n);
            QCOMPARE(pixels.shape(), wanted.shape());
            QCOMPARE(pixels.dtype(), wanted.dtype());
            QVERIFY(bytesOf(pixels) == bytesOf(wanted));
        }
    }

    void normalisedPixelsAreStillPictures()
    {
        Image image = makeImage(16, 16, 3);
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            image.pixels[i] = static_cast<std::uint8_t>(i); // every level in every channel
        for (const auto type : {PixelType::U8, PixelType::F16, PixelType::F32}) {
            Preprocess how = defaultPreprocess(*towerShape("clip_b32"));
            how.size = 16;
            how.stored = type;
            const auto stored = storedPixels(image, how);
            QCOMPARE(stored.size(), 16 * 16 * 3 * bytesOf(type));
            QVERIFY(pictureOf(stored, how).pixels == image.pixels);
        }
        const Preprocess bytes = defaultPreprocess(*towerShape("clip_b32"));
        Preprocess floats = bytes;
        floats.stored = PixelType::F32;
        QVERIFY(bytes.fingerprint() != floats.fingerprint());
        floats.mean[0] += 0.1f;
        Preprocess same = bytes;
        same.mean[0] += 0.1f;
        QCOMPARE(same.fingerprint(), bytes.fingerprint());
    }

    /// Section 10.1: outcome on 16 GB beside a large host.
    void tableOfTheSpecification_data()
    {
        QTest::addColumn<QString>("tower");
        QTest::addColumn<int>("images");
        QTest::addColumn<int>("type");
        QTest::addColumn<double>("megabytes");
        QTest::addColumn<int>("level");
        const auto row = [](const char* tower, int images, PixelType type, double megabytes,
                            Residency level) {
            QTest::addRow("%d of %s, type %d", images, tower, static_cast<int>(type))
                << QString(tower) << images << static_cast<int>(type) << megabytes
                << static_cast<int>(level);
        };
        row("clip_b32", 500, PixelType::F32, 301, Residency::Resident);
        row("clip_b32", 5000, PixelType::U8, 753, Residency::Resident);
        row("siglip2_so400m", 500, PixelType::F16, 442, Residency::Resident);
        row("siglip2_so400m", 5000, PixelType::U8, 2212, Residency::Resident);
        row("siglip2_so400m", 10000, PixelType::U8, 4424, Residency::Resident);
        row("siglip2_so400m", 10000, PixelType::F32, 17695, Residency::Pinned);
    }
    void tableOfTheSpecification()
    {
        QFETCH(QString, tower);
        QFETCH(int, images);
        QFETCH(int, type);
        QFETCH(double, megabytes);
        QFETCH(int, level);
        const TowerShape shape = *towerShape(tower.toStdString());
        const MemoryNeed need = memoryNeed({.tower = shape,
                                            .images = static_cast<std::size_t>(images),
                                            .pixels = static_cast<PixelType>(type),
                                            .batch = {4, 16}},
                                           false);
        QCOMPARE(std::round(static_cast<double>(need.pixels) * 1e-6), megabytes);
        QCOMPARE(static_cast<int>(chooseResidency(need, 16'000'000'000, 64'000'000'000)), level);
    }

    /// The formula follows what an encoder really takes.
    void workspaceIsForeseen_data() { vergence::test::addTowerRows(); }
    void workspaceIsForeseen()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(QString, tower);
        vergence::test::EncoderSetup setup(device, tower.toStdString());
        setup.perturb(liveSites(setup.encoder.tower(), {}), 0.1);
        const BatchSize batch{16, 64};
        const TowerShape& shape = setup.encoder.tower();
        const std::size_t real = setup.encoder.workspaceBytes(batch.images, batch.passes),
                          foreseen = workspaceBytes(shape, DType::F32, batch, device->isCpu());
        QVERIFY2(isNear(foreseen, real, 0.25),
                 qPrintable(QString("%1 %2").arg(foreseen).arg(real)));
        const std::size_t copies = device->isCpu() ? 2 : 1;
        QVERIFY(isNear(weightBytes(shape, DType::F32, device->isCpu()),
                       copies * setup.encoder.weightBytes(), 0.05));
    }

    void forecastNamesLevelsAndCards()
    {
        McEmbeddingConfig config;
        config.count = 10000;
        config.pixelCache = PixelType::F32;
        const std::string text = memoryForecast(makePlan(config), config);
        for (const char* part :
             {"clip_b32", "siglip2_so400m", "17.7 GB of pixels", "pinned on RTX 5000 Ada, 16 GB",
              "resident on H200", "all models at once", "fit H200"})
            QVERIFY2(text.find(part) != std::string::npos,
                     (std::string(part) + ": " + text).c_str());
        config.residency = Residency::Mapped;
        const std::string forced = memoryForecast(makePlan(config), config);
        QVERIFY2(forced.find("mapped on H200") != std::string::npos, forced.c_str());
    }

    void featureStoreIsForeseen()
    {
        McEmbeddingConfig config;
        config.models = {"clip_b32"};
        QCOMPARE(featureStoreBytes(makePlan(config)), std::size_t(0));
        config.storeFeatures = "fp16";
        config.experiment = {"exp0", "degradation"};
        QCOMPARE(featureStoreBytes(makePlan(config)), std::size_t(500) * 10 * 64 * 512 * 2);
    }

    void modelsStayAsLongAsTheyFit()
    {
        FakeGpu gpu(1000);
        ModelShelf shelf;
        int loads = 0;
        const auto load = [&] {
            ++loads;
            return VisionModel{};
        };
        std::shared_ptr<VisionModel> a = shelf.take(gpu, "a", 100, load);
        QCOMPARE(shelf.take(gpu, "a", 100, load).get(), a.get());
        shelf.take(gpu, "b", 100, load);
        QCOMPARE(loads, 2);
        QCOMPARE(shelf.size(), std::size_t(2));
        gpu.free = 100; // 100 bytes are more than 85 % of that
        shelf.take(gpu, "c", 100, load);
        QCOMPARE(shelf.size(), std::size_t(2)); // b is idle, a is in use
        QCOMPARE(shelf.take(gpu, "a", 100, load).get(), a.get());
        QCOMPARE(loads, 3);
        a.reset();
        QVERIFY(shelf.clearIdle() && shelf.size() == 0 && !shelf.clearIdle());
    }

    void loadIsTriedAgainOnAnEmptyShelf()
    {
        FakeGpu gpu(1 << 20);
        ModelShelf shelf;
        shelf.take(gpu, "a", 100, [] { return VisionModel{}; });
        int loads = 0;
        const auto tight = [&] {
            if (++loads == 1)
                throw DeviceError("no room", ExitCode::OutOfMemory);
            return VisionModel{};
        };
        const auto b = shelf.take(gpu, "b", 100, tight);
        QCOMPARE(loads, 2);
        QCOMPARE(shelf.size(), std::size_t(1));
        const auto never = []() -> VisionModel {
            throw DeviceError("no room", ExitCode::OutOfMemory);
        };
        QVERIFY_THROWS_EXCEPTION(DeviceError, shelf.take(gpu, "c", 100, never));
        shelf.forget("b");
        QCOMPARE(shelf.size(), std::size_t(0));
    }

    void unfinishedFilesAreRemovedByAge()
    {
        const test::Scratch scratch;
        fs::create_directories(scratch / "a/.step-1.2.part");
        for (const char* name : {"a/.b.npz.1-2.part", "a/b.npz", "a/c.part", ".d"})
            std::ofstream(scratch / name) << "x";
        QCOMPARE(removeUnfinished(scratch.path(), std::chrono::hours(1)), std::size_t(0));
        QCOMPARE(removeUnfinished(scratch.path(), std::chrono::seconds(0)), std::size_t(1));
        for (const char* name : {"a/.step-1.2.part", "a/b.npz", "a/c.part", ".d"})
            QVERIFY2(fs::exists(scratch / name), name);
        QCOMPARE(removeUnfinished(scratch / "nowhere", std::chrono::seconds(0)), std::size_t(0));
    }
};

VERGENCE_TEST(TestMcResidency)
#include "tst_mc_residency.moc"
