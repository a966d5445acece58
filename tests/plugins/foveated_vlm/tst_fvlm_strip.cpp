#include <cmath>

#include <QtTest>

#include "core/artifact/plot/stroke_face.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/patch_basis.h"
#include "plugins/foveated_vlm/view/frame_strip.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"
#include "tests/plugins/foveated_vlm/gaze_scenes.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

/// A drawn clip whose latents are predicted as those of the frame before.
StripScene predictedScene()
{
    SyntheticSettings settings;
    settings.task = SyntheticTask::Next;
    settings.count = 8;
    const SyntheticClips clips(settings);
    const PatchBasisLatents latents(clips);
    StripScene scene;
    scene.height = scene.width = 64;
    scene.frames = framesOf(clips, 2);
    scene.timestamps = clips.info(2).timestamps;
    scene.title = "clip 2";
    scene.latentHeight = scene.latentWidth = 8;
    scene.provider = latents.provider();
    scene.statistics = latents.statistics();
    scene.truth.resize(std::size_t(6) * 4 * 64);
    latents.read(2, scene.truth);
    scene.previous.assign(std::size_t(4) * 64, 0.0F);
    scene.previous.insert(scene.previous.end(), scene.truth.begin(), scene.truth.end() - 4 * 64);
    scene.predicted = scene.previous;
    return scene;
}

std::array<int, 3> stripPixel(const Image& image, int x, int y)
{
    const std::uint8_t* at = image.row(y) + x * image.channels;
    return {at[0], at[1], at[2]};
}

constexpr int kStripLeft = 90, kStripTop = 38, kCell = 112; ///< first frame of a strip

} // namespace

/// Frames of a clip beside what was predicted of them.
class TestFvlmStrip : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void framesStandWhereTheyBelong()
    {
        StripScene scene;
        scene.height = scene.width = 16;
        for (int t = 0; t < 3; ++t)
            for (int c = 0; c < 3; ++c)
                scene.frames.insert(scene.frames.end(), 256, std::uint8_t(40 * (t + 1) + c));
        const Image strip = frameStrip(scene);
        testing::keepPicture("strip_plain", strip);
        for (int t = 0; t < 3; ++t)
            QCOMPARE(stripPixel(strip, kStripLeft + t * (kCell + 4) + 50, kStripTop + 50),
                     (std::array{40 * (t + 1), 40 * (t + 1) + 1, 40 * (t + 1) + 2}));
    }

    void predictionsAreDecodedAndCompared()
    {
        const StripScene scene = predictedScene();
        for (const bool isDark : {true, false})
            testing::keepPicture(isDark ? "strip_dark" : "strip_light",
                                 frameStrip(scene, kCell, 16, isDark));
        const Image strip = frameStrip(scene);
        const int rows = 3 * (kCell + 4) + 2 * (kCell + 20) + kStripTop + 12;
        QCOMPARE(strip.height, rows);
        // What is predicted for frame 2 is what was true of frame 1.
        const int predicted = kStripTop + kCell + 20 + kCell + 4, truth = predicted + kCell + 4;
        for (int y = 0; y < kCell; y += 9)
            for (int x = 0; x < kCell; x += 9)
                QCOMPARE(stripPixel(strip, kStripLeft + kCell + 4 + x, predicted + y),
                         stripPixel(strip, kStripLeft + x, truth + y));
    }

    void errorsAreMeanSquares()
    {
        std::vector<float> truth(std::size_t(2) * 4 * 6, 0.0F), predicted = truth;
        predicted[0 * 6 + 2] = 3;      // frame 0, channel 0, place 2
        predicted[3 * 6 + 2] = 1;      // frame 0, channel 3, place 2
        predicted[24 + 1 * 6 + 5] = 2; // frame 1, channel 1, place 5
        const std::vector<float> errors = latentErrors(predicted, truth, 2, 3);
        std::vector<float> expected(12, 0.0F);
        expected[2] = 10.0F / 4;
        expected[6 + 5] = 4.0F / 4;
        QCOMPARE(errors, expected);
    }

    void otherProvidersGetTheirColoursByALinearMap()
    {
        std::vector<float> latents(4 * 2, 0.0F); // 1×2 places
        latents[1] = 1;                          // channel 0 of place 1
        const DecodedFrames grey = decodeLatents(latents, 1, 2, "vae", {});
        QCOMPARE(grey.width, 2);
        QCOMPARE(int(grey.pixels[0]), 128);
        QCOMPARE(int(grey.pixels[1]), int((0.298 + 1) * 127.5 + 0.5));
        QCOMPARE(int(grey.pixels[3]), int((0.207 + 1) * 127.5 + 0.5));
        const LatentStatistics statistics{{0, 2, 0, 0}, {1, 1, 1, 1}};
        const DecodedFrames moved = decodeLatents(latents, 1, 2, "file", statistics);
        QCOMPARE(int(moved.pixels[0]), int((2 * 0.187 + 1) * 127.5 + 0.5));
    }

    void someFramesOfLongClipsAreShown()
    {
        QCOMPARE(shownFrames(5, 16), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
        QCOMPARE(shownFrames(64, 4), (std::vector<std::size_t>{0, 21, 42, 63}));
        QCOMPARE(shownFrames(9, 1), (std::vector<std::size_t>{0}));
        QCOMPARE(frameName({0.5F}, 0), std::string("0.50 s"));
        QCOMPARE(frameName({0.5F}, 1), std::string("frame 2"));
    }

    void clipsAreNamedByTheirIds()
    {
        QCOMPARE(clipName(12), std::string("12"));
        QCOMPARE(clipName((std::uint64_t(1) << 32) + 3), std::string("v3"));
    }

    void longTitlesAreCut()
    {
        const std::string text = "clip v0: What does the triangle do?";
        QCOMPARE(fittedLines(text, 12, 1000), std::vector{text});
        const std::vector<std::string> two = fittedLines(text, 12, 122, 2);
        QCOMPARE(two.size(), std::size_t{2});
        for (const std::string& line : two)
            QVERIFY2(plot::strokedText(line, 12).width <= 122, line.c_str());
        QVERIFY(fittedLines(text, 12, 122).front().ends_with("…"));
        const std::string word = fittedLines("Übergrößenträger", 12, 50).front();
        QVERIFY(word.starts_with("Ü") && word.ends_with("…"));
        QVERIFY(plot::strokedText(word, 12).width <= 50);
    }

    void badInputIsRefused()
    {
        StripScene scene = predictedScene();
        scene.previous.pop_back();
        QVERIFY_EXCEPTION_THROWN(frameStrip(scene), ContractError);
        scene = predictedScene();
        scene.frames.pop_back();
        QVERIFY_EXCEPTION_THROWN(frameStrip(scene), ContractError);
        QVERIFY_EXCEPTION_THROWN(latentErrors(scene.truth, scene.truth, 7, 8), ContractError);
        QVERIFY_EXCEPTION_THROWN(decodeLatents(scene.truth, 7, 9, "vae", {}), ContractError);
    }
};

VERGENCE_TEST(TestFvlmStrip)
#include "tst_fvlm_strip.moc"
