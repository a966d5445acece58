#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <QtTest>

#include <fmt/format.h>

#include "core/artifact/gif.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/sources/player.h"
#include "plugins/live_diffusion/stream/clip_export.h"
#include "plugins/live_diffusion/stream/deadline.h"
#include "plugins/live_diffusion/stream/live_stream.h"
#include "tests/plugins/live_diffusion/linear_network.h"
#include "tests/support/scratch.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using vergence::test::Scratch;

namespace {

constexpr FrameShape kSmall{1, 8, 8};
/// Long enough for anything on a busy machine; nothing waits for it where all is well.
constexpr double kPatience = 60;

/// A door that is opened once.
class Gate {
public:
    void open()
    {
        {
            const std::scoped_lock lock(m_mutex);
            m_isOpen = true;
        }
        m_changed.notify_all();
    }
    void pass(const std::stop_token& stop = {})
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, stop, [&] { return m_isOpen; });
    }

private:
    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    bool m_isOpen = false;
};

/// Frames whose grey is 100 + their number, of changing size; `before(number)` may wait or throw.
class CountingSource final : public Source {
public:
    explicit CountingSource(std::int64_t frames,
                            std::function<void(std::int64_t, const std::stop_token&)> before = {})
        : m_frames(frames),
          m_before(std::move(before))
    {
    }

    SourceInfo info() const override
    {
        SourceInfo info;
        info.name = "Counting";
        info.fps = 25;
        info.frames = m_frames;
        return info;
    }
    std::optional<SourceFrame> next(const std::stop_token& stop) override
    {
        if (m_before)
            m_before(m_next, stop);
        if (m_next >= m_frames || stop.stop_requested())
            return std::nullopt;
        SourceFrame frame;
        const int side = m_next % 2 ? 8 : 13;
        frame.rgb = makeImage(side, side, 3, static_cast<std::uint8_t>(100 + m_next % 100));
        frame.number = m_next;
        frame.seconds = 0.04 * static_cast<double>(m_next++);
        return frame;
    }
    void seek(double seconds) override { m_next = std::llround(seconds / 0.04); }

private:
    std::int64_t m_frames, m_next = 0;
    std::function<void(std::int64_t, const std::stop_token&)> m_before;
};

int numberOf(const Image& picture)
{
    return picture.pixels.at(0) - 100;
}

LoopSettings quickLoop()
{
    LoopSettings settings;
    settings.steps = 1;
    settings.cutCosine = -1;
    return settings;
}

LiveSettings asFastAsItGoes(Waiting waiting)
{
    LiveSettings settings;
    settings.waiting = waiting;
    settings.play.isPaced = settings.play.loops = false;
    settings.presentSlots = 16;
    return settings;
}

struct Parts {
    std::shared_ptr<LinearNetwork> network = std::make_shared<LinearNetwork>(kSmall);
    std::unique_ptr<FrameLoop> loop;

    explicit Parts(const LoopSettings& settings = quickLoop())
        : loop(std::make_unique<FrameLoop>(network, settings))
    {
        network->keepsRecords = false;
    }
};

/// Waits until `holds`; false when that takes for ever.
template <class Claim>
bool becomes(const Claim& holds)
{
    for (int i = 0; i < 60000; ++i) {
        if (holds())
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

/// Takes events until one of the kind comes; its text, or nothing.
std::optional<std::string> eventOf(LiveStream& stream, StreamEvent::Kind kind)
{
    std::optional<std::string> text;
    becomes([&] {
        for (const StreamEvent& event : stream.takeEvents()) {
            if (event.kind == kind && !text)
                text = event.text;
        }
        return text.has_value();
    });
    return text;
}

std::vector<PresentedFrame> allOf(LiveStream& stream)
{
    std::vector<PresentedFrame> frames;
    while (auto frame = stream.waitFor(kPatience))
        frames.push_back(std::move(*frame));
    return frames;
}

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

class TestLiveStream : public QObject {
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

    void whatCannotBeOpenedBecomesOrbits_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("name");
        QTest::newRow("zero-byte video") << int(SourceKind::Video) << "empty.mp4";
        QTest::newRow("no video") << int(SourceKind::Video) << "text.mp4";
        QTest::newRow("missing video") << int(SourceKind::Video) << "missing.mp4";
        QTest::newRow("missing folder") << int(SourceKind::Images) << "missing";
        QTest::newRow("camera") << int(SourceKind::Camera) << "/dev/no-camera";
    }
    void whatCannotBeOpenedBecomesOrbits()
    {
        QFETCH(int, kind);
        QFETCH(QString, name);
        const Scratch scratch;
        writeFileAtomic(scratch / "empty.mp4", "");
        writeFileAtomic(scratch / "text.mp4", "only words");
        SourceSettings settings;
        settings.kind = SourceKind(kind);
        settings.path = scratch / name.toStdString();
        settings.camera.device = name.toStdString();
        VERGENCE_THROWS(InputError, "", openSource(settings));
        const OpenedSource opened = openSourceOrOrbits(settings);
        QVERIFY2(opened.message.ends_with("Orbits takes its place."), opened.message.c_str());
        QVERIFY(opened.source->info().hasTarget && opened.source->next({}).has_value());
        settings.kind = SourceKind::Scene;
        QVERIFY(openSourceOrOrbits(settings).message.empty());
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

    // Deadlines ----------------------------------------------------------------------------------

    void theLadderGoesDownInOrder()
    {
        std::vector<std::string> rungs;
        for (const auto& rung : qualityLadder({4, 4, 512}))
            rungs.push_back(rung.text());
        QCOMPARE(rungs, (std::vector<std::string>{"512 px, p 4, 4 steps", "512 px, p 4, 2 steps",
                                                  "512 px, p 4, 1 step", "512 px, p 8, 1 step",
                                                  "256 px, p 8, 1 step", "128 px, p 8, 1 step"}));
        QCOMPARE(qualityLadder({2, 2, 64}).size(), std::size_t{2});
        const auto ladder = qualityLadder({4, 4, 512});
        QVERIFY(std::ranges::is_sorted(ladder, std::greater{}, &QualityLevel::cost));
    }

    void theKeeperStepsDownAndUpWithPatience()
    {
        const DeadlineSettings settings{.isOn = true, .budget = 0.04, .window = 60};
        DeadlineKeeper keeper(qualityLadder({4, 1, 64}), settings);
        int frame = 0;
        std::vector<std::pair<int, int>> changes;
        const auto run = [&](int frames, double oneStep) {
            for (int i = 0; i < frames; ++i, ++frame) {
                if (const auto level = keeper.add(oneStep * keeper.level().steps))
                    changes.emplace_back(frame, level->steps);
            }
        };
        run(60, 0.0094); // 4 steps: 37.6 ms, below 38
        QVERIFY(changes.empty() && !keeper.isReduced());
        QVERIFY(std::abs(keeper.percentile95() - 0.0376) < 1e-9);
        run(400, 0.012);                                                // 48, 24 ms
        QCOMPARE(changes, (std::vector<std::pair<int, int>>{{62, 2}})); // three slow frames of 60
        run(200, 0.006); // four would be foreseen to take 24 ms
        QCOMPARE(changes.size(), std::size_t{2});
        QCOMPARE(changes[1].second, 4);
        const int up = frame;
        run(120, 0.018); // too slow again: 72 ms, down to 36
        QCOMPARE(changes.size(), std::size_t{3});
        QCOMPARE(changes[2].second, 2);
        QVERIFY(changes[2].first - changes[1].first >= 120);
        const int down = changes[2].first;
        run(1000, 0.006); // up again only after 480
        QCOMPARE(changes.size(), std::size_t{4});
        QVERIFY(changes[3].first - down >= 480 && up > 0);
        DeadlineKeeper off(qualityLadder({4, 1, 64}), {});
        for (int i = 0; i < 500; ++i)
            QVERIFY(!off.add(1));
        VERGENCE_THROWS(ContractError, "one rung", DeadlineKeeper({}, settings));
    }

    // The stream ---------------------------------------------------------------------------------

    void everyFrameIsAnswered()
    {
        Parts parts, direct;
        LiveStream stream(std::make_unique<CountingSource>(40), std::move(parts.loop), [] {
            auto settings = asFastAsItGoes(Waiting::EveryFrame);
            settings.startsPaused = true;
            return settings;
        }());
        std::vector<std::vector<std::uint8_t>> heard;
        std::vector<int> inputs;
        stream.setListener([&](const PresentedFrame& frame) {
            heard.push_back(frame.output.pixels);
            inputs.push_back(numberOf(frame.input));
            QVERIFY(frame.captured <= frame.taken && frame.taken <= frame.finished);
        });
        QCOMPARE(stream.state(), StreamState::Paused);
        stream.setPaused(false);
        QVERIFY(becomes([&] { return stream.state() == StreamState::Ended; }));
        QCOMPARE(heard.size(), std::size_t{40});
        CountingSource again(40);
        for (std::size_t i = 0; i < 40; ++i) {
            QCOMPARE(inputs[i], int(i));
            direct.loop->process(again.next({})->rgb);
            QVERIFY(heard[i] == direct.loop->output().pixels); // threads change no bit
        }
        const DropCounts drops = stream.drops();
        QCOMPARE(drops.captured, std::int64_t{40});
        QCOMPARE(drops.replaced, std::int64_t{0});
        QCOMPARE(drops.late, std::int64_t{24}); // nobody looked: sixteen wait
        QCOMPARE(allOf(stream).size(), std::size_t{16});
        QCOMPARE(stream.drops().presented, std::int64_t{16});
        QCOMPARE(stream.totals().generated, std::int64_t{40});
        QVERIFY(eventOf(stream, StreamEvent::Kind::Ended).has_value());
    }

    void theNewestFrameWins_data()
    {
        QTest::addColumn<int>("waiting");
        QTest::addColumn<QList<int>>("seen");
        QTest::newRow("latest") << int(Waiting::LatestWins) << QList<int>{0, 9};
        QTest::newRow("two") << int(Waiting::FifoOfTwo) << QList<int>{0, 8, 9};
    }
    void theNewestFrameWins()
    {
        QFETCH(int, waiting);
        QFETCH(QList<int>, seen);
        Gate isBusy, mayGoOn;
        Parts parts;
        parts.network->onEvaluate = [&] {
            isBusy.open();
            mayGoOn.pass();
        };
        const auto before = [&](std::int64_t number, const std::stop_token& stop) {
            if (number == 1)
                isBusy.pass(stop); // the first frame is in the network
            if (number == 10)
                mayGoOn.open(); // and all others have come
        };
        LiveStream stream(std::make_unique<CountingSource>(10, before), std::move(parts.loop),
                          asFastAsItGoes(Waiting(waiting)));
        QList<int> numbers;
        for (const auto& frame : allOf(stream))
            numbers.append(numberOf(frame.input));
        QCOMPARE(numbers, seen);
        QCOMPARE(stream.drops().replaced, std::int64_t{10 - seen.size()});
        QCOMPARE(stream.drops().captured, std::int64_t{10});
    }

    /// A stream batch answers frames that came ticks ago: they are shown beside their own input.
    void answersStandBesideTheirInput()
    {
        LoopSettings loop = quickLoop();
        loop.steps = 3;
        loop.isStreamBatch = true;
        loop.usesHistory = loop.usesMemory = false;
        Parts parts(loop);
        LiveStream stream(std::make_unique<CountingSource>(12), std::move(parts.loop),
                          asFastAsItGoes(Waiting::EveryFrame));
        const auto frames = allOf(stream);
        QCOMPARE(frames.size(), std::size_t{10});
        for (std::size_t i = 0; i < frames.size(); ++i) {
            QCOMPARE(frames[i].record.shown, std::int64_t(i));
            QCOMPARE(numberOf(frames[i].input), int(i));
            QVERIFY(std::abs(numberOf(frames[i].output) - int(i)) <= 1);
            QVERIFY(std::abs(frames[i].sourceSeconds - 0.04 * double(i)) < 1e-9);
        }
    }

    void pausedMeansOneFrameAtATime()
    {
        Parts parts;
        LiveSettings settings = asFastAsItGoes(Waiting::EveryFrame);
        settings.startsPaused = true;
        LiveStream stream(std::make_unique<CountingSource>(100), std::move(parts.loop), settings);
        for (int i = 0; i < 3; ++i) {
            stream.stepOnce();
            QCOMPARE(numberOf(stream.waitFor(kPatience)->input), i);
            QCOMPARE(stream.drops().captured, std::int64_t{i + 1});
            QCOMPARE(stream.state(), StreamState::Paused);
        }
        stream.seek(0.04 * 50);
        stream.stepOnce();
        QCOMPARE(numberOf(stream.waitFor(kPatience)->input), 50);
        stream.setPaused(false);
        QVERIFY(becomes([&] { return stream.state() == StreamState::Ended; }));
        QCOMPARE(stream.drops().captured, std::int64_t{3 + 50});
        stream.stop();
        QCOMPARE(stream.state(), StreamState::Stopped);
        stream.stop();
    }

    void aStalledSourceIsSaidAndStopped()
    {
        Gate door;
        const auto before = [&](std::int64_t number, const std::stop_token& stop) {
            if (number == 2)
                door.pass(stop);
            if (number == 4)
                Gate().pass(stop); // for ever: only stop() helps
        };
        Parts parts;
        LiveSettings settings = asFastAsItGoes(Waiting::EveryFrame);
        settings.stallSeconds = 0.01;
        LiveStream stream(std::make_unique<CountingSource>(9, before), std::move(parts.loop),
                          settings);
        QVERIFY(eventOf(stream, StreamEvent::Kind::Stalled).has_value());
        door.open();
        QVERIFY(eventOf(stream, StreamEvent::Kind::Resumed).has_value());
        QVERIFY(becomes([&] { return stream.drops().captured == 4; }));
    } // the destructor stops a source that waits for ever

    void aSourceThatVanishesBecomesOrbits()
    {
        const auto before = [](std::int64_t number, const std::stop_token&) {
            if (number == 3)
                throw InputError("The camera is gone.");
        };
        Parts parts;
        LiveStream stream(std::make_unique<CountingSource>(9, before), std::move(parts.loop),
                          asFastAsItGoes(Waiting::EveryFrame));
        const auto text = eventOf(stream, StreamEvent::Kind::Message);
        QCOMPARE(*text, std::string("The camera is gone. Orbits takes its place."));
        QVERIFY(becomes([&] {
            const auto frame = stream.waitFor(kPatience);
            return frame && !frame->target.pixels.empty() && frame->record.isReset;
        }));
        stream.setSource(std::make_unique<CountingSource>(2));
        QVERIFY(becomes([&] { return stream.state() == StreamState::Ended; }));
    }

    void aNewPlanTakesOverAtAFrameAndAFailedOneDoesNot()
    {
        Gate mayBuild;
        Parts parts;
        LiveSettings settings = asFastAsItGoes(Waiting::EveryFrame);
        settings.play.loops = true;
        settings.presentSlots = 1;
        LiveStream stream(std::make_unique<CountingSource>(50), std::move(parts.loop), settings);
        stream.rebuild([]() -> std::unique_ptr<FrameLoop> {
            throw DeviceError("The card has 3 MiB left, the plan needs 7 MiB.",
                              ExitCode::OutOfMemory);
        });
        const auto failed = eventOf(stream, StreamEvent::Kind::RebuildFailed);
        QVERIFY(failed->find("needs 7 MiB. The old plan streams on.") != std::string::npos);
        const FrameShape larger{2, 8, 8};
        stream.rebuild([&] {
            mayBuild.pass();
            return std::make_unique<FrameLoop>(std::make_shared<LinearNetwork>(larger),
                                               quickLoop());
        });
        QVERIFY(eventOf(stream, StreamEvent::Kind::Rebuilding).has_value());
        const auto generated = stream.totals().generated;
        QVERIFY(becomes([&] { return stream.totals().generated > generated + 20; })); // meanwhile
        mayBuild.open();
        QVERIFY(eventOf(stream, StreamEvent::Kind::Rebuilt).has_value());
        QVERIFY(becomes([&] { return stream.waitFor(kPatience)->output.width == 16; }));
        QVERIFY(stream.totals().generated > generated + 20); // counts go on
    }

    void settingsAndResetTakeEffectBetweenFrames()
    {
        Parts parts;
        LiveSettings settings = asFastAsItGoes(Waiting::EveryFrame);
        settings.startsPaused = true;
        LiveStream stream(std::make_unique<CountingSource>(1000), std::move(parts.loop), settings);
        stream.stepOnce();
        QCOMPARE(stream.waitFor(kPatience)->record.evaluations, 1);
        LoopSettings loop = quickLoop();
        loop.steps = 5;
        stream.setLoopSettings(loop);
        stream.reset();
        stream.stepOnce();
        auto frame = stream.waitFor(kPatience);
        // The request may be seen with the frame or just before it.
        QVERIFY(frame->record.evaluations == 5 && frame->record.isReset);
        loop.steps = 40;
        loop.isStreamBatch = true; // more rows than the network has
        stream.setLoopSettings(loop);
        const auto refused = eventOf(stream, StreamEvent::Kind::RebuildFailed);
        QVERIFY(refused->find("40 batch rows") != std::string::npos);
        stream.stepOnce();
        QCOMPARE(stream.waitFor(kPatience)->record.evaluations, 5);
        loop.steps = 0;
        VERGENCE_THROWS(ContractError, "steps", stream.setLoopSettings(loop));
    }

    void theKeeperRebuildsWhatIsTooSlow()
    {
        Parts parts;
        LiveSettings settings = asFastAsItGoes(Waiting::EveryFrame);
        settings.play.loops = true;
        settings.deadline = {.isOn = true, .budget = 1e-9, .window = 10, .hysteresis = 20};
        std::vector<int> built;
        const auto ladder = qualityLadder({4, 1, 64});
        LiveStream stream(std::make_unique<CountingSource>(50), std::move(parts.loop), settings,
                          ladder, [&](const QualityLevel& level) {
                              built.push_back(level.steps);
                              LoopSettings loop = quickLoop();
                              loop.steps = level.steps;
                              return std::make_unique<FrameLoop>(
                                  std::make_shared<LinearNetwork>(kSmall), loop);
                          });
        QVERIFY(becomes([&] { return stream.level().steps == 1; }));
        stream.stop();
        QVERIFY(built.back() == 1 && built.size() <= 2);
        int levels = 0;
        for (const StreamEvent& event : stream.takeEvents())
            levels += event.kind == StreamEvent::Kind::Level;
        QCOMPARE(levels, 2);
        QVERIFY(stream.percentile95() > 0);
    }

    void skippedAndKeptFramesAreCountedApart()
    {
        LoopSettings loop = quickLoop();
        loop.filtersSimilar = true;
        loop.similarity = 0.5;
        Parts parts(loop);
        parts.network->badCalls = {1};
        LiveStream stream(std::make_unique<CountingSource>(30), std::move(parts.loop), [] {
            auto settings = asFastAsItGoes(Waiting::EveryFrame);
            settings.presentSlots = 16;
            return settings;
        }());
        QVERIFY(becomes([&] { return stream.state() == StreamState::Ended; }));
        const LoopTotals totals = stream.totals();
        QCOMPARE(totals.frames, std::int64_t{30});
        QCOMPARE(totals.kept, std::int64_t{1});
        QVERIFY(totals.skipped > 0);
        QCOMPARE(stream.drops().skipped, totals.skipped);
        QCOMPARE(totals.generated + totals.skipped + totals.kept, std::int64_t{30});
        const auto text = eventOf(stream, StreamEvent::Kind::NotFinite);
        QVERIFY(text && text->find("not finite") != std::string::npos);
    }

    void aBrokenNetworkEndsTheStreamAloud()
    {
        Parts parts;
        parts.network->onEvaluate = [] { throw DeviceError("The card was reset."); };
        LiveStream stream(std::make_unique<CountingSource>(30), std::move(parts.loop),
                          asFastAsItGoes(Waiting::EveryFrame));
        QVERIFY(becomes([&] { return stream.state() == StreamState::Failed; }));
        QVERIFY(!stream.waitFor(kPatience));
        QCOMPARE(*eventOf(stream, StreamEvent::Kind::Message),
                 std::string("The stream has failed: The card was reset."));
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

QTEST_APPLESS_MAIN(TestLiveStream)
#include "tst_live_stream.moc"
