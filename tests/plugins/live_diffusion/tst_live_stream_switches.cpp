#include <QTest>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "tests/plugins/live_diffusion/recording_device.h"
#include "tests/plugins/live_diffusion/stream_bench.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::live::testing;
using namespace vergence::test;

/// Settings that change while the stream goes on.
class TestLiveStreamSwitches : public QObject {
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
    void settingsThatCannotBeLeaveTheOldOnes_data();
    void settingsThatCannotBeLeaveTheOldOnes();
    void changesOfBeforeAreKeptByEveryPart();
    void rebuildsGiveBackWhatTheyTook_data();
    void rebuildsGiveBackWhatTheyTook();
};

void TestLiveStreamSwitches::switchesMoveInTurn()
{
    StreamBench bench({"steps=2", "stream_batch=false"});
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

void TestLiveStreamSwitches::switchesMoveOnThreads()
{
    StreamBench bench({"paced=true", "fps=200", "steps=1"});
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

void TestLiveStreamSwitches::switchesMoveTheSameWayEachTime()
{
    const auto film = [] {
        StreamBench bench({"export_clip=png", "export_overlay=false", "steps=1"});
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

void TestLiveStreamSwitches::sizesMoveToo_data()
{
    QTest::addColumn<QString>("paced");
    QTest::newRow("in turn") << "paced=false";
    QTest::newRow("on threads") << "paced=true";
}

void TestLiveStreamSwitches::sizesMoveToo()
{
    QFETCH(QString, paced);
    StreamBench bench({paced.toStdString(), "fps=200", "steps=1", "export_clip=png"});
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

void TestLiveStreamSwitches::weightsThatAreMissingChangeNothing()
{
    StreamBench bench({"steps=1"});
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

void TestLiveStreamSwitches::whatTheDeviceLacksIsClosed()
{
    StreamBench bench({"steps=1"});
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

void TestLiveStreamSwitches::plansAreKeptForAWhile()
{
    StreamBench bench({});
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

void TestLiveStreamSwitches::settingsThatCannotBeLeaveTheOldOnes_data()
{
    QTest::addColumn<QString>("paced");
    QTest::newRow("in turn") << "paced=false";
    QTest::newRow("on threads") << "paced=true";
}

void TestLiveStreamSwitches::settingsThatCannotBeLeaveTheOldOnes()
{
    QFETCH(QString, paced);
    StreamBench bench({paced.toStdString(), "fps=200", "steps=2"});
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

void TestLiveStreamSwitches::changesOfBeforeAreKeptByEveryPart()
{
    StreamBench bench({"parts=[\"profile\"]", "frame_size=64"});
    LiveDiffusionRun run;
    bench.set("model_size", std::string("pico"));
    run.prepare(bench.context);
    QCOMPARE(bench.context.notes["network"].get<std::string>(), std::string("Pico"));
}

void TestLiveStreamSwitches::rebuildsGiveBackWhatTheyTook_data()
{
    QTest::addColumn<QString>("paced");
    QTest::newRow("in turn") << "paced=false";
    QTest::newRow("on threads") << "paced=true";
}

void TestLiveStreamSwitches::rebuildsGiveBackWhatTheyTook()
{
    QFETCH(QString, paced);
    StreamBench bench({paced.toStdString(), "fps=200", "steps=1", "graph=false"});
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

VERGENCE_TEST(TestLiveStreamSwitches)
#include "tst_live_stream_switches.moc"
