#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <QtTest>

#include "core/base/error.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/stream/live_stream.h"
#include "tests/plugins/live_diffusion/counting_source.h"
#include "tests/plugins/live_diffusion/linear_network.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;

namespace {

constexpr FrameShape kGray{1, 8, 8};
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
    std::shared_ptr<LinearNetwork> network = std::make_shared<LinearNetwork>(kGray);
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

} // namespace

class TestLiveStream : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { setLogToStderr(false); }

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
        stream.rebuild([](const QualityLevel&) -> std::unique_ptr<FrameLoop> {
            throw DeviceError("The card has 3 MiB left, the plan needs 7 MiB.",
                              ExitCode::OutOfMemory);
        });
        const auto failed = eventOf(stream, StreamEvent::Kind::RebuildFailed);
        QVERIFY(failed->find("needs 7 MiB. The old plan streams on.") != std::string::npos);
        const FrameShape larger{2, 8, 8};
        stream.rebuild([&](const QualityLevel&) {
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
                                  std::make_shared<LinearNetwork>(kGray), loop);
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

    void aLadderThatCannotBeBuiltLeavesTheOldOne()
    {
        Parts parts;
        LiveSettings settings = asFastAsItGoes(Waiting::EveryFrame);
        settings.startsPaused = settings.play.loops = true;
        settings.deadline = {.isOn = true, .budget = 1e-9, .window = 10, .hysteresis = 20};
        LiveStream stream(std::make_unique<CountingSource>(50), std::move(parts.loop), settings,
                          qualityLadder({4, 1, 64}), [](const QualityLevel& level) {
                              LoopSettings loop = quickLoop();
                              loop.steps = level.steps;
                              return std::make_unique<FrameLoop>(
                                  std::make_shared<LinearNetwork>(kGray), loop);
                          });
        const auto refuse = [](const QualityLevel&) -> std::unique_ptr<FrameLoop> {
            throw InputError("No such plan.");
        };
        stream.rebuild(refuse, qualityLadder({8, 1, 64}));
        QVERIFY(eventOf(stream, StreamEvent::Kind::RebuildFailed).has_value());
        stream.setPaused(false);
        QVERIFY(becomes([&] { return stream.level().steps == 1; }));
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
        VERGENCE_THROWS(DeviceError, "The card was reset.", stream.throwFailure());
    }
};

VERGENCE_TEST(TestLiveStream)
#include "tst_live_stream.moc"
