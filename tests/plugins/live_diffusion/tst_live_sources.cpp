#include <algorithm>
#include <cmath>
#include <fstream>

#include <QtTest>

#include <fmt/format.h>

#include "core/artifact/gif.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/sources/player.h"
#include "plugins/live_diffusion/stream/clip_export.h"
#include "tests/plugins/live_diffusion/counting_source.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using vergence::test::Scratch;

namespace {

/// A clock that stands still but for who sleeps.
struct FakeClock {
    double time = 1000;
    PlayClock clock()
    {
        return {[this] { return time; },
                [this](double until, const std::stop_token&) { time = until; }};
    }
};

} // namespace

class TestLiveSources : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { setLogToStderr(false); }

    // Sources ------------------------------------------------------------------------------------

    void namesAreInNaturalOrder()
    {
        std::vector<std::string> names = {"b10.png", "a.png",    "b9.png", "B2.png",
                                          "b09.png", "b010.png", "b.png",  "b10a.png"};
        std::ranges::sort(names,
                          [](const auto& a, const auto& b) { return naturallyBefore(a, b); });
        QCOMPARE(names, (std::vector<std::string>{"a.png", "b.png", "B2.png", "b09.png", "b9.png",
                                                  "b010.png", "b10.png", "b10a.png"}));
        QVERIFY(naturallyBefore("9", "18446744073709551616000")); // no number is too large
    }

    void aFolderOfPicturesIsAFilm()
    {
        const Scratch scratch;
        for (const int i : {10, 2, 1})
            writePng(scratch / fmt::format("p{}.PNG", i), makeImage(9, 7, i == 2 ? 1 : 4, 20));
        writeFileAtomic(scratch / "p3.png", "no picture");
        writeFileAtomic(scratch / "notes.txt", "none either");
        const auto source = imageSource(scratch.path(), 10);
        QCOMPARE(source->info().frames, std::int64_t{4});
        std::vector<double> seconds;
        while (const auto frame = source->next({})) {
            QCOMPARE(frame->rgb.channels, 3);
            QCOMPARE(int(frame->rgb.pixels[0]), 20);
            seconds.push_back(frame->seconds);
        }
        QCOMPARE(seconds, (std::vector<double>{0, 0.1, 0.2}));
        QCOMPARE(source->info().frames, std::int64_t{3}); // one was none
        source->seek(0.25);
        QCOMPARE(source->next({})->number, std::int64_t{2});
        const Scratch bad;
        writeFileAtomic(bad / "a.png", "");
        VERGENCE_THROWS(InputError, "No picture", imageSource(bad.path(), 10));
        VERGENCE_THROWS(InputError, "no folder", imageSource(bad / "missing", 10));
    }

    void scenesHaveTargetsAndPlaces()
    {
        const auto source = sceneSource({SceneKind::Orbits, 24, 32, 3}, 50, 5);
        QVERIFY(source->info().hasTarget);
        QCOMPARE(source->info().seconds, 0.1);
        const auto first = source->next({});
        QCOMPARE(first->rgb.width, 32);
        QCOMPARE(first->target.height, 24);
        QVERIFY(first->rgb.pixels != first->target.pixels);
        for (int i = 1; i < 5; ++i)
            QCOMPARE(source->next({})->number, std::int64_t{i});
        QVERIFY(!source->next({}));
        source->seek(0.04);
        QCOMPARE(source->next({})->number, std::int64_t{2});
        source->seek(0);
        QVERIFY(source->next({})->rgb.pixels == first->rgb.pixels);
        VERGENCE_THROWS(ContractError, "frames a second", sceneSource({}, 0));
    }

    /// Nothing takes the place of what people named: the sentence says what is wrong with it.
    void whatCannotBeOpenedSaysWhy_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("words");
        const auto video = int(SourceKind::Video), images = int(SourceKind::Images);
        QTest::newRow("zero-byte video") << video << "empty.mp4"
                                         << "empty";
        QTest::newRow("no video") << video << "text.mp4"
                                  << "text.mp4";
        QTest::newRow("missing video") << video << "missing.mp4"
                                       << "no file";
        QTest::newRow("folder as a video") << video << "folder"
                                           << "folder";
        QTest::newRow("broken GIF") << video << "broken.gif"
                                    << "broken.gif";
        QTest::newRow("GIF without pictures") << video << "none.gif"
                                              << "none.gif";
        QTest::newRow("no video named") << video << ""
                                        << "path";
        QTest::newRow("missing folder") << images << "missing"
                                        << "no folder";
        QTest::newRow("empty folder") << images << "folder"
                                      << "No picture";
        QTest::newRow("file as a folder") << images << "text.mp4"
                                          << "folder";
        QTest::newRow("no folder named") << images << ""
                                         << "path";
        QTest::newRow("camera") << int(SourceKind::Camera) << "/dev/no-camera"
                                << "no-camera";
    }
    void whatCannotBeOpenedSaysWhy()
    {
        QFETCH(int, kind);
        QFETCH(QString, name);
        QFETCH(QString, words);
        if (!videoModule() && SourceKind(kind) != SourceKind::Images)
            QSKIP("built without libav");
        const Scratch scratch;
        writeFileAtomic(scratch / "empty.mp4", "");
        writeFileAtomic(scratch / "text.mp4", "only words");
        std::filesystem::create_directory(scratch / "folder");
        const std::vector<Image> pictures(2, makeImage(16, 16, 3, 90));
        writeGif(scratch / "whole.gif", pictures, {});
        const std::string gif = readFile(scratch / "whole.gif");
        constexpr std::size_t kScreen = 13; // signature and logical screen
        std::string none = gif.substr(0, kScreen);
        none[10] = 0; // no palette follows
        writeFileAtomic(scratch / "none.gif", none + ";");
        writeFileAtomic(scratch / "broken.gif", gif.substr(0, kScreen + 2));
        SourceSettings settings;
        settings.kind = SourceKind(kind);
        if (!name.isEmpty())
            settings.path = scratch / name.toStdString();
        settings.camera.device = name.toStdString();
        VERGENCE_THROWS(InputError, words.toUtf8().constData(), openSource(settings));
    }

    void anUnreadableVideoSaysWhy()
    {
        const Scratch scratch;
        writeFileAtomic(scratch / "a.mp4", "closed");
        std::filesystem::permissions(scratch / "a.mp4", std::filesystem::perms::none);
        if (std::ifstream(scratch / "a.mp4"))
            QSKIP("this user reads everything");
        SourceSettings settings;
        settings.kind = SourceKind::Video;
        settings.path = scratch / "a.mp4";
        VERGENCE_THROWS(InputError, "a.mp4", openSource(settings));
    }

    void videosArePlayedFromBothEnds()
    {
        if (!videoModule())
            QSKIP("built without libav");
        const Scratch scratch;
        const auto writer = requireVideoModule().writer(scratch / "a.mp4", {33, 21, 10});
        for (int i = 0; i < 4; ++i)
            writer->add(makeImage(33, 21, 3, static_cast<std::uint8_t>(40 * i + 30)));
        writer->finish();
        Player player(videoSource(scratch / "a.mp4"), {.isPaced = false}, steadyClock());
        std::vector<std::int64_t> numbers;
        for (int i = 0; i < 10; ++i) {
            const auto frame = player.next({});
            numbers.push_back(frame->number);
            QVERIFY(std::abs(frame->rgb.pixels[0] - (40 * (i % 4) + 30)) <= 3);
        }
        QCOMPARE(numbers, (std::vector<std::int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1}));
        QCOMPARE(player.rounds(), 2);
        const auto one = requireVideoModule().writer(scratch / "one.mp4", {16, 16, 25});
        one->add(makeImage(16, 16, 3, 90));
        one->finish();
        Player still(videoSource(scratch / "one.mp4"), {.isPaced = false}, steadyClock());
        for (int i = 0; i < 5; ++i)
            QCOMPARE(still.next({})->number, std::int64_t{0});
    }

    // The player ---------------------------------------------------------------------------------

    void framesComeWhenTheyAreDue()
    {
        FakeClock fake;
        Player player(std::make_unique<CountingSource>(3), {}, fake.clock());
        std::vector<double> captured;
        for (int i = 0; i < 5; ++i)
            captured.push_back(player.next({})->captured - 1000);
        for (std::size_t i = 0; i < 5; ++i) // the second round follows without a gap
            QVERIFY(std::abs(captured[i] - 0.04 * static_cast<double>(i)) < 1e-9);
        player.setSettings({.speed = 4});
        QVERIFY(std::abs(player.next({})->captured - 1000 - 0.17) < 1e-9);
        player.setSettings({.fixedFps = 100});
        QVERIFY(std::abs(player.next({})->captured - 1000 - 0.18) < 1e-9);
        fake.time += 0.5; // somebody was slow: made up for
        QVERIFY(std::abs(player.next({})->captured - fake.time) < 1e-9);
        QVERIFY(std::abs(player.next({})->captured - fake.time) < 1e-9);
        fake.time += 10; // somebody slept: not made up for
        const double late = player.next({})->captured;
        QVERIFY(std::abs(player.next({})->captured - late - 0.01) < 1e-9);
        player.restartClock();
        fake.time += 0.7;
        QVERIFY(std::abs(player.next({})->captured - fake.time) < 1e-9);
        VERGENCE_THROWS(ContractError, "speed", player.setSettings({.speed = 0}));
    }

    void anInterruptedFrameIsNotLost()
    {
        FakeClock fake;
        std::stop_source stop;
        PlayClock clock = fake.clock();
        clock.sleepUntil = [&](double, const std::stop_token&) { stop.request_stop(); };
        Player player(std::make_unique<CountingSource>(9), {}, clock);
        QCOMPARE(player.next({})->number, std::int64_t{0});
        QVERIFY(!player.next(stop.get_token()));
        QCOMPARE(player.next({})->number, std::int64_t{1});
    }

    void onceMeansOnce()
    {
        Player player(std::make_unique<CountingSource>(2), {.loops = false, .isPaced = false},
                      steadyClock());
        QVERIFY(player.next({}) && player.next({}) && !player.next({}));
        player.seek(0.04);
        QCOMPARE(player.next({})->number, std::int64_t{1});
        Player empty(std::make_unique<CountingSource>(0), {.isPaced = false}, steadyClock());
        QVERIFY(!empty.next({})); // an empty loop does not spin
    }

    // Exports ------------------------------------------------------------------------------------

    void sheetsShowWhatTheyPromise()
    {
        const Image input = makeImage(30, 20, 3, 200), output = makeImage(8, 8, 3, 50);
        const Image both =
            composed(input, output, "x", {.view = ExportView::SideBySide, .scale = 4});
        QCOMPARE(both.width, 64);
        QCOMPARE(both.height, 32);
        QCOMPARE(int(both.row(31)[3 * 31]), 200);
        QCOMPARE(int(both.row(31)[3 * 32]), 50);
        const Image text = composed(input, output, "x", {.hasOverlay = true, .scale = 4});
        QCOMPARE(text.height, 43);
        QVERIFY(std::ranges::count(text.pixels, std::uint8_t{255}) > 10);
        VERGENCE_THROWS(ContractError, "scale", composed(input, output, "", {.scale = 0}));
    }

    void aGifCountsWhatItKeeps()
    {
        const Scratch scratch;
        const auto clip = openClip(scratch / "a.gif", {.format = ExportFormat::Gif});
        const Image picture = makeImage(16384, 8192, 3); // three of them are more than a gigabyte
        for (int i = 0; i < 3; ++i)
            clip->add(picture);
        clip->finish();
        QCOMPARE(readGif(scratch / "a.gif").frames.size(), std::size_t{3});
    }

    void clipsAreWritten()
    {
        const Scratch scratch;
        const auto write = [&](const std::string& name, ExportFormat format, int side) {
            const auto clip = openClip(scratch / name, {.format = format, .fps = 20});
            for (int i = 0; i < 3; ++i)
                clip->add(makeImage(side, side, 3, static_cast<std::uint8_t>(40 * i)));
            clip->finish();
        };
        write("a.gif", ExportFormat::Gif, 600);
        const GifContent gif = readGif(scratch / "a.gif");
        QCOMPARE(gif.frames.size(), std::size_t{3});
        QCOMPARE(gif.frames[0].width, 512);
        QCOMPARE(gif.delaysCentiseconds[0], 5);
        QCOMPARE(int(gif.frames[2].pixels[0]), 80);
        write("frames", ExportFormat::PngSequence, 8);
        QCOMPARE(int(readPng(scratch / "frames/000002.png").pixels[0]), 80);
        if (videoModule()) {
            write("a.mp4", ExportFormat::Mp4, 16);
            const auto video = requireVideoModule().stream(scratch / "a.mp4", 1);
            QVERIFY(std::abs(video->info().fps - 20) < 0.01);
            video->next({});
            video->next({});
            QVERIFY(std::abs(video->next({})->rgb.pixels[0] - 80) <= 3);
        }
        for (const auto format : {ExportFormat::Gif, ExportFormat::Mp4}) {
            if (format == ExportFormat::Mp4 && !videoModule())
                continue;
            VERGENCE_THROWS(OutputError, "nowhere", openClip(scratch / "nowhere/a.mp4", {format}));
            VERGENCE_THROWS(ContractError, "one frame",
                            openClip(scratch / "b.mp4", {format})->finish());
        }
        writeFileAtomic(scratch / "file", "");
        VERGENCE_THROWS(OutputError, "file",
                        openClip(scratch / "file/frames", {ExportFormat::PngSequence}));
    }
};

VERGENCE_TEST(TestLiveSources)
#include "tst_live_sources.moc"
