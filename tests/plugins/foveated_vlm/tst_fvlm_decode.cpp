#include <cmath>

#include <QTest>

#include "core/artifact/gif.h"
#include "core/artifact/video/av_handles.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/decode.h"
#include "tests/plugins/foveated_vlm/made_video.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::fvlm;
using test::evenTimes;
using test::flatImage;
using test::Scratch;
using test::VideoPlan;

namespace {

/// Grey levels that codecs keep apart.
int levelOf(std::size_t frame)
{
    return 40 + static_cast<int>(frame * 7 % 180);
}

VideoPlan greyPlan(std::vector<double> times, int width = 64, int height = 48)
{
    VideoPlan plan;
    plan.width = width;
    plan.height = height;
    plan.times = std::move(times);
    plan.frame = [=](std::size_t i) {
        const int level = levelOf(i);
        return flatImage(width, height, level, level, level);
    };
    return plan;
}

DecodeSettings settingsFor(Sampling sampling, int frames, int size = 32, Fit fit = Fit::Crop)
{
    DecodeSettings settings;
    settings.sampling = sampling;
    settings.frames = frames;
    settings.size = size;
    settings.fit = fit;
    return settings;
}

std::size_t planeOf(const DecodedClip& clip)
{
    return clip.frames.size() / (static_cast<std::size_t>(clip.count) * 3);
}

/// The byte of a frame's channel at (x, y).
int at(const DecodedClip& clip, int frame, int channel, int x, int y)
{
    const auto side = static_cast<std::size_t>(std::lround(std::sqrt(planeOf(clip))));
    return clip
        .frames[((static_cast<std::size_t>(frame) * 3 + static_cast<std::size_t>(channel)) * side +
                 static_cast<std::size_t>(y)) *
                    side +
                static_cast<std::size_t>(x)];
}

/// Which frames of greyPlan() a clip holds, by their level.
std::vector<int> levels(const DecodedClip& clip)
{
    std::vector<int> result;
    for (int frame = 0; frame < clip.count; ++frame)
        result.push_back(at(clip, frame, 1, 8, 8));
    return result;
}

/// Whether the levels are those of the frames, within what the codec does to them.
bool areFrames(const std::vector<int>& got, const std::vector<std::size_t>& frames)
{
    if (got.size() != frames.size())
        return false;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::abs(got[i] - levelOf(frames[i])) > 3)
            return false;
    }
    return true;
}

QByteArray text(const std::vector<int>& values)
{
    QByteArray list;
    for (const int value : values)
        list += QByteArray::number(value) + " ";
    return list;
}

} // namespace

class TestFvlmDecode : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        std::string reason;
        QVERIFY2(canDecodeVideo(&reason), reason.c_str());
    }

    /// Which frames are taken, worked out by hand.
    void framesArePickedByTime_data()
    {
        QTest::addColumn<QList<double>>("times");
        QTest::addColumn<double>("end");
        QTest::addColumn<int>("sampling");
        QTest::addColumn<int>("frames");
        QTest::addColumn<QList<int>>("picks");
        const auto uniform = static_cast<int>(Sampling::UniformN);
        const auto linspace = static_cast<int>(Sampling::Linspace);
        const auto perSecond = static_cast<int>(Sampling::Fps1);
        QList<double> ten, uneven{0, 0.1, 0.2, 3, 3.9}, late{5, 6, 7, 8}, minute;
        for (int i = 0; i < 10; ++i)
            ten << i / 10.0;
        for (int i = 0; i < 600; ++i)
            minute << i / 10.0;
        QTest::newRow("midpoints") << ten << 1.0 << uniform << 5 << QList<int>{1, 3, 5, 7, 9};
        QTest::newRow("midpoint of one") << ten << 1.0 << uniform << 1 << QList<int>{5};
        QTest::newRow("by time, not by number")
            << uneven << 4.0 << uniform << 4 << QList<int>{2, 2, 2, 3};
        QTest::newRow("a late start") << late << 9.0 << uniform << 2 << QList<int>{1, 3};
        QTest::newRow("linspace") << ten << 1.0 << linspace << 4 << QList<int>{0, 3, 6, 9};
        QTest::newRow("linspace is rounded down")
            << ten << 1.0 << linspace << 8 << QList<int>{0, 1, 2, 3, 5, 6, 7, 9};
        QTest::newRow("linspace of one") << ten << 1.0 << linspace << 1 << QList<int>{0};
        QTest::newRow("the last one is held")
            << late << 9.0 << uniform << 6 << QList<int>{0, 1, 2, 3, 3, 3};
        QTest::newRow("the last one is held, linspace")
            << late << 9.0 << linspace << 6 << QList<int>{0, 1, 2, 3, 3, 3};
        QTest::newRow("all of them") << late << 9.0 << uniform << 4 << QList<int>{0, 1, 2, 3};
        QTest::newRow("one a second") << late << 9.0 << perSecond << 64 << QList<int>{0, 1, 2, 3};
        QTest::newRow("one a second of uneven ones")
            << uneven << 4.0 << perSecond << 64 << QList<int>{0, 2, 2, 3};
        QTest::newRow("less than a second") << ten << 1.0 << perSecond << 64 << QList<int>{0};
        QTest::newRow("the whole length, not its first seconds")
            << minute << 60.0 << perSecond << 3 << QList<int>{100, 300, 500};
    }
    void framesArePickedByTime()
    {
        QFETCH(QList<double>, times);
        QFETCH(double, end);
        QFETCH(int, sampling);
        QFETCH(int, frames);
        QFETCH(QList<int>, picks);
        const std::vector<double> given(times.begin(), times.end());
        QList<int> got;
        for (const std::size_t pick :
             pickFrames(given, end, static_cast<Sampling>(sampling), frames))
            got << static_cast<int>(pick);
        QCOMPARE(got, picks);
    }

    void everyContainerIsRead_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("codec");
        QTest::newRow("MP4") << "a.mp4"
                             << "mpeg4";
        QTest::newRow("AVI") << "a.avi"
                             << "mpeg4";
        QTest::newRow("Matroska") << "a.mkv"
                                  << "ffv1";
        QTest::newRow("WebM, VP8") << "a.webm"
                                   << "libvpx";
        QTest::newRow("WebM, VP9") << "a.webm"
                                   << "libvpx-vp9";
    }
    void everyContainerIsRead()
    {
        QFETCH(QString, name);
        QFETCH(QString, codec);
        if (!test::hasEncoder(codec.toStdString()))
            QSKIP("libav has no such encoder here");
        const Scratch scratch;
        VideoPlan plan = greyPlan(evenTimes(20, 10));
        plan.codec = codec.toStdString();
        plan.lastSeconds = 0.1;
        if (name.endsWith("avi"))
            plan.ticks = 10; // AVI knows no time but the number of the frame
        test::writeVideo(scratch / name.toStdString(), plan);
        const DecodedClip clip =
            decodeVideo(scratch / name.toStdString(), settingsFor(Sampling::UniformN, 4));
        QCOMPARE(clip.count, 4);
        QCOMPARE(clip.frames.size(), std::size_t(4 * 3 * 32 * 32));
        QVERIFY2(areFrames(levels(clip), {2, 7, 12, 17}), text(levels(clip)));
        QVERIFY(!clip.isShort && !clip.isImage && !clip.isRepaired);
        QVERIFY(std::abs(clip.seconds - 2.0f) < 0.11f);
        QVERIFY(std::abs(clip.fps - 10.f) < 0.6f);
        QCOMPARE(clip.timestamps.size(), std::size_t(4));
        QVERIFY(std::abs(clip.timestamps[1] - 0.7f) < 2e-3f);
    }

    /// Frames that are shown for different lengths are taken by their times.
    void unevenTimesAreHonoured()
    {
        const Scratch scratch;
        VideoPlan plan = greyPlan({0, 0.1, 0.2, 3, 3.9});
        plan.lastSeconds = 0.1;
        test::writeVideo(scratch / "a.mp4", plan);
        const auto uniform =
            levels(decodeVideo(scratch / "a.mp4", settingsFor(Sampling::UniformN, 4)));
        QVERIFY2(areFrames(uniform, {2, 2, 2, 3}), text(uniform));
        const auto linspace =
            levels(decodeVideo(scratch / "a.mp4", settingsFor(Sampling::Linspace, 3)));
        QVERIFY2(areFrames(linspace, {0, 2, 4}), text(linspace));
        const auto perSecond =
            levels(decodeVideo(scratch / "a.mp4", settingsFor(Sampling::Fps1, 9)));
        QVERIFY2(areFrames(perSecond, {0, 2, 2, 3}), text(perSecond));
    }

    void gifsAreVideos()
    {
        const Scratch scratch;
        std::vector<Image> frames;
        for (std::size_t i = 0; i < 6; ++i)
            frames.push_back(flatImage(40, 30, levelOf(i), levelOf(i), levelOf(i)));
        writeGif(scratch / "a.gif", frames, {.delayCentiseconds = 50});
        const DecodedClip clip = decodeVideo(scratch / "a.gif", settingsFor(Sampling::Linspace, 3));
        QVERIFY2(areFrames(levels(clip), {0, 2, 5}), text(levels(clip)));
        writeGif(scratch / "still.gif", {frames[3]}, {});
        const DecodedClip still =
            decodeVideo(scratch / "still.gif", settingsFor(Sampling::UniformN, 3));
        QVERIFY(still.isImage && !still.isShort);
        QVERIFY2(areFrames(levels(still), {3, 3, 3}), text(levels(still)));
    }

    void shortClipsHoldTheirLastFrame()
    {
        const Scratch scratch;
        test::writeVideo(scratch / "a.mp4", greyPlan(evenTimes(3, 10)));
        for (const Sampling sampling : {Sampling::UniformN, Sampling::Linspace}) {
            const DecodedClip clip = decodeVideo(scratch / "a.mp4", settingsFor(sampling, 5));
            QVERIFY(clip.isShort);
            QVERIFY2(areFrames(levels(clip), {0, 1, 2, 2, 2}), text(levels(clip)));
        }
    }

    /// Colours come back for every matrix and range that the file names.
    void coloursAreThoseOfTheStream_data()
    {
        QTest::addColumn<int>("matrix");
        QTest::addColumn<bool>("isFull");
        QTest::addColumn<int>("height");
        QTest::newRow("BT.601") << int(AVCOL_SPC_SMPTE170M) << false << 96;
        QTest::newRow("BT.709") << int(AVCOL_SPC_BT709) << false << 96;
        QTest::newRow("BT.709, full range") << int(AVCOL_SPC_BT709) << true << 96;
        QTest::newRow("not said, small: BT.601") << -1 << false << 96;
        QTest::newRow("not said, large: BT.709") << -1 << false << 720;
    }
    void coloursAreThoseOfTheStream()
    {
        QFETCH(int, matrix);
        QFETCH(bool, isFull);
        QFETCH(int, height);
        const std::vector<std::array<int, 3>> colours = {
            {200, 40, 60}, {30, 180, 70}, {50, 70, 210}, {128, 128, 128}, {235, 220, 30}};
        const Scratch scratch;
        VideoPlan plan;
        plan.codec = "ffv1";
        plan.width = 96;
        plan.height = height;
        plan.matrix = matrix;
        plan.isFullRange = isFull;
        plan.times = evenTimes(static_cast<int>(colours.size()), 10);
        plan.frame = [&](std::size_t i) {
            return flatImage(plan.width, plan.height, colours[i][0], colours[i][1], colours[i][2]);
        };
        test::writeVideo(scratch / "a.mkv", plan);
        const DecodedClip clip = decodeVideo(
            scratch / "a.mkv", settingsFor(Sampling::Linspace, static_cast<int>(colours.size())));
        for (std::size_t i = 0; i < colours.size(); ++i) {
            for (int channel = 0; channel < 3; ++channel) {
                const int got = at(clip, static_cast<int>(i), channel, 16, 16);
                const int want = colours[i][static_cast<std::size_t>(channel)];
                QVERIFY2(std::abs(got - want) <= 3,
                         qPrintable(QString("colour %1, channel %2: %3 instead of %4")
                                        .arg(i)
                                        .arg(channel)
                                        .arg(got)
                                        .arg(want)));
            }
        }
    }

    /// The left half is red, the rest blue; above all a white stripe.
    static Image oriented(int width, int height)
    {
        Image image = makeImage(width, height, 3);
        for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
                std::uint8_t* pixel = image.row(y) + 3 * x;
                const bool isTop = y < height / 4;
                pixel[0] = isTop || x < width / 2 ? 230 : 20;
                pixel[1] = isTop ? 230 : 20;
                pixel[2] = isTop || x >= width / 2 ? 230 : 20;
            }
        }
        return image;
    }

    void theDisplayMatrixIsHonoured_data()
    {
        QTest::addColumn<int>("degrees");
        QTest::addColumn<QList<int>>("white"); // a point in the stripe
        QTest::addColumn<QList<int>>("red");
        QTest::newRow("upright") << 0 << QList<int>{16, 2} << QList<int>{4, 24};
        QTest::newRow("a quarter") << 90 << QList<int>{29, 16} << QList<int>{8, 4};
        QTest::newRow("half a turn") << 180 << QList<int>{16, 29} << QList<int>{27, 8};
        QTest::newRow("three quarters") << 270 << QList<int>{2, 16} << QList<int>{24, 27};
    }
    void theDisplayMatrixIsHonoured()
    {
        QFETCH(int, degrees);
        QFETCH(QList<int>, white);
        QFETCH(QList<int>, red);
        const Scratch scratch;
        VideoPlan plan;
        plan.width = plan.height = 64;
        plan.times = evenTimes(2, 10);
        plan.turnedDegrees = degrees;
        plan.frame = [](std::size_t) { return oriented(64, 64); };
        test::writeVideo(scratch / "a.mp4", plan);
        const DecodedClip clip = decodeVideo(scratch / "a.mp4", settingsFor(Sampling::UniformN, 1));
        QVERIFY(at(clip, 0, 1, white[0], white[1]) > 180);
        QVERIFY(at(clip, 0, 0, red[0], red[1]) > 180);
        QVERIFY(at(clip, 0, 1, red[0], red[1]) < 80);
        QVERIFY(at(clip, 0, 2, red[0], red[1]) < 80);
    }

    /// Pixels twice as wide as high make a picture of 32 × 64 a square.
    void theAspectOfPixelsIsHonoured()
    {
        const Scratch scratch;
        VideoPlan plan;
        plan.width = 32;
        plan.height = 64;
        plan.aspectNum = 2;
        plan.times = evenTimes(2, 10);
        plan.frame = [](std::size_t) { return oriented(32, 64); };
        test::writeVideo(scratch / "a.mkv", plan);
        const DecodedClip clip = decodeVideo(scratch / "a.mkv", settingsFor(Sampling::UniformN, 1));
        QVERIFY(at(clip, 0, 1, 16, 3) > 180);  // nothing is cut above
        QVERIFY(at(clip, 0, 0, 1, 20) > 180);  // nor left
        QVERIFY(at(clip, 0, 2, 30, 20) > 180); // nor right
        const DecodedClip boxed =
            decodeVideo(scratch / "a.mkv", settingsFor(Sampling::UniformN, 1, 32, Fit::Letterbox));
        QVERIFY(boxed.frames == clip.frames);
    }

    void fitsCutPadOrSquash()
    {
        Image wide = flatImage(90, 30, 0, 0, 0);
        for (int y = 0; y < 30; ++y) {
            for (int x = 0; x < 90; ++x) // left third red, middle green, right blue
                wide.row(y)[3 * x + x / 30] = 255;
        }
        const auto byte = [](const std::vector<std::uint8_t>& frame, int channel, int x, int y) {
            return int(frame[static_cast<std::size_t>((channel * 30 + y) * 30 + x)]);
        };
        const auto crop = fittedFrame(wide, settingsFor(Sampling::UniformN, 1, 30, Fit::Crop));
        const auto squash = fittedFrame(wide, settingsFor(Sampling::UniformN, 1, 30, Fit::Squash));
        const auto box = fittedFrame(wide, settingsFor(Sampling::UniformN, 1, 30, Fit::Letterbox));
        for (const int x : {3, 15, 26}) {
            QCOMPARE(byte(crop, 1, x, 15), 255);
            QCOMPARE(byte(crop, 0, x, 15), 0);
        }
        QCOMPARE(byte(squash, 0, 4, 15), 255);
        QCOMPARE(byte(squash, 1, 15, 15), 255);
        QCOMPARE(byte(squash, 2, 25, 15), 255);
        for (int channel = 0; channel < 3; ++channel) {
            QCOMPARE(byte(box, channel, 15, 0), 128);
            QCOMPARE(byte(box, channel, 15, 9), 128);
            QCOMPARE(byte(box, channel, 15, 29), 128);
        }
        QCOMPARE(byte(box, 1, 15, 15), 255);
        QCOMPARE(byte(box, 0, 4, 12), 255);
    }

    /// A filter that skipped pixels would turn fine stripes into broad ones.
    void shrinkingDoesNotAlias()
    {
        Image stripes = makeImage(256, 256, 3);
        for (int y = 0; y < 256; ++y) {
            for (int x = 0; x < 256; ++x)
                std::fill_n(stripes.row(y) + 3 * x, 3, std::uint8_t(x % 2 ? 255 : 0));
        }
        const auto small = fittedFrame(stripes, settingsFor(Sampling::UniformN, 1, 24));
        for (std::size_t y = 4; y < 20; ++y) {
            for (std::size_t x = 4; x < 20; ++x)
                QVERIFY(std::abs(int(small[y * 24 + x]) - 128) <= 3);
        }
        const Image same = oriented(40, 40);
        const auto kept = fittedFrame(same, settingsFor(Sampling::UniformN, 1, 40));
        for (std::size_t i = 0; i < kept.size(); ++i)
            QCOMPARE(kept[i], same.pixels[i % 1600 * 3 + i / 1600]);
    }

    void whatCannotBeReadHasASentence_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("message");
        QTest::newRow("empty") << QByteArray() << "it is empty";
        QTest::newRow("text") << QByteArray("this is no video at all, only words\n").repeated(50)
                              << "cannot be used";
        QTest::newRow("zeros") << QByteArray(5000, '\0') << "cannot be used";
        QTest::newRow("GIF without pictures")
            << QByteArray("GIF89a\x10\0\x10\0\0\0\0;", 14) << "cannot be used";
    }
    void whatCannotBeReadHasASentence()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, message);
        const Scratch scratch;
        writeFileAtomic(scratch / "bad.mp4", bytes.toStdString());
        const QString said = test::thrown<InputError>(
            [&] { decodeVideo(scratch / "bad.mp4", settingsFor(Sampling::UniformN, 4)); });
        QVERIFY2(said.contains(message) && said.contains("bad.mp4"), qPrintable(said));
    }

    void cutAndDamagedVideosAreUsedOrNamed()
    {
        const Scratch scratch;
        VideoPlan plan = greyPlan(evenTimes(40, 10), 96, 96);
        plan.frame = [](std::size_t i) { // hard to compress
            Image noise = makeImage(96, 96, 3);
            for (std::size_t k = 0; k < noise.pixels.size(); ++k)
                noise.pixels[k] = static_cast<std::uint8_t>((k * k * 31 + i * 977 + k * 7) >> 3);
            return noise;
        };
        test::writeVideo(scratch / "a.mp4", plan);
        test::writeVideo(scratch / "a.mkv", plan);
        const std::string mp4 = readFile(scratch / "a.mp4"), mkv = readFile(scratch / "a.mkv");
        writeFileAtomic(scratch / "cut.mp4", mp4.substr(0, mp4.size() / 2)); // has lost its index
        VERGENCE_THROWS(InputError, "cut.mp4",
                        decodeVideo(scratch / "cut.mp4", settingsFor(Sampling::UniformN, 4)));
        writeFileAtomic(scratch / "cut.mkv", mkv.substr(0, mkv.size() / 2));
        const DecodedClip cut =
            decodeVideo(scratch / "cut.mkv", settingsFor(Sampling::UniformN, 4));
        QCOMPARE(cut.count, 4);
        QVERIFY(cut.seconds < 3.f && cut.seconds > 1.f);
        std::string damaged = mkv;
        for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 3000; ++i)
            damaged[i] = static_cast<char>(i * 37);
        writeFileAtomic(scratch / "damaged.mkv", damaged);
        const DecodedClip repaired =
            decodeVideo(scratch / "damaged.mkv", settingsFor(Sampling::UniformN, 4));
        QCOMPARE(repaired.count, 4);
        QVERIFY(repaired.isRepaired);
        VERGENCE_THROWS(InputError, "missing.mp4",
                        decodeVideo(scratch / "missing.mp4", settingsFor(Sampling::UniformN, 4)));
    }

    /// A container with sound alone: WAV is enough.
    void aFileWithoutVideoIsNamed()
    {
        const Scratch scratch;
        std::string wav(
            "RIFF\x24\x10\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x8\0"
            "data\0\x10\0\0",
            44);
        wav += std::string(4096, '\x80');
        writeFileAtomic(scratch / "sound.avi", wav);
        VERGENCE_THROWS(InputError, "it has no video stream",
                        decodeVideo(scratch / "sound.avi", settingsFor(Sampling::UniformN, 4)));
    }

    void settingsAreChecked()
    {
        VERGENCE_THROWS(ContractError, "8 to 4096 px",
                        decodeVideo("x.mp4", settingsFor(Sampling::UniformN, 4, 7)));
        VERGENCE_THROWS(ContractError, "1 to 1024 frames",
                        decodeVideo("x.mp4", settingsFor(Sampling::UniformN, 0)));
        QCOMPARE(fitFromName("letterbox"), Fit::Letterbox);
        QCOMPARE(samplingFromName("fps_1"), Sampling::Fps1);
        VERGENCE_THROWS(ContractError, "no fit `stretch`", fitFromName("stretch"));
        QVERIFY(hasVideoName("A.MP4") && hasVideoName("b.webm") && !hasVideoName("c.jpg"));
    }
};

VERGENCE_TEST(TestFvlmDecode)
#include "tst_fvlm_decode.moc"
