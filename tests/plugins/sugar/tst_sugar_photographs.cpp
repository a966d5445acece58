#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/sugar/io/photographs.h"
#include "plugins/sugar/io/picture_cache.h"
#include "plugins/sugar/io/picture_plan.h"
#include "plugins/sugar/io/scene_math.h"
#include "plugins/sugar/io/synthetic_scene.h"
#include "tests/support/golden.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
namespace fs = std::filesystem;

namespace {

std::string sentencesOf(const Photographs& photographs)
{
    std::string all;
    for (const SceneFinding& finding : photographs.findings())
        all += finding.sentence + "\n";
    return all;
}

/// A JPEG file whose EXIF block says how to turn it.
std::string withOrientation(const std::string& jpeg, char orientation)
{
    std::string exif("\xff\xe1\x00\x22"
                     "Exif\0\0"
                     "MM\0*\0\0\0\x08\0\x01",
                     20);
    exif += std::string("\x01\x12\0\x03\0\0\0\x01\0", 9) + orientation + std::string(6, '\0');
    return jpeg.substr(0, 2) + exif + jpeg.substr(2);
}

/// Spins until the condition holds; a minute at most.
template <class Condition>
bool eventually(const Condition& condition)
{
    return test::waitFor(condition, 60'000);
}

} // namespace

class SugarPhotographsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void builtInSceneNeedsNoFiles();
    void pinholePicturesPassBitExactly();
    void sizesFollowTheRule();
    void otherSizesScaleTheIntrinsics();
    void orientationCountsOnlyWhereItFits();
    void missingAndBrokenFilesAreFindings();
    void noPhotographIsAnError();
    void transparencyShowsTheBackground();
    void masksSayWhichPixelsCount();
    void masksBendWithTheirPicture();
    void distortedPicturesMatchTheirPinholeCamera();
    void budgetDropsTheLongestUnused();
    void smallerPicturesCountInTheBudget();
    void pictureIsLoadedOnceForManyThreads();
    void prefetchReadsAheadWithinTheBudget();
    void failedLoadIsTriedAgain();
    void fingerprintFollowsTheFiles();
    void fileThatChangedIsAnError();
    void foxIsReady();
};

void SugarPhotographsTest::builtInSceneNeedsNoFiles()
{
    Photographs photographs(syntheticScene({80, 60, false, 1}), {.scale = 2});
    QCOMPARE(photographs.count(), 28u);
    QCOMPARE(photographs.cameras()[0].width, 40);
    QCOMPARE(photographs.get(0)->image.width, 40);
    QCOMPARE(photographs.get(0)->image.height, 30);
    QVERIFY(photographs.get(0)->mask.empty());
    QVERIFY(photographs.findings().empty());
    QCOMPARE(photographs.name(4), "train_00.png");
}

void SugarPhotographsTest::pinholePicturesPassBitExactly()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    const Scene scene = syntheticScene({40, 30, false, 1});
    writeScene(root, scene, SceneFormat::ColmapBinary);
    Photographs photographs(readScene(root), {});
    QCOMPARE(photographs.count(), 28u);
    for (std::size_t i = 0; i < 28; ++i) {
        QVERIFY(photographs.get(i)->image.pixels ==
                readPng(root / "images" / photographs.name(i)).pixels);
        QCOMPARE(photographs.cameras()[i].fx, scene.cameras[0].fx());
    }
    QVERIFY(photographs.cachedBytes() == 28u * 40 * 30 * 3);
}

void SugarPhotographsTest::sizesFollowTheRule()
{
    const auto size = [](int w, int h, double scale, int maxWidth) {
        const ImageHeader header = scaledSize(w, h, {.scale = scale, .maxWidth = maxWidth});
        return std::array{header.width, header.height};
    };
    QVERIFY(size(5187, 3361, 1, 1920) == (std::array{1920, 1244})); // specification 2.5
    QVERIFY(size(5187, 3361, 1.6, 0) == (std::array{3242, 2101}));
    QVERIFY(size(533, 949, 2, 1920) == (std::array{267, 475}));
    QVERIFY(size(100, 50, 1, 0) == (std::array{100, 50}));
    QVERIFY(size(3, 1, 8, 0) == (std::array{1, 1}));
}

void SugarPhotographsTest::otherSizesScaleTheIntrinsics()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    Scene scene = syntheticScene({40, 30, false, 1});
    writeScene(root, scene, SceneFormat::ColmapBinary);
    writePng(root / "images/test_00.png", makeImage(20, 15, 3, 9));
    const Photographs photographs(readScene(root), {});
    QCOMPARE(photographs.cameras()[0].width, 20);
    QCOMPARE(photographs.cameras()[0].fx, scene.cameras[0].fx() / 2);
    QCOMPARE(photographs.cameras()[0].cy, scene.cameras[0].cy() / 2);
    QCOMPARE(photographs.cameras()[1].width, 40);
    QVERIFY(sentencesOf(photographs).starts_with("1 of 28 photographs have another size"));
    QVERIFY(photographs.findings()[0].severity == SceneFinding::Severity::Notice);
    writePng(root / "images/test_01.png", makeImage(30, 40, 3, 9));
    const Photographs odd(readScene(root), {});
    QVERIFY(odd.findings()[0].severity == SceneFinding::Severity::Warning);
    QVERIFY(sentencesOf(odd).find("the shape differs") != std::string::npos);
}

void SugarPhotographsTest::orientationCountsOnlyWhereItFits()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    Scene scene = syntheticScene({32, 16, false, 1});
    scene.views.resize(2);
    writeScene(root, scene, SceneFormat::ColmapBinary);
    Image lying = makeImage(32, 16, 3, 0), standing = makeImage(16, 32, 3, 0);
    for (int y = 0; y < 32; ++y) {
        for (int x = 0; x < 16; ++x) // bright above, where orientation 6 has its right side
            std::fill_n(standing.row(y) + 3 * x, 3, static_cast<std::uint8_t>(y < 16 ? 255 : 0));
    }
    for (int y = 0; y < 16; ++y)
        std::fill_n(lying.row(y), 48, std::uint8_t{255}); // bright at the left
    fs::create_directories(root / "images");
    writeFileAtomic(root / "images/test_00.png", withOrientation(encodeJpeg(lying), 6));
    writeFileAtomic(root / "images/test_01.png", withOrientation(encodeJpeg(standing), 6));
    Photographs photographs(readScene(root), {});
    const Image asStored = photographs.get(0)->image, turned = photographs.get(1)->image;
    QCOMPARE(asStored.width, 32);
    QVERIFY(asStored.row(8)[3] > 200 && asStored.row(8)[3 * 30] < 50);
    QCOMPARE(turned.width, 32);
    QCOMPARE(turned.height, 16);
    QVERIFY(turned.row(8)[3 * 30] > 200 && turned.row(8)[3] < 50); // above became right
    QCOMPARE(photographs.cameras()[1].width, 32);
}

void SugarPhotographsTest::missingAndBrokenFilesAreFindings()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    writeScene(root, syntheticScene({40, 30, false, 1}), SceneFormat::ColmapText);
    fs::remove(root / "images/test_00.png");
    writeFileAtomic(root / "images/train_05.png", std::string_view("no picture"));
    fs::resize_file(root / "images/train_06.png", 20);
    const std::string whole = readFile(root / "images/train_07.png");
    writeFileAtomic(root / "images/train_07.png", whole.substr(0, whole.size() / 2));
    Photographs photographs(readScene(root), {});
    QCOMPARE(photographs.count(), 25u);
    QCOMPARE(photographs.cameras().size(), 25u);
    QCOMPARE(photographs.name(0), "test_01.png");
    const std::string sentences = sentencesOf(photographs);
    QVERIFY(sentences.find("test_00.png is left out. Cannot read") != std::string::npos);
    QVERIFY(sentences.find("is neither PNG nor JPEG") != std::string::npos);
    QVERIFY(sentences.find("train_06.png is left out. The header of") != std::string::npos);
    std::size_t torn = 0;
    while (photographs.name(torn) != "train_07.png")
        ++torn;
    QVERIFY_THROWS_EXCEPTION(InputError, photographs.get(torn));
    QCOMPARE(photographs.get(0)->image.width, 40); // the others go on
}

void SugarPhotographsTest::noPhotographIsAnError()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    writeScene(root, syntheticScene({16, 12, false, 1}), SceneFormat::ColmapBinary);
    fs::remove_all(root / "images");
    VERGENCE_THROWS(InputError, "None of the 28 photographs", Photographs(readScene(root), {}));

    // Two are enough where there were no more, but not where others are broken.
    const QTemporaryDir other;
    const fs::path few = other.path().toStdString();
    Scene scene = syntheticScene({16, 12, false, 1});
    scene.views.resize(4);
    writeScene(few, scene, SceneFormat::ColmapBinary);
    fs::remove(few / "images/test_00.png");
    QCOMPARE(Photographs(readScene(few), {}).count(), 3u);
    fs::remove(few / "images/test_01.png");
    VERGENCE_THROWS(InputError, "Only 2 of the 4 photographs", Photographs(readScene(few), {}));
    scene.views.resize(2);
    scene.views[0].image = few / "images/test_02.png";
    scene.views[1].image = few / "images/test_03.png";
    scene.painter = {};
    QCOMPARE(Photographs(scene, {}).count(), 2u);
}

void SugarPhotographsTest::transparencyShowsTheBackground()
{
    Image image = makeImage(2, 1, 4);
    image.pixels = {200, 100, 0, 255, 200, 100, 0, 51};
    const Image shown = opaque(image, {1, 1, 0});
    QVERIFY(shown.pixels == std::vector<std::uint8_t>({200, 100, 0, 244, 224, 0}));
    Image grey = makeImage(1, 1, 1, 77);
    QVERIFY(opaque(grey, {0, 0, 0}).pixels == std::vector<std::uint8_t>({77, 77, 77}));
}

void SugarPhotographsTest::masksSayWhichPixelsCount()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString(), masks = root / "masks";
    Scene scene = syntheticScene({40, 30, false, 1});
    scene.views.resize(4);
    writeScene(root, scene, SceneFormat::ColmapBinary);
    fs::create_directories(masks);
    Image left = makeImage(40, 30, 1, 0); // 21 columns count
    for (int y = 0; y < 30; ++y)
        std::fill_n(left.row(y), 21, std::uint8_t{200});
    writePng(masks / "test_00.png.png", left);
    writePng(masks / "test_01.png", makeImage(40, 30, 3, 255)); // all
    writePng(masks / "test_02.png", makeImage(20, 30, 1, 255)); // of another shape
    Image clear = makeImage(40, 30, 4, 255);                    // transparent above row 10
    for (int y = 0; y < 10; ++y) {
        for (int x = 0; x < 40; ++x)
            clear.row(y)[4 * x + 3] = 0;
    }
    writePng(root / "images/test_03.png", clear);
    writePng(root / "images/test_00.png", clear);

    Photographs plain(readScene(root), {});
    QVERIFY(plain.get(0)->mask.empty() && plain.get(3)->mask.empty());
    QCOMPARE(plain.masked(), 0u);

    PhotographSettings settings;
    settings.scale = 2;
    settings.masks = masks;
    Photographs filed(readScene(root), settings);
    QCOMPARE(filed.masked(), 3u);
    const auto seen = [](Photographs& from, std::size_t i, int x, int y) {
        const auto photograph = from.get(i);
        return static_cast<int>(photograph->mask.at(static_cast<std::size_t>(y) * 20 + x));
    };
    for (const int x : {0, 9})
        QCOMPARE(seen(filed, 0, x, 2), 1);
    for (const int x : {10, 19}) // column 20 counts, column 21 does not
        QCOMPARE(seen(filed, 0, x, 2), 0);
    QVERIFY(filed.get(1)->mask.empty());
    VERGENCE_THROWS(InputError, "has 20 × 30 pixels", filed.get(2));
    QVERIFY(filed.get(3)->mask.empty());
    QVERIFY(sentencesOf(filed).find("1 of 4 photographs have no mask in") != std::string::npos);

    settings.alphaMasks = true;
    Photographs both(readScene(root), settings);
    QCOMPARE(seen(both, 3, 15, 4), 0);
    QCOMPARE(seen(both, 3, 15, 5), 1);
    QCOMPARE(seen(both, 0, 3, 4), 0); // the one and the other
    QCOMPARE(seen(both, 0, 3, 5), 1);
    QCOMPARE(seen(both, 0, 15, 5), 0);

    const std::string before = filed.fingerprint();
    QVERIFY(plain.fingerprint() != before);
    writePng(masks / "test_01.png", makeImage(40, 30, 1, 0));
    QVERIFY(Photographs(readScene(root), settings).fingerprint() != before);
}

void SugarPhotographsTest::masksBendWithTheirPicture()
{
    // Picture and mask are the same stripes; straightened they must still be, but for their edges.
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    Image picture = makeImage(160, 120, 3, 0);
    for (int y = 0; y < 120; ++y) {
        for (int x = 0; x < 160; ++x)
            std::fill_n(picture.row(y) + 3 * x, 3, static_cast<std::uint8_t>(x / 20 % 2 ? 255 : 0));
    }
    writePng(root / "a.png", picture);
    fs::create_directories(root / "masks");
    writePng(root / "masks/a.png", picture);
    Scene scene = syntheticScene({160, 120, false, 1});
    scene.painter = {};
    scene.views.resize(1);
    scene.views[0].name = "a.png";
    scene.views[0].image = root / "a.png";
    scene.cameras = {{1, CameraModel::OpenCv, 160, 120, {170, 170, 82, 59, -.15, .03, .001, 0}}};
    for (const std::string fit : {"inside", "all"}) {
        PhotographSettings settings;
        settings.fit = fit;
        settings.masks = root / "masks";
        Photographs photographs(scene, settings);
        const auto found = photographs.get(0);
        int wrong = 0, counting = 0;
        for (std::size_t i = 0; i < found->mask.size(); ++i) {
            counting += found->mask[i];
            wrong += found->mask[i] == 1 && found->image.pixels[3 * i] != 255;
        }
        QCOMPARE(wrong, 0);
        QVERIFY(counting > 160 * 120 / 3);
    }
}

void SugarPhotographsTest::distortedPicturesMatchTheirPinholeCamera()
{
    // The source is the built-in scene seen through a lens; straightened it must be the scene as
    // the pinhole camera sees it.
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    Scene scene = syntheticScene({320, 240, false, 1});
    scene.views.resize(1);
    const double f = scene.cameras[0].fx();
    const SourceCamera lens{1, CameraModel::OpenCv, 320, 240, {f, f, 163, 118, -.1, .02, .001, 0}};
    const Camera wide = [&] {
        Camera camera = pinholeCamera(scene.cameras[0], scene.views[0]);
        camera.fx = camera.fy = f;
        camera.cx = camera.width = 240;
        camera.cy = camera.height = 180;
        camera.width *= 2;
        camera.height *= 2;
        return camera;
    }();
    const Image around = syntheticPicture(wide);
    Image picture = makeImage(320, 240, 3);
    for (int y = 0; y < 240; ++y) {
        for (int x = 0; x < 320; ++x) {
            const auto q = lens.undistort((x + .5 - 163) / f, (y + .5 - 118) / f);
            const int px = static_cast<int>(std::lround(wide.fx * (*q)[0] + wide.cx - .5));
            const int py = static_cast<int>(std::lround(wide.fy * (*q)[1] + wide.cy - .5));
            std::copy_n(around.row(py) + 3 * px, 3, picture.row(y) + 3 * x);
        }
    }
    fs::create_directories(root);
    writePng(root / "a.png", picture);
    scene.painter = {};
    scene.cameras = {lens};
    scene.views[0].image = root / "a.png";
    for (const std::string fit : {"inside", "all", "keepK"}) {
        Photographs photographs(scene, {.scale = 2, .fit = fit});
        const Camera camera = photographs.cameras()[0];
        const auto found = photographs.get(0);
        QCOMPARE(camera.width, 160);
        QCOMPARE(found->mask.empty(), fit != "all");
        const Image expected = syntheticPicture(camera);
        double sum = 0;
        int count = 0;
        for (std::size_t i = 0; i < expected.pixels.size(); ++i) {
            if (!found->mask.empty() && found->mask[i / 3] == 0)
                continue;
            sum += std::pow((expected.pixels[i] - found->image.pixels[i]) / 255.0, 2);
            ++count;
        }
        const double quality = -10 * std::log10(sum / count);
        qInfo("%s: PSNR %.2f dB", fit.c_str(), quality);
        QVERIFY(quality > 33); // the source is sampled to the nearest pixel; 35 seen
    }
}

void SugarPhotographsTest::budgetDropsTheLongestUnused()
{
    std::atomic<int> loads = 0;
    PictureCache cache(
        [&](std::size_t i) {
            ++loads;
            auto photograph = std::make_shared<Photograph>();
            photograph->image = makeImage(10, 10, 1, static_cast<std::uint8_t>(i));
            return photograph;
        },
        250, 0);
    for (const std::size_t i : {0u, 1u, 0u, 2u, 0u}) // 1 goes when 2 comes
        QCOMPARE(cache.get(i)->image.pixels[0], static_cast<std::uint8_t>(i));
    QCOMPARE(loads, 3);
    QCOMPARE(cache.bytes(), 200u);
    cache.get(1);
    QCOMPARE(loads, 4);
    cache.get(0);
    QCOMPARE(loads, 4);
}

void SugarPhotographsTest::smallerPicturesCountInTheBudget()
{
    constexpr std::size_t kWhole = 3 * 32 * 24; // bytes; a quarter of the sides: 1/16 of them
    Photographs photographs(syntheticScene({32, 24, false, 1}), {.budgetBytes = kWhole});
    const auto first = photographs.get(0, 2);
    QCOMPARE(first->image.width, 8);
    QCOMPARE(first->image.height, 6);
    for (std::size_t i = 0; i < 16; ++i)
        photographs.get(i, 2);
    QVERIFY(photographs.get(0, 2) == first);
    QCOMPARE(photographs.cachedBytes(), kWhole);
    photographs.get(16, 2); // 1 goes
    QCOMPARE(photographs.cachedBytes(), kWhole);
    QVERIFY(photographs.get(0, 2) == first);
    QCOMPARE(photographs.get(0, 1)->image.width, 16);
    QCOMPARE(photographs.get(0)->image.width, 32);
    QCOMPARE(photographs.cachedBytes(), kWhole); // nothing else has room
    QVERIFY(photographs.get(0, 2) != first);
}

void SugarPhotographsTest::pictureIsLoadedOnceForManyThreads()
{
    std::atomic<int> loads = 0;
    PictureCache cache(
        [&](std::size_t i) {
            ++loads;
            auto photograph = std::make_shared<Photograph>();
            photograph->image = makeImage(50, 50, 1, static_cast<std::uint8_t>(i));
            return photograph;
        },
        1 << 20, 2);
    std::vector<std::jthread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < 200; ++i) {
                const std::size_t index = (i * 7 + static_cast<std::size_t>(t)) % 40;
                wrong += cache.get(index)->image.pixels[7] != index ? 1 : 0;
                cache.prefetch({(index + 1) % 40, (index + 2) % 40});
            }
        });
    }
    threads.clear();
    QCOMPARE(wrong, 0);
    QCOMPARE(loads, 40);
}

void SugarPhotographsTest::prefetchReadsAheadWithinTheBudget()
{
    std::atomic<int> loads = 0;
    PictureCache cache(
        [&](std::size_t) {
            ++loads;
            auto photograph = std::make_shared<Photograph>();
            photograph->image = makeImage(10, 10, 1);
            return photograph;
        },
        1000, 2);
    cache.prefetch({3, 1, 4, 1, 5});
    QVERIFY(eventually([&] { return cache.bytes() == 400; }));
    cache.get(4);
    QCOMPARE(loads, 4);
    std::vector<std::size_t> many(100);
    for (std::size_t i = 0; i < many.size(); ++i)
        many[i] = 100 + i;
    cache.prefetch(many);
    QVERIFY(eventually([&] { return cache.bytes() > 850; }));
    cache.prefetch({});
    QVERIFY(loads <= 4 + 8); // half the budget and what two threads had begun
}

void SugarPhotographsTest::failedLoadIsTriedAgain()
{
    std::atomic<int> loads = 0;
    PictureCache cache(
        [&](std::size_t) -> PictureCache::Picture {
            if (++loads < 3)
                throw InputError("not yet");
            return std::make_shared<Photograph>();
        },
        1000, 1);
    cache.prefetch({0});
    QVERIFY(eventually([&] { return loads == 1; }));
    QVERIFY(eventually([&] {
        try {
            cache.get(0);
            return true;
        } catch (const InputError&) {
            return false;
        }
    }));
    QCOMPARE(loads, 3);
}

void SugarPhotographsTest::fingerprintFollowsTheFiles()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    writeScene(root, syntheticScene({16, 12, false, 1}), SceneFormat::ColmapBinary);
    const auto fingerprint = [&] { return Photographs(readScene(root), {}).fingerprint(); };
    const std::string before = fingerprint();
    QCOMPARE(before.size(), 64u);
    QCOMPARE(fingerprint(), before);
    writePng(root / "images/train_03.png", makeImage(16, 12, 3, 1));
    const std::string after = fingerprint();
    QVERIFY(after != before);
    Scene scene = readScene(root);
    scene.views[5].translation[1] += 1e-9;
    QVERIFY(Photographs(scene, {}).fingerprint() != after);
}

void SugarPhotographsTest::fileThatChangedIsAnError()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    writeScene(root, syntheticScene({16, 12, false, 1}), SceneFormat::ColmapBinary);
    Photographs photographs(readScene(root), {});
    writePng(root / "images/test_00.png", makeImage(8, 6, 3, 1));
    VERGENCE_THROWS(InputError, "has changed: it was 16 × 12 and is 8 × 6", photographs.get(0));
}

void SugarPhotographsTest::foxIsReady()
{
    VERGENCE_DATA_FOLDER(fox, "fox");
    Photographs photographs(readScene(fox), {.scale = 4});
    QCOMPARE(photographs.count(), 50u);
    QVERIFY(photographs.findings().empty());
    photographs.prefetch({0, 1, 2});
    QCOMPARE(photographs.get(2)->image.width, 133);
    QCOMPARE(photographs.get(2)->image.height, 237);
    QVERIFY(std::abs(photographs.cameras()[2].cx - 133 / 2.0) < 20);
}

VERGENCE_TEST(SugarPhotographsTest)
#include "tst_sugar_photographs.moc"
