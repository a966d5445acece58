#include <cmath>

#include <QtTest>

#include "core/artifact/gif.h"
#include "core/base/error.h"
#include "tests/plugins/foveated_vlm/gaze_scenes.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using test::isClose;

namespace {

/// [frames, blocks, heads, tokens] that say where they are.
GazeWeights numbered(Index frames, Index blocks, Index heads, Index tokens)
{
    GazeWeights weights{frames, blocks, heads, tokens, {}};
    for (Index i = 0; i < frames * blocks * heads * tokens; ++i)
        weights.values.push_back(static_cast<float>(0.01 * (1 + (i * 7) % 13)));
    return weights;
}

/// A frame of one grey with the given maps over it.
GazeScene greyScene(int edge, int patch, std::vector<float> coarse, std::vector<float> fine)
{
    GazeScene scene;
    scene.height = scene.width = edge;
    scene.frames.assign(std::size_t(3) * edge * edge, 128);
    scene.patch = patch;
    const Index grid = edge / patch;
    scene.coarse = {1, grid, grid, std::move(coarse), {0.25F}};
    scene.fine = {1, grid, grid, std::move(fine), {0.25F}};
    return scene;
}

std::array<int, 3> pixel(const Image& image, int x, int y)
{
    const std::uint8_t* at = image.row(y) + x * image.channels;
    return {at[0], at[1], at[2]};
}

// Where the frames of a picture with cells of 128 px lie.
constexpr int kLeft = 90, kTop = 56, kRow = 128 + 20;

} // namespace

/// Where looks went, as numbers and as pictures.
class TestFvlmGazeMap : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void mapsAreMeansWithoutLeadingTokens()
    {
        const GazeWeights weights = numbered(2, 3, 2, 1 + 6);
        const GazeMaps maps = gazeMaps(weights, 2, 3, {{0, 2}, {1}});
        for (Index t = 0; t < 2; ++t) {
            double sum[7] = {}, all = 0, seen = 0;
            for (Index i = 0; i < 7; ++i) {
                sum[i] =
                    weights.row(t, 0, 1)[std::size_t(i)] + weights.row(t, 2, 1)[std::size_t(i)];
                all += sum[i];
                seen += i > 0 ? sum[i] : 0;
            }
            QVERIFY(isClose(maps.removed[std::size_t(t)], sum[0] / all, 1e-6));
            for (Index i = 0; i < 6; ++i)
                QVERIFY(isClose(maps.values[std::size_t(t * 6 + i)], sum[i + 1] / seen, 1e-6));
        }
    }

    void theLastFourBlocksAreTheDefault()
    {
        const GazeWeights weights = numbered(1, 6, 2, 10);
        const GazeMaps chosen = gazeMaps(weights, 3, 3, {{2, 3, 4, 5}, {0, 1}});
        QCOMPARE(gazeMaps(weights, 3, 3).values, chosen.values);
        QVERIFY(gazeMaps(weights, 3, 3, {{0, 1, 2, 3, 4, 5}, {}}).values != chosen.values);
        const GazeWeights shallow = numbered(1, 1, 1, 9); // no class token
        const GazeMaps whole = gazeMaps(shallow, 3, 3);
        QVERIFY(isClose(whole.removed[0], 0, 1e-6));
    }

    void aFrameThatSeesOnlyRegistersIsEmpty()
    {
        GazeWeights weights{1, 1, 1, 5, {1, 0, 0, 0, 0}};
        const GazeMaps maps = gazeMaps(weights, 2, 2);
        QCOMPARE(maps.removed[0], 1.0F);
        QCOMPARE(maps.values, std::vector<float>(4, 0.0F));
    }

    void cosinesAreMeans()
    {
        const std::vector<float> a = {1, 0, 0, 2, 3, 4}, b = {2, 0, 0, -1, 4, 3};
        QVERIFY(isClose(meanCosine(a, b, 2), (1 - 1 + 24.0 / 25) / 3, 1e-9));
        QCOMPARE(cosine(std::vector<float>{0, 0}, std::vector<float>{1, 0}), 0.0);
        QVERIFY_EXCEPTION_THROWN(meanCosine(a, b, 4), ContractError);
    }

    void colouringFollowsTheWeights()
    {
        // One patch of four has everything: its middle gets the lightest colour, its opposite the
        // darkest, and half-way between the middles the map is half as high.
        const GazeScene scene = greyScene(16, 8, {0.25F, 0.25F, 0.25F, 0.25F}, {1, 0, 0, 0});
        GazeLook look;
        look.opacity = 1;
        const Image picture = gazePicture(scene, look);
        QCOMPARE(picture.channels, 4);
        const auto light = gazeColour(1), dark = gazeColour(0), half = gazeColour(0.5);
        const int fine = kTop + 2 * kRow;
        const auto shows = [&](int x, int y, const std::array<std::uint8_t, 3>& colour, int by) {
            const auto rgb = pixel(picture, x, y);
            return std::abs(rgb[0] - colour[0]) <= by && std::abs(rgb[1] - colour[1]) <= by &&
                   std::abs(rgb[2] - colour[2]) <= by;
        };
        QVERIFY(shows(kLeft + 16, fine + 16, light, 3));
        QVERIFY(shows(kLeft + 120, fine + 120, dark, 3));
        QVERIFY(shows(kLeft + 64, fine + 16, half, 6));
        QVERIFY(shows(kLeft + 64, kTop, {128, 128, 128}, 0));   // original
        QVERIFY(shows(kLeft + 64, kTop + kRow + 64, light, 3)); // coarse is even
        QVERIFY(shows(kLeft + 16, fine + kRow + 16, differenceColour(1), 4));
        QVERIFY(shows(kLeft + 120, fine + kRow + 120, differenceColour(-1.0 / 3), 6));
        look.opacity = 0.55;
        const auto mixed = pixel(gazePicture(scene, look), kLeft + 16, fine + 16);
        for (std::size_t c = 0; c < 3; ++c)
            QVERIFY(std::abs(mixed[c] - (128 + 0.55 * (light[c] - 128))) < 3);
    }

    void pixelsWithoutPatchStayAsTheyAre()
    {
        GazeScene scene = greyScene(16, 8, {1, 0, 0, 0}, {1, 0, 0, 0});
        scene.height = scene.width = 20; // as 256 px of which 252 are covered
        scene.frames.assign(std::size_t(3) * 20 * 20, 128);
        const Image picture = gazePicture(scene);
        const int covered = 128 * 16 / 20;
        QCOMPARE(pixel(picture, kLeft + covered + 3, kTop + kRow + 5), (std::array{128, 128, 128}));
        QCOMPARE(pixel(picture, kLeft + 5, kTop + kRow + covered + 3), (std::array{128, 128, 128}));
        QVERIFY(pixel(picture, kLeft + 5, kTop + kRow + 5) != (std::array{128, 128, 128}));
    }

    void oneScalePerRowOrPerFrame()
    {
        GazeScene scene = greyScene(16, 8, {0.4F, 0.2F, 0.2F, 0.2F}, {0.4F, 0.2F, 0.2F, 0.2F});
        scene.frames.insert(scene.frames.end(), scene.frames.begin(), scene.frames.end());
        for (GazeMaps* maps : {&scene.coarse, &scene.fine}) {
            maps->frames = 2;
            maps->values = {0.4F, 0.2F, 0.2F, 0.2F, 0.8F, 0.1F, 0.1F, 0};
            maps->removed = {0.1F, 0.2F};
        }
        GazeLook look;
        look.opacity = 1;
        const int second = kLeft + 132, y = kTop + kRow + 8;
        const Image common = gazePicture(scene, look);
        QCOMPARE(pixel(common, second + 8, y)[0], int(gazeColour(1)[0]));
        QVERIFY(std::abs(pixel(common, kLeft + 8, y)[0] - gazeColour(0.5)[0]) <= 2);
        look.scalesPerFrame = true;
        const Image each = gazePicture(scene, look);
        QCOMPARE(pixel(each, second + 8, y)[0], int(gazeColour(1)[0]));
        QCOMPARE(pixel(each, kLeft + 8, y)[0], int(gazeColour(1)[0]));
    }

    void picturesAreComplete_data()
    {
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("frames");
        QTest::addColumn<int>("patch");
        QTest::addColumn<bool>("isDark");
        QTest::newRow("demo") << 64 << 6 << 8 << true;
        QTest::newRow("light") << 64 << 6 << 8 << false;
        QTest::newRow("seed") << 256 << 8 << 14 << true;
        QTest::newRow("one") << 64 << 1 << 8 << true;
        QTest::newRow("long") << 64 << 40 << 8 << true;
    }
    void picturesAreComplete()
    {
        QFETCH(int, size);
        QFETCH(int, frames);
        QFETCH(int, patch);
        QFETCH(bool, isDark);
        GazeLook look;
        look.isDark = isDark;
        const GazeScene scene = testing::gazeScene(size, frames, patch);
        const Image picture = gazePicture(scene, look);
        testing::keepPicture((std::string("gaze_") + QTest::currentDataTag()).c_str(), picture);
        QCOMPARE(picture.height, kTop + 4 * kRow + 8);
        QVERIFY(picture.width >= kLeft + std::min(frames, 16) * 132);
        for (int i = 3; i < picture.width * picture.height * 4; i += 4)
            QVERIFY(picture.pixels[std::size_t(i)] == 255);
    }

    void animationsHaveOneFramePerFrame()
    {
        std::vector<GazeScene> scenes = {testing::gazeScene(64, 6, 8, 3),
                                         testing::gazeScene(64, 4, 8, 5)};
        const std::vector<Image> frames = gazeFrames(scenes);
        QCOMPARE(frames.size(), std::size_t(6));
        testing::keepPicture("gaze_animation", frames[2]);
        QVERIFY(frames[4].channels == 3 && frames[0].width == frames[5].width);
        QVERIFY(frames[0].pixels != frames[1].pixels);
        // The shorter clip holds its last frame.
        const int second = kLeft + 132;
        for (int y = 40; y < frames[5].height - 12; y += 7)
            for (int x = second; x < second + 128; x += 5)
                QCOMPARE(pixel(frames[5], x, y), pixel(frames[3], x, y));
        QVERIFY_EXCEPTION_THROWN(gazeFrames({}), ContractError);
    }

    void badInputIsRefused()
    {
        const GazeWeights weights = numbered(1, 2, 2, 9);
        QVERIFY_EXCEPTION_THROWN(gazeMaps(weights, 4, 3), ContractError);
        QVERIFY_EXCEPTION_THROWN(gazeMaps(weights, 2, 2, {{2}, {}}), ContractError);
        QVERIFY_EXCEPTION_THROWN(gazeMaps(weights, 2, 2, {{}, {-1}}), ContractError);
        GazeWeights torn = weights;
        torn.values.pop_back();
        QVERIFY_EXCEPTION_THROWN(gazeMaps(torn, 2, 2), ContractError);
        GazeScene scene = testing::gazeScene();
        scene.fine.removed.pop_back();
        QVERIFY_EXCEPTION_THROWN(gazePicture(scene), ContractError);
        scene = testing::gazeScene();
        scene.patch = 9;
        QVERIFY_EXCEPTION_THROWN(gazePicture(scene), ContractError);
    }
};

VERGENCE_TEST(TestFvlmGazeMap)
#include "tst_fvlm_gaze_map.moc"
