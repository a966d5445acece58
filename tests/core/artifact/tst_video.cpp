#include <algorithm>
#include <cmath>

#include <QtTest>

#include "core/artifact/video/video.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

namespace {

/// Grey that says which frame this is.
int greyOf(int frame)
{
    return 20 + 8 * frame;
}

Image greyFrame(int frame, int width, int height)
{
    return makeImage(width, height, 3, static_cast<std::uint8_t>(greyOf(frame)));
}

double meanOf(const Image& image)
{
    double sum = 0;
    for (const std::uint8_t value : image.pixels)
        sum += value;
    return sum / static_cast<double>(image.pixels.size());
}

void writeGreys(const std::filesystem::path& path, int frames, int width = 48, int height = 32,
                double fps = 20)
{
    const auto writer = requireVideoModule().writer(path, {width, height, fps});
    for (int i = 0; i < frames; ++i)
        writer->add(greyFrame(i, width, height));
    writer->finish();
}

/// Which of greyFrame() a picture is; −1 for none.
int frameOf(const Image& image)
{
    const int frame = static_cast<int>(std::lround((meanOf(image) - 20) / 8));
    return std::abs(meanOf(image) - greyOf(frame)) < 3 ? frame : -1;
}

} // namespace

class TestVideo : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        std::string reason;
        QVERIFY2(videoModule(&reason), reason.c_str());
        QVERIFY(hasVideoName("A.MP4") && hasVideoName("b.webm") && !hasVideoName("c.jpg"));
    }

    void whatIsWrittenIsRead_data()
    {
        QTest::addColumn<QString>("name");
        QTest::newRow("MP4") << "a.mp4";
        QTest::newRow("Matroska") << "a.mkv";
        QTest::newRow("AVI") << "a.avi";
    }
    void whatIsWrittenIsRead()
    {
        QFETCH(QString, name);
        const Scratch scratch;
        const auto path = scratch / name.toStdString();
        writeGreys(path, 24);
        const auto stream = requireVideoModule().stream(path, 1);
        QCOMPARE(stream->info().width, 48);
        QCOMPARE(stream->info().height, 32);
        QVERIFY(std::abs(stream->info().fps - 20) < 0.01);
        QVERIFY(std::abs(stream->info().seconds - 1.2) < 0.06);
        for (int i = 0; i < 24; ++i) {
            const auto frame = stream->next({});
            QVERIFY2(frame.has_value(), std::to_string(i).c_str());
            QCOMPARE(frameOf(frame->rgb), i);
            QVERIFY2(std::abs(frame->seconds - i / 20.0) < 2e-3,
                     std::to_string(frame->seconds).c_str());
            QVERIFY(std::abs(frame->lasts - 0.05) < 2e-3);
        }
        QVERIFY(!stream->next({}));
        QVERIFY(!stream->next({}));
    }

    /// Each place gives the frame shown there, whatever was read before.
    void seekingFindsTheFrameThatIsShown()
    {
        const Scratch scratch;
        writeGreys(scratch / "a.mp4", 26);
        const auto stream = requireVideoModule().stream(scratch / "a.mp4", 1);
        for (const auto& [place, frame] : std::vector<std::pair<double, int>>{{0.61, 12},
                                                                              {0.6, 12},
                                                                              {0, 0},
                                                                              {1.0, 20},
                                                                              {0.049, 0},
                                                                              {0.051, 1},
                                                                              {1.25, 25},
                                                                              {99, 25},
                                                                              {-3, 0}}) {
            stream->seek(place);
            const auto found = stream->next({});
            QVERIFY2(found.has_value(), std::to_string(place).c_str());
            QCOMPARE(frameOf(found->rgb), frame);
            const auto after = stream->next({});
            QCOMPARE(after.has_value(), frame < 25);
            if (after)
                QCOMPARE(frameOf(after->rgb), frame + 1);
        }
    }

    void aStoppedReaderGoesOn()
    {
        const Scratch scratch;
        writeGreys(scratch / "a.mp4", 5);
        const auto stream = requireVideoModule().stream(scratch / "a.mp4", 1);
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(!stream->next(stop.get_token()));
        QCOMPARE(frameOf(stream->next({})->rgb), 0);
    }

    /// Odd extents are filled up by their last column and row, not cut.
    void oddSizesAreFilledUp()
    {
        const Scratch scratch;
        writeGreys(scratch / "a.mp4", 3, 33, 21);
        const auto stream = requireVideoModule().stream(scratch / "a.mp4", 1);
        const auto frame = stream->next({});
        QCOMPARE(frame->rgb.width, 34);
        QCOMPARE(frame->rgb.height, 22);
        QCOMPARE(frameOf(frame->rgb), 0);
        for (const int i : {0, 33, 34 * 22 - 1})
            QVERIFY(std::abs(frame->rgb.pixels[static_cast<std::size_t>(3 * i)] - greyOf(0)) < 3);
    }

    void oneFrameIsAVideo()
    {
        const Scratch scratch;
        writeGreys(scratch / "a.mp4", 1);
        const auto stream = requireVideoModule().stream(scratch / "a.mp4", 1);
        for (int round = 0; round < 3; ++round) {
            QCOMPARE(frameOf(stream->next({})->rgb), 0);
            QVERIFY(!stream->next({}));
            stream->seek(0);
        }
    }

    void coloursComeBack()
    {
        const Scratch scratch;
        Image picture = makeImage(64, 64, 3);
        const int colours[4][3] = {{200, 40, 40}, {40, 180, 60}, {50, 60, 210}, {230, 220, 40}};
        for (int y = 0; y < 64; ++y) {
            for (int x = 0; x < 64; ++x)
                std::copy_n(colours[2 * (y / 32) + x / 32], 3, picture.row(y) + 3 * x);
        }
        const auto writer = requireVideoModule().writer(scratch / "a.mp4", {64, 64, 25, 10});
        writer->add(picture);
        writer->finish();
        QVERIFY(writer->codec() == "h264" || writer->codec() == "mpeg4");
        const auto read = requireVideoModule().stream(scratch / "a.mp4", 1)->next({});
        for (int i = 0; i < 4; ++i) {
            const std::uint8_t* pixel = read->rgb.row(32 * (i / 2) + 16) + 3 * (32 * (i % 2) + 16);
            for (int c = 0; c < 3; ++c)
                QVERIFY2(std::abs(pixel[c] - colours[i][c]) <= 6, std::to_string(pixel[c]).c_str());
        }
    }

    void whatCannotBeReadHasASentence()
    {
        const Scratch scratch;
        const VideoModule& video = requireVideoModule();
        writeFileAtomic(scratch / "empty.mp4", "");
        writeFileAtomic(scratch / "text.mp4", std::string(3000, 'x'));
        for (const char* name : {"empty.mp4", "text.mp4", "missing.mp4"})
            VERGENCE_THROWS(InputError, name, video.stream(scratch / name, 1));
        VERGENCE_THROWS(InputError, "no-such-format",
                        video.camera({"/dev/null", "no-such-format"}));
    }

    void whatCannotBeWrittenHasASentence()
    {
        const Scratch scratch;
        const VideoModule& video = requireVideoModule();
        VERGENCE_THROWS(OutputError, "nowhere",
                        video.writer(scratch / "nowhere/a.mp4", {48, 32, 25}));
        VERGENCE_THROWS(ContractError, "No container",
                        video.writer(scratch / "a.nothing", {48, 32}));
        VERGENCE_THROWS(ContractError, "2 to 8192", video.writer(scratch / "a.mp4", {1, 32}));
        const auto writer = video.writer(scratch / "a.mp4", {48, 32, 25});
        VERGENCE_THROWS(ContractError, "at least one frame", writer->finish());
        VERGENCE_THROWS(ContractError, "of the size", writer->add(makeImage(47, 32, 3)));
    }

    /// Without finish() nothing is left.
    void anUnfinishedVideoLeavesNothing()
    {
        const Scratch scratch;
        {
            const auto writer = requireVideoModule().writer(scratch / "a.mp4", {48, 32, 25});
            writer->add(greyFrame(0, 48, 32));
        }
        QVERIFY(vergence::test::contentOf(scratch.path()).empty());
    }

    /// libavdevice's generator stands for a camera: it comes in its own time and cannot seek.
    void aCameraIsRead()
    {
        std::unique_ptr<VideoStream> camera;
        try {
            camera =
                requireVideoModule().camera({"testsrc=size=64x48:rate=30", "lavfi", 64, 48, 30});
        } catch (const InputError& error) {
            if (QByteArray(error.what()).contains("libavdevice"))
                QSKIP(error.what());
            throw;
        }
        QCOMPARE(camera->info().seconds, 0.0);
        double last = -1;
        for (int i = 0; i < 5; ++i) {
            const auto frame = camera->next({});
            QVERIFY(frame.has_value());
            QCOMPARE(frame->rgb.width, 64);
            QCOMPARE(frame->rgb.height, 48);
            QVERIFY(frame->seconds > last);
            last = frame->seconds;
            camera->seek(0);
        }
        QVERIFY2(std::abs(last - 4 / 30.0) < 1e-3, std::to_string(last).c_str());
    }
};

VERGENCE_TEST(TestVideo)
#include "tst_video.moc"
