#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/compute/device.h"
#include "core/config/config.h"
#include "plugins/live_diffusion/bench/ab_run.h"
#include "plugins/live_diffusion/bench/baselines.h"
#include "plugins/live_diffusion/bench/bench_modes.h"
#include "plugins/live_diffusion/bench/claims.h"
#include "plugins/live_diffusion/bench/compare.h"
#include "plugins/live_diffusion/bench/eval_task.h"
#include "plugins/live_diffusion/bench/loop_task.h"
#include "plugins/live_diffusion/bench/stream_target.h"
#include "plugins/live_diffusion/bench/subjects.h"
#include "plugins/live_diffusion/engine/replica_network.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/unet.h"
#include "plugins/live_diffusion/profile/layer_profile.h"
#include "plugins/live_diffusion/profile/memory_profile.h"
#include "tests/plugins/live_diffusion/bench_times.h"
#include "tests/plugins/live_diffusion/fake_network.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using vergence::test::FakeNetwork;
using vergence::test::noisyTimes;
using vergence::test::resultOfTimes;

namespace {

/// Each switch that is on takes a tenth off.
class ListedTarget : public AbTarget {
public:
    AbMeasurement measure(const AbSetting& setting) override
    {
        ++calls;
        if (setting.switches.fusion && failsFused)
            throw DeviceError("out of memory: 3 of 2 bytes", ExitCode::OutOfMemory);
        double ms = 10;
        for (const bool on : {setting.switches.layout == Layout::Nhwc,
                              setting.switches.attention == AttentionKind::Flash})
            ms *= on ? 0.9 : 1;
        AbMeasurement measurement;
        measurement.result = resultOfTimes(noisyTimes(300, 1000 * ms, 0.01, calls));
        if (setting.switches.attention == AttentionKind::Flash)
            measurement.result.memory.weights /= 2;
        return measurement;
    }
    bool failsFused = false;
    std::uint64_t calls = 0;
};

std::vector<AbTechnique> threeTechniques()
{
    return {{"NHWC", [](AbSetting& s) { s.switches.layout = Layout::Nhwc; }},
            {"flash attention", [](AbSetting& s) { s.switches.attention = AttentionKind::Flash; }},
            {"fusion", [](AbSetting& s) { s.switches.fusion = true; }},
            {"bf16", [](AbSetting& s) { s.switches.precision = Precision::Bf16; }, true,
             "This processor multiplies no bf16."}};
}

std::vector<AbEntry> entriesOf(ListedTarget& target)
{
    AbRun run(target, abPlan(threeTechniques()));
    while (run.next()) {
    }
    return run.entries();
}

/// Where the benchmarks of the command line find their network.
BenchSetup fakeSetup()
{
    BenchSetup setup;
    setup.subject.model = "fake";
    UnetSettings nano;
    nano.size = Size::Nano;
    nano.patch = 1;
    nano.grid = 16;
    setup.subject.program = buildUnet(nano);
    setup.subject.describe = [](Index grid) {
        UnetSettings settings;
        settings.size = Size::Nano;
        settings.patch = 1;
        settings.grid = grid;
        return buildUnet(settings);
    };
    setup.subject.build = [](const Switches& switches, int rows) {
        auto network = std::make_shared<FakeNetwork>(1e-4, rows);
        network->setSwitches(switches);
        return network;
    };
    setup.switches.graph = false;
    for (int i = 0; i < 3; ++i) // 3 colours, a grid of 8
        setup.frames.emplace_back(192, 0.1f * static_cast<float>(i));
    setup.config = {{"weights_sha256", "abc"}, {"seed", 1}};
    return setup;
}

Config emptyConfig()
{
    struct Nothing {};
    return *ConfigBuilder(SchemaBuilder<Nothing>("nothing").build()).build().config;
}

} // namespace

class TestLiveAb : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void planHasBaselineAloneCumulativeAndWithout();
    void rowsAreJudgedByTheirIntervals();
    void equalSettingsAreMeasuredOnce();
    void oneFailedRowDoesNotEndTheRun();
    void tablesNameEveryRow();
    void cpuTechniquesSayWhatIsMissing();
    void claimsShowBothMethods();
    void evaluationsAreCountedNotFrames();
    void layersOfANetworkAreTimed();

    void framesGoThroughTheLoop();
    void outputsAreThoseOfTheNamedFrames();
    void targetComparesWithItsFirstSetting();
    void runKeepsAndCompares();
    void repeatsAreMeasuredAfresh();
    void everyModeAnswers_data();
    void everyModeAnswers();

    void operationsOfANetworkAreItsDescription();
    void plannedArenasHoldWhatLives();
    void replicaHasThePublishedSize();
    void denoiserGoesThroughAllRows();
    void weightsAreToldApartByTheirHash();
};

void TestLiveAb::planHasBaselineAloneCumulativeAndWithout()
{
    const std::vector<AbStep> plan = abPlan(threeTechniques());
    QCOMPARE(plan.size(), std::size_t{1 + 4 + 3 + 3});
    QVERIFY(plan[0].setting.switches == baselineSwitches());
    QVERIFY(plan[4].part == AbPart::Alone && !plan[4].unavailable.empty()); // bf16
    QVERIFY(plan[5].part == AbPart::Cumulative && plan[5].technique == "NHWC");
    const Switches& all = plan[7].setting.switches;
    QVERIFY(all.layout == Layout::Nhwc && all.fusion && all.precision == Precision::Fp32);
    QVERIFY(plan[8].part == AbPart::Without);
    QVERIFY(plan[8].setting.switches.layout == Layout::Nchw && plan[8].setting.switches.fusion);
}

void TestLiveAb::rowsAreJudgedByTheirIntervals()
{
    ListedTarget target;
    const std::vector<AbEntry> entries = entriesOf(target);
    QVERIFY(entries[0].verdict == AbVerdict::NotJudged);
    QVERIFY(entries[1].verdict == AbVerdict::Faster); // NHWC alone
    QVERIFY(std::abs(entries[1].speedUp - 1 / 0.9) < 0.01);
    QVERIFY(entries[3].verdict == AbVerdict::Same);   // fusion does nothing here
    QVERIFY(entries[6].verdict == AbVerdict::Faster); // flash after NHWC, against NHWC
    QVERIFY(std::abs(entries[6].speedUp - 1 / 0.81) < 0.01);
    QVERIFY(entries[7].verdict == AbVerdict::Same);
    QVERIFY(entries[8].verdict == AbVerdict::Slower); // all but NHWC, against all
    QVERIFY(std::abs(entries[2].memoryReduction - 0.5) < 1e-12);
    QVERIFY(verdictOf({1, 0.9, 1.1}, {1.2, 1.1, 1.3}) == AbVerdict::Same); // they touch
}

void TestLiveAb::equalSettingsAreMeasuredOnce()
{
    ListedTarget target;
    const std::vector<AbEntry> entries = entriesOf(target);
    // Cumulative NHWC is NHWC alone; all without fusion is cumulative flash.
    QCOMPARE(target.calls, std::uint64_t{1 + 3 + 2 + 2});
    QCOMPARE(entries[5].measurement->result.deviceUs, entries[1].measurement->result.deviceUs);
}

void TestLiveAb::oneFailedRowDoesNotEndTheRun()
{
    ListedTarget target;
    target.failsFused = true;
    const std::vector<AbEntry> entries = entriesOf(target);
    QCOMPARE(entries.size(), std::size_t{11});
    QVERIFY(!entries[3].measurement && entries[3].failure.find("3 of 2") != std::string::npos);
    QVERIFY(entries[6].measurement && entries[6].verdict == AbVerdict::Faster);
    QVERIFY(abMarkdown(entries).find("out of memory") != std::string::npos);
}

void TestLiveAb::tablesNameEveryRow()
{
    ListedTarget target;
    const std::vector<AbEntry> entries = entriesOf(target);
    const std::string text = abMarkdown(entries);
    for (const char* part : {"| baseline |", "| + fusion |", "| all − NHWC |",
                             "This processor multiplies no bf16.", "faster", "50.0 %"})
        QVERIFY2(text.find(part) != std::string::npos, part);
    QCOMPARE(QString::fromStdString(abCsv(entries)).count('\n'), qsizetype{12});
    const nlohmann::json json = toJson(entries);
    QCOMPARE(json.size(), std::size_t{11});
    QVERIFY(json[4]["median_ms"].is_null()); // no NaN in JSON
    QCOMPARE(json[0]["setting"]["layout"].get<std::string>(), std::string("nchw"));
}

void TestLiveAb::cpuTechniquesSayWhatIsMissing()
{
    const auto device = makeCpuDevice(1);
    const auto techniques = abTechniques(*device, "No TensorRT here.");
    const auto find = [&](const char* name) {
        return std::find_if(techniques.begin(), techniques.end(),
                            [&](const auto& technique) { return technique.name == name; });
    };
    QVERIFY(!find("fp16")->unavailable.empty());
    QVERIFY(!find("CUDA graph")->unavailable.empty());
    QCOMPARE(find("TensorRT")->unavailable, std::string("No TensorRT here."));
    QVERIFY(find("NHWC")->unavailable.empty() && find("stream batch")->unavailable.empty());
    QVERIFY(find("one thread") != techniques.end());
    for (const AbStep& step : abPlan(techniques))
        QVERIFY(step.part == AbPart::Alone || step.unavailable.empty());
}

void TestLiveAb::claimsShowBothMethods()
{
    ClaimPair pair;
    pair.model = "Replica-A";
    pair.full = resultOfTimes({2000, 2000, 2000});
    pair.half = resultOfTimes({1000, 1000, 1000});
    pair.full.memory = {34'032'012, 8'000'000, 0, 0, 0, 0, 2'400'000'000};
    pair.half->memory = {17'016'006, 4'000'000, 0, 0, 0, 0, 50'000'000};
    const auto checks = checkClaims({pair});
    QCOMPARE(checks.size(), std::size_t{4});
    QVERIFY(checks[0].measured.starts_with("2.00×"));
    QVERIFY(checks[1].measured.starts_with("-50.0 % steady"));
    QVERIFY(checks[1].theirWay.starts_with("-99.1 %")); // 21 MB of 2,400 MB
    QVERIFY(checks[1].remark.find("34032012 to 17016006") != std::string::npos);
    QVERIFY(checks[2].theirWay.starts_with("1000 evaluations"));
    QVERIFY(checks[2].measured.starts_with("166.7 frames"));
    QVERIFY(checks[3].measured.starts_with("6.67×") && checks[3].theirWay.starts_with("40×"));
    pair.half.reset();
    QVERIFY(checkClaims({pair})[0].measured.find("16-bit") != std::string::npos);
    QVERIFY(claimsMarkdown(checks).find("by the claim's method") != std::string::npos);
    QCOMPARE(toJson(checks).size(), std::size_t{4});
}

void TestLiveAb::evaluationsAreCountedNotFrames()
{
    const auto network = std::make_shared<FakeNetwork>(0, 2);
    EvalTask task(network, 2, 5);
    const MeasuredFrame frame = task.frame();
    QCOMPARE(network->evaluations, 5);
    QCOMPARE(frame.evaluations, 10);
    QVERIFY(std::abs(frame.launch - 5e-5) < 1e-12);
    QCOMPARE(task.output()[0], task.rows()[0].x[0]);
    QVERIFY(task.rows()[0].x[0] != task.rows()[1].x[0]);
    VERGENCE_THROWS(ContractError, "prepared", EvalTask(network, 3, 1));
}

void TestLiveAb::layersOfANetworkAreTimed()
{
    FakeNetwork network(3e-4);
    const DevicePeaks peaks{"toy", 1e12, 0, 0, 1e12, 1e11};
    const LayerProfile inSitu = profileLayers(network, peaks, ProfileMode::InSitu, 5);
    QVERIFY(!network.isObserved());
    QCOMPARE(inSitu.rows.size(), std::size_t{3});
    for (const LayerRow& row : inSitu.rows) // each waits at least a third, less one empty pair
        QVERIFY(row.seconds > 0.9e-4);
    double sum = inSitu.unaccounted;
    for (const LayerRow& row : inSitu.rows)
        sum += row.seconds;
    QVERIFY(std::abs(sum - inSitu.total) < 1e-12);
    const LayerProfile alone = profileLayers(network, peaks, ProfileMode::Isolated, 5);
    QCOMPARE(alone.rows[2].seconds, 3e-5);
    QCOMPARE(alone.toJson().back()["name"].get<std::string>(), std::string("unaccounted"));
}

void TestLiveAb::framesGoThroughTheLoop()
{
    const auto network = std::make_shared<FakeNetwork>(1e-4);
    FrameLoop loop(network, {});
    LoopTask task(loop, fakeSetup().frames);
    task.frame();
    const MeasuredFrame frame = task.frame();
    QCOMPARE(frame.evaluations, 2); // a frame of two steps
    QVERIFY(frame.device >= 2e-4 && frame.pipeline >= frame.device);
    QVERIFY(!frame.isSkipped);
    // A stream batch answers a frame some ticks after it came.
    LoopSettings batch;
    batch.steps = 3;
    batch.isStreamBatch = true;
    FrameLoop three(std::make_shared<FakeNetwork>(2e-3, 3), batch);
    LoopTask ticks(three, fakeSetup().frames);
    QVERIFY(ticks.frame().isSkipped && ticks.frame().isSkipped);
    for (int i = 0; i < 3; ++i) {
        const MeasuredFrame answer = ticks.frame();
        QVERIFY(answer.device >= 2e-3 && answer.pipeline >= 3 * 2e-3);
    }
    VERGENCE_THROWS(ContractError, "at least one frame", LoopTask(loop, {}));
    VERGENCE_THROWS(ContractError, "network's size", LoopTask(loop, {{1, 2}}));
}

void TestLiveAb::outputsAreThoseOfTheNamedFrames()
{
    const BenchSetup setup = fakeSetup();
    DrivenNetwork driven(setup.subject, setup.switches, setup.loop, setup.frames);
    const auto some = driven.outputs({0, 4});
    QCOMPARE(some.size(), std::size_t{2});
    QCOMPARE(some.at(4).size(), std::size_t{192});
    QCOMPARE(driven.outputs({0, 4}), some); // it starts anew
    LoopSettings batch = setup.loop;
    batch.isStreamBatch = true;
    batch.usesHistory = batch.usesMemory = false;
    LoopSettings plain = batch;
    plain.isStreamBatch = false;
    // A tick of a stream batch answers an earlier frame: outputs are told apart by what they
    // answer.
    const auto late =
        DrivenNetwork(setup.subject, setup.switches, batch, setup.frames).outputs({3});
    const auto now = DrivenNetwork(setup.subject, setup.switches, plain, setup.frames).outputs({3});
    QVERIFY(numericError(late.at(3), now.at(3)).maxAbs < 1e-5);
}

void TestLiveAb::targetComparesWithItsFirstSetting()
{
    const BenchSetup setup = fakeSetup();
    StreamTarget target(setup.subject, setup.loop, setup.frames, Protocol::within(0.02), 20);
    const AbSetting baseline{baselineSwitches(), false, 2};
    QVERIFY(!target.measure(baseline).frameError);
    AbSetting other = baseline;
    other.switches.fusion = true;
    const AbMeasurement same = target.measure(other);
    QCOMPARE(same.result.numeric->maxAbs, 0.0); // the fake does not care
    QCOMPARE(*same.streamPsnr[0], 100.0);
    QCOMPARE(*same.streamPsnr[1], 100.0);
    QVERIFY(!same.streamPsnr[2]); // only 20 frames were asked for
    QCOMPARE(same.result.memory.tuningPeak, std::uint64_t{100'000});
    QCOMPARE(same.result.evaluationsPerFrame, 2.0);
    other.steps = 1;
    const AbMeasurement shorter = target.measure(other);
    QVERIFY(!shorter.frameError && shorter.result.numeric);
    QCOMPARE(shorter.result.evaluationsPerFrame, 1.0);
}

namespace {

BenchRequest requestOf(const std::string& mode, const Config& config,
                       const std::filesystem::path& store)
{
    BenchRequest request{.mode = mode, .config = config, .device = makeCpuDevice(1)};
    request.store = store;
    request.seconds = 0.02;
    return request;
}

} // namespace

void TestLiveAb::runKeepsAndCompares()
{
    const test::Scratch scratch;
    const Config config = emptyConfig();
    BenchRequest request = requestOf("run", config, scratch / "kept");
    request.compareWith = "none";
    VERGENCE_THROWS(InputError, "no baseline `none`", runLiveBench(request, fakeSetup()));
    request.compareWith.reset();
    request.saveAs = "main";
    const BenchAnswer kept = runLiveBench(request, fakeSetup());
    QCOMPARE(kept.exitCode, 0);
    QVERIFY(kept.markdown.find("Kept as `main`") != std::string::npos);
    QVERIFY(kept.csv.find("paced 62.5") != std::string::npos);

    // What was kept is made a thousand times faster, so that no load of this computer hides it.
    const BaselineStore store(scratch / "kept");
    BenchReport fast = store.load("main");
    for (BenchResult& result : fast.results) {
        result.deviceUs.assign(100, summarise(result.deviceUs).median / 1000);
        result.pipelineUs = result.deviceUs;
    }
    store.save("fast", fast);
    request.saveAs.reset();
    request.compareWith = "fast";
    const BenchAnswer worse = runLiveBench(request, fakeSetup());
    QCOMPARE(worse.exitCode, 1);
    QCOMPARE(worse.report["comparison"]["status"].get<std::string>(), std::string("regression"));
    BenchSetup other = fakeSetup();
    other.config["weights_sha256"] = "other";
    QCOMPARE(runLiveBench(request, other).exitCode, 2);
    request.isForced = true;
    const BenchAnswer forced = runLiveBench(request, other);
    QCOMPARE(forced.exitCode, 1);
    QVERIFY(forced.markdown.find("NOT COMPARABLE") != std::string::npos);
}

void TestLiveAb::repeatsAreMeasuredAfresh()
{
    const test::Scratch scratch;
    const Config config = emptyConfig();
    BenchRequest request = requestOf("run", config, scratch / "kept");
    request.repeats = 3;
    int started = 0;
    request.measureAfresh = [&] {
        ++started;
        return runLiveBench(requestOf("run", config, scratch / "kept"), fakeSetup()).report;
    };
    const BenchAnswer answer = runLiveBench(request, fakeSetup());
    QCOMPARE(started, 3);
    QCOMPARE(answer.report["results"][0]["repeat_median_us"].size(), std::size_t{3});
    QCOMPARE(answer.report["protocol"]["repeats"].get<int>(), 3);
    QCOMPARE(reportFromJson(answer.report, "answer").results.size(), std::size_t{3});
}

void TestLiveAb::everyModeAnswers_data()
{
    QTest::addColumn<QString>("mode");
    QTest::addColumn<QStringList>("parts");
    QTest::newRow("ab") << "ab" << QStringList{"all − fusion", "fake: speed-up of"};
    QTest::newRow("claims") << "claims" << QStringList{"1.96×", "−98.4 %"};
    QTest::newRow("profile") << "profile" << QStringList{"In place", "Each alone", "unaccounted"};
    QTest::newRow("memory") << "memory" << QStringList{"As built", "fp16, naive, 128"};
    QTest::newRow("validate") << "validate" << QStringList{"Strict fp32 uses none"};
    QTest::newRow("targets") << "targets" << QStringList{"120 FPS, week 4", "RTX 3090"};
    QTest::newRow("baselines") << "baselines" << QStringList{"Nothing was kept yet"};
}

void TestLiveAb::everyModeAnswers()
{
    QFETCH(QString, mode);
    QFETCH(QStringList, parts);
    const test::Scratch scratch;
    const Config config = emptyConfig();
    const auto modes = liveBenchModes();
    QVERIFY(std::any_of(modes.begin(), modes.end(), [&](const BenchMode& known) {
        return known.name == mode.toStdString() && !known.help.empty();
    }));
    const BenchAnswer answer =
        runLiveBench(requestOf(mode.toStdString(), config, scratch / "kept"), fakeSetup());
    QCOMPARE(answer.exitCode, 0);
    for (const QString& part : parts)
        QVERIFY2(QString::fromStdString(answer.markdown).contains(part), answer.markdown.c_str());
    QVERIFY(!answer.report.is_null());
    VERGENCE_THROWS(ContractError, "no benchmark",
                    runLiveBench(requestOf("none", config, scratch / "kept"), fakeSetup()));
}

namespace {

UnetSettings smallSettings(Size size, Index grid)
{
    UnetSettings settings;
    settings.size = size;
    settings.patch = 1;
    settings.grid = grid;
    return settings;
}

std::shared_ptr<UnetNetwork> networkOf(const UnetSettings& settings, Switches switches)
{
    switches.graph = switches.tuned = false;
    switches.threads = 1;
    return std::make_shared<UnetNetwork>(makeCpuDevice(1), benchWeights(settings, 1),
                                         UnetNetworkSettings{settings, switches, 1});
}

} // namespace

void TestLiveAb::operationsOfANetworkAreItsDescription()
{
    const UnetSettings settings = smallSettings(Size::Nano, 16);
    Switches switches;
    switches.collapsedUpsampling = false;
    const auto network = networkOf(settings, switches);
    const LayerProfile profile =
        profileLayers(*network, {"toy", 1e12, 0, 0, 1e12, 1e11}, ProfileMode::InSitu, 3);
    std::int64_t flop = 0;
    for (const LayerRow& row : profile.rows)
        flop += row.op.flop;
    QCOMPARE(flop, flopPerEvaluation(buildUnet(settings)));
    QVERIFY(profile.total > 0 && profile.rows.size() > 20);
    const LayerProfile alone =
        profileLayers(*network, {"toy", 1e12, 0, 0, 1e12, 1e11}, ProfileMode::Isolated, 3);
    QCOMPARE(alone.rows.size(), profile.rows.size());
    for (const LayerRow& row : alone.rows)
        QVERIFY2(row.seconds > 0, row.op.name.c_str());
}

void TestLiveAb::plannedArenasHoldWhatLives()
{
    const UnetSettings settings = smallSettings(Size::Pico, 32);
    for (const AttentionKind attention : {AttentionKind::Flash, AttentionKind::Naive}) {
        Switches switches;
        switches.attention = attention;
        switches.collapsedUpsampling = false;
        const auto planned = static_cast<double>(networkOf(settings, switches)->cost().arenaBytes);
        const auto live = static_cast<double>(memoryProfile(buildUnet(settings), switches).peak());
        QVERIFY2(planned >= 0.8 * live && planned <= 1.3 * live,
                 qPrintable(QString("%1 planned, %2 live").arg(planned).arg(live)));
    }
}

void TestLiveAb::replicaHasThePublishedSize()
{
    Switches switches = baselineSwitches();
    switches.threads = 1;
    const auto network = makeReplicaNetwork(makeCpuDevice(1), buildReplicaA(), 1, switches);
    QCOMPARE(network->cost().flopPerRow, std::int64_t{5'309'202'432});
    QCOMPARE(network->cost().weightBytes, std::size_t{34'032'012});
    EvalTask task(network, 1, 1);
    QCOMPARE(task.frame().evaluations, 1);
    const auto picture = task.output().first(3 * 64 * 64);
    QVERIFY(std::all_of(picture.begin(), picture.end(),
                        [](float value) { return std::abs(value) <= 1; })); // tanh
    QVERIFY(std::any_of(picture.begin(), picture.end(), [](float value) { return value != 0; }));
    switches.fusion = true;
    const std::vector<float> before(task.output().begin(), task.output().end());
    network->setSwitches(switches);
    task.frame();
    QVERIFY(numericError(task.output(), before).maxAbs < 1e-4);
}

void TestLiveAb::denoiserGoesThroughAllRows()
{
    const UnetSettings settings = smallSettings(Size::Nano, 16);
    const auto device = makeCpuDevice(1);
    const BenchSubject subject = denoiserSubject(device, settings, benchWeights(settings, 1));
    const auto frames = benchFrames({1, 16, 16}, 3);
    QCOMPARE(frames.size(), std::size_t{3});
    QVERIFY(frames[0] != frames[1]);
    StreamTarget target(subject, {}, frames, Protocol::within(0.02), 10);
    AbRun run(target, abPlan(threeTechniques()));
    while (run.next()) {
    }
    for (const AbEntry& entry : run.entries()) {
        QVERIFY2(entry.failure.empty(), entry.failure.c_str());
        if (!entry.measurement || entry.step.setting.switches.precision != Precision::Fp32)
            continue;
        // All switches of one precision agree within rounding.
        QVERIFY2(entry.measurement->result.numeric->psnr > 90, entry.step.technique.c_str());
        QVERIFY(entry.measurement->result.memory.steady() > 0);
    }
}

void TestLiveAb::weightsAreToldApartByTheirHash()
{
    const UnetSettings settings = smallSettings(Size::Nano, 16);
    HostWeights weights = *benchWeights(settings, 1);
    const std::string hash = weightsHash(weights);
    QCOMPARE(weightsHash(*benchWeights(settings, 1)), hash);
    HostWeight& other = weights.begin()->second;
    other = {other.shape, other.numbers(), {}};
    other.values[0] += 1e-3f;
    QVERIFY(weightsHash(weights) != hash);
    QCOMPARE(hash.size(), std::size_t{64});
}

VERGENCE_TEST(TestLiveAb)
#include "tst_live_ab.moc"
