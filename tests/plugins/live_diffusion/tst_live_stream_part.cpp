#include <algorithm>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/artifact/gif.h"
#include "core/artifact/image.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/config/config.h"
#include "plugins/live_diffusion/live_diffusion_run.h"
#include "plugins/live_diffusion/session/stream_part.h"
#include "tests/plugins/live_diffusion/part_context.h"
#include "tests/plugins/live_diffusion/recording_device.h"
#include "tests/support/full_disk.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {

/// A part over a small network; live changes as people make them.
struct Bench {
    explicit Bench(const std::vector<std::string>& assignments)
    {
        ConfigBuilder builder(liveDiffusionSchema());
        for (const char* common :
             {"model_size=nano", "frame_size=16", "weights=bench", "precision=fp32", "tuned=false",
              "stream_frames=1000000", "export_clip=none"})
            builder.addAssignment(common);
        for (const std::string& assignment : assignments)
            builder.addAssignment(assignment);
        values = builder.build().config;
        expects(values.has_value(), "bench: assignments that fit");
        context.values = &*values;
        networks.emplace(context.device(), context.stream(),
                         readLiveDiffusionConfig(context.config()),
                         [](const std::string&, const std::string&) {});
    }
    void set(const std::string& key, ConfigValue value)
    {
        values = values->with(key, std::move(value), {});
    }
    /// Frames, then what is left behind.
    nlohmann::json finish(StreamPart& part, int frames)
    {
        steps(part, frames);
        part.finish(context);
        return nlohmann::json::parse(readFile(context.artifact("stream/stream.json")));
    }
    void steps(StreamPart& part, int frames)
    {
        for (int i = 0; i < frames; ++i)
            QVERIFY(part.step(context));
    }
    /// Of the table of moved switches.
    nlohmann::json rows(StreamPart& part)
    {
        part.view(context, {});
        const auto found = context.tables.find("switches");
        return found == context.tables.end() ? nlohmann::json::array() : found->second["rows"];
    }
    bool warned(const std::string& words) const
    {
        return std::ranges::any_of(context.warnings, [&](const std::string& sentence) {
            return sentence.find(words) != std::string::npos;
        });
    }

    std::optional<Config> values;
    PartContext context;
    std::optional<Networks> networks;
};

/// Steps until `holds`, for at most a hundred seconds.
template <class Claim>
bool becomes(Bench& bench, StreamPart& part, const Claim& holds)
{
    for (int i = 0; i < 1000 && !holds(); ++i)
        part.step(bench.context); // waits for up to 80 ms where nothing is finished
    return holds();
}

} // namespace

class TestLiveStreamPart : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { setLogToStderr(false); }

    void switchesMoveInTurn();
    void switchesMoveOnThreads();
    void switchesMoveTheSameWayEachTime();
    void sizesMoveToo_data();
    void sizesMoveToo();
    void weightsThatAreMissingChangeNothing();
    void whatTheDeviceLacksIsClosed();
    void plansAreKeptForAWhile();
    void theKeeperLowersSteps_data();
    void theKeeperLowersSteps();
    void aPictureIsKeptOfEachShownFrame();
    void aGifEndsAndPicturesDoNot();
    void finishingTwiceIsFinishingOnce();
    void resultsOnAFullDiskAreWrittenAgain();
    void aPictureOnAFullDiskIsWrittenLater();
    void whatIsTrainedComesFirst();
    void aFirstFrameMayTakeItsTime();
    void anEndedTimeEndsTheWaiting();
    void aBrokenCardFailsTheRun();
    void settingsThatCannotBeLeaveTheOldOnes_data();
    void settingsThatCannotBeLeaveTheOldOnes();
    void changesOfBeforeAreKeptByEveryPart();
    void aStreamBatchIsLateByItsTicks_data();
    void aStreamBatchIsLateByItsTicks();
    void aStreamBatchIsJudgedByItsOwnFrames();
    void theStreamAsksWhileItWorks();
    void aStopEndsEveryBeginning();
    void rebuildsGiveBackWhatTheyTook_data();
    void rebuildsGiveBackWhatTheyTook();
    void theTotalStaysWhatItWas();
    void aStreamThatIsOverIsClosed();
};

void TestLiveStreamPart::switchesMoveInTurn()
{
    Bench bench({"steps=2", "stream_batch=false"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    bench.steps(part, 6);
    bench.set("steps", std::int64_t{4}); // no new network
    bench.steps(part, 6);
    bench.set("fusion", false); // a new one, while the old one streams on
    QVERIFY(becomes(bench, part, [&] { return bench.rows(part).size() == 2; }));
    bench.steps(part, 6);
    bench.set("strength", 0.4); // nothing for the table
    const auto summary = bench.finish(part, 6);
    QCOMPARE(summary["steps"].get<int>(), 4);
    QVERIFY(summary["generated"].get<int>() >= 24);
    const auto& rows = summary["switches"]["rows"];
    QCOMPARE(rows.size(), std::size_t{2});
    QCOMPARE(rows[0][0].get<std::string>(), std::string("steps 2 to 4"));
    QCOMPARE(rows[1][0].get<std::string>(), std::string("fusion on to off"));
    for (const auto& row : rows) // times before and after, and their difference
        QVERIFY(row[1] != "–" && row[2] != "–" && row[3].get<std::string>().ends_with(" %"));
    QVERIFY(bench.context.tables.contains("switches"));
}

void TestLiveStreamPart::switchesMoveOnThreads()
{
    Bench bench({"paced=true", "fps=200", "steps=1"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    QVERIFY(becomes(bench, part, [&] { return bench.context.records["fps"].size() > 3; }));
    // Plans are made on a thread of their own, from copies, while the values move on.
    bench.set("fusion", false);
    QVERIFY(becomes(bench, part, [&] { return bench.rows(part).size() == 1; }));
    bench.set("layout", std::string("nchw"));
    part.step(bench.context);
    bench.set("steps", std::int64_t{3});
    part.step(bench.context);
    bench.set("attention", std::string("naive"));
    const auto told = [&] {
        std::string text;
        for (const auto& row : bench.rows(part))
            text += row[0].get<std::string>() + "; ";
        return text;
    };
    // In one row or several, by how fast plans are made; none is lost.
    for (const char* change : {"fusion on to off", "layout", "steps 1 to 3", "attention"})
        QVERIFY2(becomes(bench, part, [&] { return told().find(change) != std::string::npos; }),
                 change);
    const auto summary = bench.finish(part, 3);
    QCOMPARE(summary["steps"].get<int>(), 3);
    QVERIFY(summary["generated"].get<int>() > 6);
}

void TestLiveStreamPart::switchesMoveTheSameWayEachTime()
{
    const auto film = [] {
        Bench bench({"export_clip=png", "export_overlay=false", "steps=1"});
        StreamPart part(*bench.networks);
        part.begin(bench.context);
        bench.steps(part, 4);
        bench.set("steps", std::int64_t{3});
        bench.set("sampler", std::string("dpm"));
        bench.finish(part, 4);
        return readFile(bench.context.artifact("stream/frames/000007.png"));
    };
    const std::string first = film();
    QVERIFY(first.size() > 100);
    QVERIFY(first == film());
}

void TestLiveStreamPart::sizesMoveToo_data()
{
    QTest::addColumn<QString>("paced");
    QTest::newRow("in turn") << "paced=false";
    QTest::newRow("on threads") << "paced=true";
}

void TestLiveStreamPart::sizesMoveToo()
{
    QFETCH(QString, paced);
    Bench bench({paced.toStdString(), "fps=200", "steps=1", "export_clip=png"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    bench.steps(part, 3);
    const auto told = [&](const char* change) {
        const auto rows = bench.rows(part);
        return !rows.empty() && rows.back()[0] == change;
    };
    bench.set("frame_size", std::int64_t{32}); // two pixels a cell: other weights
    QVERIFY(becomes(bench, part, [&] { return told("frame 16 px to 32 px"); }));
    QCOMPARE(bench.networks->shape().width(), 32);
    bench.set("high_quality", true);
    QVERIFY(becomes(bench, part, [&] { return told("grid 16 to 32"); }));
    QCOMPARE(bench.networks->shape().gridWidth, 32);
    bench.set("high_quality", false);
    bench.set("model_size", std::string("pico"));
    QVERIFY(becomes(bench, part, [&] { return told("size Nano to Pico"); }));
    QCOMPARE(bench.networks->name(), std::string("Pico"));
    bench.set("channel_rounding", std::int64_t{64});
    QVERIFY(becomes(bench, part, [&] { return told("channel rounding 8 to 64"); }));
    bench.finish(part, 3);
    QVERIFY(bench.context.warnings.empty());
    // All pictures of the clip are as large as its first.
    const auto picture = [&](int frame) {
        return readPng(bench.context.artifact(fmt::format("stream/frames/{:06}.png", frame)));
    };
    int last = 0;
    while (std::filesystem::exists(
        bench.context.artifact(fmt::format("stream/frames/{:06}.png", last + 1))))
        ++last;
    QVERIFY(last >= 6);
    QCOMPARE(picture(last).width, picture(0).width);
}

void TestLiveStreamPart::weightsThatAreMissingChangeNothing()
{
    Bench bench({"steps=1"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    bench.steps(part, 2);
    const std::string hash = bench.networks->weightsHash();
    bench.set("weights", std::string("trained")); // past the rules
    QVERIFY(becomes(bench, part, [&] { return bench.warned("The old plan streams on."); }));
    bench.set("weights", std::string("bench"));
    bench.set("seed", std::int64_t{2});
    QVERIFY(becomes(bench, part, [&] { return bench.networks->weightsHash() != hash; }));
    const auto summary = bench.finish(part, 2);
    QVERIFY(summary["generated"].get<int>() >= 4);
}

void TestLiveStreamPart::whatTheDeviceLacksIsClosed()
{
    Bench bench({"steps=1"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    const auto isClosed = [&](const char* key, const char* value) {
        return std::ranges::any_of(bench.context.closed, [&](const ClosedChoice& choice) {
            return choice.key == key && choice.value == value && choice.reason.ends_with(".");
        });
    };
    QVERIFY(isClosed("precision", "tf32") && isClosed("graph", "true"));
    QVERIFY(!isClosed("precision", "fp32") && !isClosed("layout", "nchw"));
    const ConfigSchema schema = liveDiffusionSchema();
    for (const ClosedChoice& choice : bench.context.closed)
        QVERIFY2(schema.find(choice.key) != nullptr, choice.key.c_str());
}

void TestLiveStreamPart::plansAreKeptForAWhile()
{
    Bench bench({});
    const auto shelf = std::make_shared<PlanShelf>();
    const auto network = [&](int rows) {
        return shelf->network(*bench.networks, bench.networks->switches(), rows);
    };
    auto first = network(1);
    FrameNetwork* const kept = first.get();
    QVERIFY(network(1).get() != kept); // that one is in use; the other one is put aside
    std::vector<float> frame(static_cast<std::size_t>(kept->shape().values()), 0.5f);
    first->writeMemory(frame);
    first.reset();
    first = network(1); // the newest
    QVERIFY(first.get() == kept);
    QCOMPARE(first->memoryWrites(), 0);
    for (int rows = 2; rows <= 6; ++rows)
        network(rows);
    first.reset();
    QVERIFY(network(1).get() == kept);
    for (int rows = 2; rows <= 6; ++rows)
        network(rows); // more than are kept
    first = network(1);
    QCOMPARE(first->maxRows(), 1);
    Switches other = first->switches();
    other.fusion = !other.fusion;
    first->setSwitches(other); // as after a result that was not finite
    first.reset();
    QVERIFY(network(1)->switches() == bench.networks->switches());
}

void TestLiveStreamPart::theKeeperLowersSteps_data()
{
    QTest::addColumn<QString>("paced");
    QTest::newRow("in turn") << "paced=false";
    QTest::newRow("on threads") << "paced=true";
}

void TestLiveStreamPart::theKeeperLowersSteps()
{
    QFETCH(QString, paced);
    // Nothing of 40 steps is done in a millisecond; a window of 60 frames has to fill first.
    Bench bench({paced.toStdString(), "fps=200", "steps=40", "deadline_keeper=true", "budget=1"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    QVERIFY(becomes(bench, part, [&] { return bench.warned("goes to 16 px, p 1, 20 steps."); }));
    bench.set("steps", std::int64_t{6}); // a ladder of its own
    part.step(bench.context);
    QVERIFY(becomes(bench, part, [&] { return bench.warned("goes to 16 px, p 1, 3 steps."); }));
    // It counts from where the new plan is in use.
    QVERIFY(becomes(bench, part, [&] {
        const auto rows = bench.rows(part);
        const std::string newest = rows.empty() ? "" : rows.back()[0].get<std::string>();
        return newest.ends_with(" 3 steps.") || newest.ends_with(" 1 step.");
    }));
    QVERIFY(bench.finish(part, 1)["steps"].get<int>() <= 3);
}

void TestLiveStreamPart::aPictureIsKeptOfEachShownFrame()
{
    // A stream batch of three answers its first frame with the third.
    Bench bench({"export_clip=png", "steps=3", "stream_batch=true"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    bench.finish(part, 7);
    const auto all = bench.context.artifacts().list();
    const auto pictures = std::ranges::count_if(
        all, [](const Artifact& one) { return one.path.starts_with("artifacts/stream/frames/"); });
    QCOMPARE(pictures, std::ptrdiff_t{5});
    QVERIFY(bench.context.warnings.empty());
}

void TestLiveStreamPart::aGifEndsAndPicturesDoNot()
{
    for (const char* format : {"gif", "png"}) {
        Bench bench({std::string("export_clip=") + format, "steps=1", "sampler=turbo"});
        StreamPart part(*bench.networks);
        part.begin(bench.context);
        bench.finish(part, 253);
        QCOMPARE(std::filesystem::exists(bench.context.artifact("stream/frames/000252.png")),
                 std::string(format) == "png");
        QCOMPARE(std::filesystem::exists(bench.context.artifact("stream.gif")),
                 std::string(format) == "gif");
    }
}

void TestLiveStreamPart::finishingTwiceIsFinishingOnce()
{
    Bench bench({"export_clip=gif", "steps=1"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    const auto first = bench.finish(part, 3);
    part.finish(bench.context);
    QVERIFY(nlohmann::json::parse(readFile(bench.context.artifact("stream/stream.json"))) == first);
}

void TestLiveStreamPart::resultsOnAFullDiskAreWrittenAgain()
{
    Bench bench({"parts=[\"stream\"]", "stream_frames=3", "export_clip=gif", "steps=1"});
    LiveDiffusionRun run;
    run.prepare(bench.context);
    QVERIFY(run.step(bench.context) == StepOutcome::Continue);
    QVERIFY(run.step(bench.context) == StepOutcome::Continue);
    {
        const testing::FullDisk full(bench.context.artifact(""));
        for (int i = 0; i < 2; ++i) // the last step, then its results alone
            VERGENCE_THROWS(OutputError, "stream", run.step(bench.context));
    }
    const auto frames = bench.context.records["frame_ms"];
    QCOMPARE(frames.size(), std::size_t{3});
    QVERIFY(run.step(bench.context) == StepOutcome::Done);
    QVERIFY(bench.context.records["frame_ms"] == frames); // no step was made for it
    const auto summary =
        nlohmann::json::parse(readFile(bench.context.artifact("stream/stream.json")));
    QCOMPARE(summary["frames"].get<int>(), 3);
    QCOMPARE(readGif(bench.context.artifact("stream.gif")).frames.size(), std::size_t{3});
}

void TestLiveStreamPart::aPictureOnAFullDiskIsWrittenLater()
{
    const auto makeFilm = [](int fullAt, std::string& pictures) {
        Bench bench({"export_clip=png", "export_overlay=false", "steps=1"});
        StreamPart part(*bench.networks);
        part.begin(bench.context);
        for (int frame = 0; frame < 4; ++frame) {
            if (frame == fullAt) {
                const testing::FullDisk full(bench.context.artifact(""));
                for (int i = 0; i < 2; ++i)
                    VERGENCE_THROWS(OutputError, ".png", part.step(bench.context));
            }
            bench.steps(part, 1);
        }
        part.finish(bench.context);
        for (int frame = 0; frame < 4; ++frame)
            pictures +=
                readFile(bench.context.artifact(fmt::format("stream/frames/{:06}.png", frame)));
    };
    std::string whole, first, last;
    makeFilm(-1, whole);
    makeFilm(0, first);
    makeFilm(3, last);
    QVERIFY(first == whole);
    QVERIFY(last == whole);
}

void TestLiveStreamPart::whatIsTrainedComesFirst()
{
    ConfigBuilder builder(liveDiffusionSchema());
    builder.addAssignment("weights=trained");
    builder.addAssignment("parts=[\"distill\", \"train\"]");
    const auto result = builder.build();
    QVERIFY(!result.config);
    QVERIFY(std::ranges::any_of(result.issues, [](const ConfigIssue& issue) {
        return issue.key == "parts" && issue.sentence.find("train come first") != std::string::npos;
    }));
}

void TestLiveStreamPart::aFirstFrameMayTakeItsTime()
{
    // Longer than the part waits for a frame: pictures of 2048 px are drawn.
    Bench bench({"paced=true", "frame_size=2048", "steps=1", "stream_frames=1"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    while (part.step(bench.context)) {
    }
    QCOMPARE(bench.context.records["frame_ms"].size(), std::size_t{1});
}

void TestLiveStreamPart::anEndedTimeEndsTheWaiting()
{
    Bench bench({"paced=true", "frame_size=2048", "steps=1", "stream_seconds=0.01"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    QVERIFY(!part.step(bench.context));
    part.finish(bench.context);
}

void TestLiveStreamPart::aBrokenCardFailsTheRun()
{
    Bench bench({"paced=true", "fps=200", "steps=1", "graph=false"});
    const auto card = std::make_shared<RecordingDevice>();
    const auto stream = card->createStream();
    bench.networks.emplace(card, *stream, readLiveDiffusionConfig(bench.context.config()),
                           [](const std::string&, const std::string&) {});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    QVERIFY(becomes(bench, part, [&] { return bench.context.records["fps"].size() > 3; }));
    card->isRecording = true; // from here on its memory is closed
    const auto goOn = [&] {
        while (part.step(bench.context)) {
        }
    };
    VERGENCE_THROWS(ContractError, "RecordingDevice", goOn());
    card->isRecording = false;
}

void TestLiveStreamPart::settingsThatCannotBeLeaveTheOldOnes_data()
{
    QTest::addColumn<QString>("paced");
    QTest::newRow("in turn") << "paced=false";
    QTest::newRow("on threads") << "paced=true";
}

void TestLiveStreamPart::settingsThatCannotBeLeaveTheOldOnes()
{
    QFETCH(QString, paced);
    Bench bench({paced.toStdString(), "fps=200", "steps=2"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    bench.steps(part, 2);
    bench.set("strength", 0.001); // past the rules: one time has no room for two steps
    QVERIFY(becomes(bench, part, [&] { return bench.warned("steps do not fit"); }));
    QCOMPARE(bench.context.warnings.size(), std::size_t{1});
    bench.set("fusion", false); // what is built has them too
    QVERIFY(becomes(bench, part, [&] { return bench.context.warnings.size() > 1; }));
    bench.set("strength", 0.5);
    bench.set("fusion", true);
    bench.set("steps", std::int64_t{3});
    QVERIFY(becomes(bench, part, [&] {
        const auto rows = bench.rows(part);
        return !rows.empty() && rows.back()[0].get<std::string>().find("to 3") != std::string::npos;
    }));
    QCOMPARE(bench.finish(part, 3)["steps"].get<int>(), 3);
}

/// The run loop takes live changes of a checkpoint over between making a run and preparing it.
void TestLiveStreamPart::changesOfBeforeAreKeptByEveryPart()
{
    Bench bench({"parts=[\"profile\"]", "frame_size=64"});
    LiveDiffusionRun run;
    bench.set("model_size", std::string("pico"));
    run.prepare(bench.context);
    QCOMPARE(bench.context.notes["network"].get<std::string>(), std::string("Pico"));
}

void TestLiveStreamPart::aStreamBatchIsLateByItsTicks_data()
{
    QTest::addColumn<QString>("paced");
    QTest::newRow("in turn") << "paced=false";
    QTest::newRow("on threads") << "paced=true";
}

void TestLiveStreamPart::aStreamBatchIsLateByItsTicks()
{
    QFETCH(QString, paced);
    const auto summaryOf = [&](const char* batch) {
        Bench bench({paced.toStdString(), "fps=200", "steps=4", batch, "export_clip=none"});
        StreamPart part(*bench.networks);
        part.begin(bench.context);
        if (paced == "paced=true") // the summary is that of some frames, whenever they come
            becomes(bench, part, [&] { return bench.context.records["frame_ms"].size() > 20; });
        return bench.finish(part, paced == "paced=true" ? 1 : 20);
    };
    const auto one = summaryOf("stream_batch=false"), four = summaryOf("stream_batch=true");
    QCOMPARE(one.value("frame_ms_p50", 0.0), one.value("tick_ms_p50", -1.0));
    const double latency = four.value("frame_ms_p50", 0.0), tick = four.value("tick_ms_p50", 0.0);
    // The gaps between ticks count too; quantiles of the two need not be of one frame.
    QVERIFY2(tick > 0 && latency >= 3 * tick,
             qPrintable(QString("%1 of %2 ms").arg(latency).arg(tick)));
}

/// What stands beside an answer is the frame that it answers, not the one that came last.
void TestLiveStreamPart::aStreamBatchIsJudgedByItsOwnFrames()
{
    Bench bench({"network=oracle", "frame_size=64", "steps=4", "stream_batch=true", "history=false",
                 "memory=false"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    const auto summary = bench.finish(part, 12);
    QVERIFY2(summary["psnr"].get<double>() > 60, summary.dump(2).c_str());
}

void TestLiveStreamPart::theStreamAsksWhileItWorks()
{
    Bench bench({"steps=2"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    bench.steps(part, 1);
    bench.context.questions = 0;
    bench.steps(part, 1);
    const int all = bench.context.questions;
    QVERIFY2(all > 20, qPrintable(QString::number(all)));
    bench.context.questions = 0;
    bench.context.stopsAt = all / 2;
    const std::int64_t left = part.stepsLeft();
    QVERIFY(part.step(bench.context));
    QVERIFY(part.wasInterrupted());
    QCOMPARE(part.stepsLeft(), left);
    QVERIFY(bench.context.questions <= all / 2 + 2);
}

/// Weights are drawn, threads and algorithms timed, plans laid out: a stop ends that as well.
void TestLiveStreamPart::aStopEndsEveryBeginning()
{
    const std::vector<std::string> settings{"parts=[\"stream\", \"ab\"]", "tuned=true",
                                            "stream_frames=1"};
    Bench whole(settings);
    LiveDiffusionRun run;
    run.prepare(whole.context);
    whole.context.questions = 0;
    QVERIFY(run.step(whole.context) == StepOutcome::Continue);
    const int all = whole.context.questions;
    QVERIFY2(all > 20, qPrintable(QString::number(all)));
    for (const int at : {0, 2, all / 2}) {
        Bench bench(settings);
        LiveDiffusionRun stopped;
        stopped.prepare(bench.context);
        bench.context.questions = 0;
        bench.context.stopsAt = at;
        QVERIFY(stopped.step(bench.context) == StepOutcome::Interrupted);
        QVERIFY2(bench.context.questions <= at + 2, qPrintable(QString::number(at)));
        bench.context.stopsAt = -1;
        stopped.finish(bench.context); // as after a stop
    }
    Bench early(settings);
    early.context.questions = 0;
    early.context.stopsAt = 0;
    LiveDiffusionRun never;
    never.prepare(early.context); // throws nothing
}

void TestLiveStreamPart::rebuildsGiveBackWhatTheyTook_data()
{
    QTest::addColumn<QString>("paced");
    QTest::newRow("in turn") << "paced=false";
    QTest::newRow("on threads") << "paced=true";
}

/// However often switches are moved, no more plans are held than the shelf keeps, and nothing once
/// the stream is over.
void TestLiveStreamPart::rebuildsGiveBackWhatTheyTook()
{
    QFETCH(QString, paced);
    Bench bench({paced.toStdString(), "fps=200", "steps=1", "graph=false"});
    const auto card = std::make_shared<RecordingDevice>(); // all is built on it
    const auto stream = card->createStream();
    bench.networks.emplace(card, *stream, readLiveDiffusionConfig(bench.context.config()),
                           [](const std::string&, const std::string&) {});
    StreamPart part(*bench.networks);
    const std::size_t before = card->bytesInUse();
    part.begin(bench.context);
    const std::size_t one = card->bytesInUse() - before;
    QVERIFY(one > 0);
    std::size_t rows = 0;
    constexpr int kPlans = 16; // switches beside each other that all need plans of their own
    for (int i = 1; i <= 2 * kPlans; ++i) {
        bench.set("fusion", i % 2 == 0);
        bench.set("layout", std::string(i / 2 % 2 == 0 ? "nhwc" : "nchw"));
        bench.set("attention", std::string(i / 4 % 2 == 0 ? "flash" : "naive"));
        bench.set("collapsed_upsampling", i / 8 % 2 == 0);
        QVERIFY(becomes(bench, part, [&] { return bench.rows(part).size() > rows; }));
        rows = bench.rows(part).size();
        // The one in use, the one that was, four on the shelf.
        QVERIFY2(card->bytesInUse() - before < 8 * one,
                 qPrintable(QString("%1 switches: %2 bytes, a plan %3")
                                .arg(i)
                                .arg(card->bytesInUse() - before)
                                .arg(one)));
    }
    part.finish(bench.context);
    QCOMPARE(card->bytesInUse(), before);
}

/// Also where time ends a part early: what it leaves out counts as done.
void TestLiveStreamPart::theTotalStaysWhatItWas()
{
    Bench bench({"parts=[\"stream\", \"ab\", \"train\", \"onnx\"]", "steps=1", "stream_frames=60",
                 "stream_seconds=0.001", "ab_seconds=0.001", "train_updates=40",
                 "train_seconds=0.001", "warmup=0", "batch=1", "train_clips=1"});
    LiveDiffusionRun run;
    run.prepare(bench.context);
    const std::int64_t total = run.totalSteps();
    QVERIFY2(total > 60 + 40 + 5, qPrintable(QString::number(total)));
    for (StepOutcome outcome = StepOutcome::Continue; outcome == StepOutcome::Continue;) {
        outcome = run.step(bench.context);
        ++bench.context.steps;
        QCOMPARE(run.totalSteps(), total);
    }
    QCOMPARE(bench.context.steps, total);
    QCOMPARE(bench.context.phases,
             (std::vector<std::string>{"loading weights", "streaming", "A/B run", "training",
                                       "exporting ONNX"}));
    QVERIFY(bench.context.records["frame_ms"].size() < 60);
}

/// Nobody moves a switch where nothing streams any more.
void TestLiveStreamPart::aStreamThatIsOverIsClosed()
{
    Bench bench({"parts=[\"stream\", \"ab\"]", "steps=1", "stream_frames=2"});
    LiveDiffusionRun run;
    run.prepare(bench.context);
    run.step(bench.context);
    const auto isClosed = [&](const std::string& key) {
        return std::ranges::any_of(bench.context.closed, [&](const ClosedChoice& choice) {
            return choice.key == key && choice.value.empty() && choice.reason.ends_with(".");
        });
    };
    QVERIFY(!isClosed("steps") && !isClosed("fusion"));
    run.step(bench.context);
    const ConfigSchema schema = liveDiffusionSchema();
    for (const Field& field : schema.fields())
        QVERIFY2(isClosed(field.key) == field.isLive, field.key.c_str());
}

QTEST_GUILESS_MAIN(TestLiveStreamPart)
#include "tst_live_stream_part.moc"
