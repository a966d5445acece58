#include <algorithm>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/artifact/gif.h"
#include "core/artifact/image.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "tests/plugins/live_diffusion/recording_device.h"
#include "tests/plugins/live_diffusion/stream_bench.h"
#include "tests/support/full_disk.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::live::testing;
using namespace vergence::test;

class TestLiveStreamPart : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { setLogToStderr(false); }

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
    void aStreamBatchIsLateByItsTicks_data();
    void aStreamBatchIsLateByItsTicks();
    void aStreamBatchIsJudgedByItsOwnFrames();
    void theStreamAsksWhileItWorks();
    void aStopEndsEveryBeginning();
    void theTotalStaysWhatItWas();
    void aStreamThatIsOverIsClosed();
};

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
    StreamBench bench(
        {paced.toStdString(), "fps=200", "steps=40", "deadline_keeper=true", "budget=1"});
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
    StreamBench bench({"export_clip=png", "steps=3", "stream_batch=true"});
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
        StreamBench bench({std::string("export_clip=") + format, "steps=1", "sampler=turbo"});
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
    StreamBench bench({"export_clip=gif", "steps=1"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    const auto first = bench.finish(part, 3);
    part.finish(bench.context);
    QVERIFY(nlohmann::json::parse(readFile(bench.context.artifact("stream/stream.json"))) == first);
}

void TestLiveStreamPart::resultsOnAFullDiskAreWrittenAgain()
{
    StreamBench bench({"parts=[\"stream\"]", "stream_frames=3", "export_clip=gif", "steps=1"});
    LiveDiffusionRun run;
    run.prepare(bench.context);
    QVERIFY(run.step(bench.context) == StepOutcome::Continue);
    QVERIFY(run.step(bench.context) == StepOutcome::Continue);
    {
        const vergence::testing::FullDisk full(bench.context.artifact(""));
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
        StreamBench bench({"export_clip=png", "export_overlay=false", "steps=1"});
        StreamPart part(*bench.networks);
        part.begin(bench.context);
        for (int frame = 0; frame < 4; ++frame) {
            if (frame == fullAt) {
                const vergence::testing::FullDisk full(bench.context.artifact(""));
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
    StreamBench bench({"paced=true", "frame_size=2048", "steps=1", "stream_frames=1"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    while (part.step(bench.context)) {
    }
    QCOMPARE(bench.context.records["frame_ms"].size(), std::size_t{1});
}

void TestLiveStreamPart::anEndedTimeEndsTheWaiting()
{
    StreamBench bench({"paced=true", "frame_size=2048", "steps=1", "stream_seconds=0.01"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    QVERIFY(!part.step(bench.context));
    part.finish(bench.context);
}

void TestLiveStreamPart::aBrokenCardFailsTheRun()
{
    StreamBench bench({"paced=true", "fps=200", "steps=1", "graph=false"});
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

/// The run loop takes live changes of a checkpoint over between making a run and preparing it.
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
        StreamBench bench({paced.toStdString(), "fps=200", "steps=4", batch, "export_clip=none"});
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
    StreamBench bench({"network=oracle", "frame_size=64", "steps=4", "stream_batch=true",
                       "history=false", "memory=false"});
    StreamPart part(*bench.networks);
    part.begin(bench.context);
    const auto summary = bench.finish(part, 12);
    QVERIFY2(summary["psnr"].get<double>() > 60, summary.dump(2).c_str());
}

void TestLiveStreamPart::theStreamAsksWhileItWorks()
{
    StreamBench bench({"steps=2"});
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
    StreamBench whole(settings);
    LiveDiffusionRun run;
    run.prepare(whole.context);
    whole.context.questions = 0;
    QVERIFY(run.step(whole.context) == StepOutcome::Continue);
    const int all = whole.context.questions;
    QVERIFY2(all > 20, qPrintable(QString::number(all)));
    for (const int at : {0, 2, all / 2}) {
        StreamBench bench(settings);
        LiveDiffusionRun stopped;
        stopped.prepare(bench.context);
        bench.context.questions = 0;
        bench.context.stopsAt = at;
        QVERIFY(stopped.step(bench.context) == StepOutcome::Interrupted);
        QVERIFY2(bench.context.questions <= at + 2, qPrintable(QString::number(at)));
        bench.context.stopsAt = -1;
        stopped.finish(bench.context); // as after a stop
    }
    StreamBench early(settings);
    early.context.questions = 0;
    early.context.stopsAt = 0;
    LiveDiffusionRun never;
    never.prepare(early.context); // throws nothing
}

/// However often switches are moved, no more plans are held than the shelf keeps, and nothing once
/// the stream is over.
/// Also where time ends a part early: what it leaves out counts as done.
void TestLiveStreamPart::theTotalStaysWhatItWas()
{
    StreamBench bench({"parts=[\"stream\", \"ab\", \"train\", \"onnx\"]", "steps=1",
                       "stream_frames=60", "stream_seconds=0.001", "ab_seconds=0.001",
                       "train_updates=40", "train_seconds=0.001", "warmup=0", "batch=1",
                       "train_clips=1"});
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
    StreamBench bench({"parts=[\"stream\", \"ab\"]", "steps=1", "stream_frames=2"});
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
