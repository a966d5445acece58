#include <QTest>

#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>

#include "core/base/error.h"
#include "core/compute/kernel.h"
#include "plugins/live_diffusion/bench/baselines.h"
#include "plugins/live_diffusion/bench/compare.h"
#include "plugins/live_diffusion/bench/environment.h"
#include "plugins/live_diffusion/bench/system_watch.h"
#include "tests/plugins/live_diffusion/bench_times.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using vergence::test::noisyTimes;
using vergence::test::resultOfTimes;

using List = std::vector<double>;

namespace {

/// A clock that only sleeping and working move.
class FakeClock : public BenchClock {
public:
    double now() override { return time; }
    void sleepUntil(double until) override
    {
        slept += std::max(0.0, until - time);
        time = std::max(time, until);
    }
    double time = 100, slept = 0;
};

/// Frames that take what a list says, the last of it for ever.
class ListedTask : public FrameTask {
public:
    ListedTask(FakeClock& clock, List seconds) : m_clock(clock), m_seconds(std::move(seconds)) {}
    MeasuredFrame frame() override
    {
        const double seconds = m_seconds[std::min(m_next++, m_seconds.size() - 1)];
        m_clock.time += seconds;
        MeasuredFrame frame;
        frame.device = frame.pipeline = seconds;
        frame.evaluations = 2;
        return frame;
    }

private:
    FakeClock& m_clock;
    List m_seconds;
    std::size_t m_next = 0;
};

BenchReport reportOfTimes(List microseconds)
{
    BenchReport report;
    report.environment = {{"time", "2026-03-02T10:15:07Z"},
                          {"device", {{"name", "NVIDIA H200"}, {"driver", "550.54.15"}}},
                          {"libraries", {{"cudnn", "9.1.0"}}}};
    report.config = {
        {"size", "S"}, {"weights_sha256", "abc"}, {"switches", {{"precision", "fp16"}}}};
    report.results = {resultOfTimes(std::move(microseconds))};
    return report;
}

} // namespace

class TestLiveBench : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void statisticsOfOneToAHundred();
    void madJitterAndMisses();
    void medianIntervalCoversTheMedian();
    void numericErrorByHand();

    void warmUpWaitsForSteadyWindows();
    void warmUpGivesUpAtItsCap();
    void measuringEndsByFramesAndSeconds();
    void pacedSourcesDropWhatIsLate();
    void skippedFramesCountInNoRate();
    void protocolsAreChecked();

    void reportsSurviveTheirFile();
    void statisticsAreMadeAnewFromSamples();
    void brokenReportsSayWhatIsMissing();
    void repeatsAreJoined();
    void utilisationIsWorkOverTimeAndPeak();

    void baselinesAreKeptByName();
    void baselineNamesArePlain();

    void aSmallShiftIsNoRegression();
    void aLargeShiftIsARegression();
    void noisyTimesNeedMoreThanThreeMads();
    void anotherDeviceIsNotComparable();
    void forcedComparisonsCarryAWatermark();
    void memoryAndNumbersRegressToo();

    void environmentNamesItsDevice();
    void watchSeesADisturbance();
};

void TestLiveBench::statisticsOfOneToAHundred()
{
    List x(100);
    std::iota(x.begin(), x.end(), 1.0);
    const Summary summary = summarise(x);
    QCOMPARE(summary.p50(), 50.5);
    QVERIFY(std::abs(summary.p95 - 95.05) < 1e-12 && std::abs(summary.p99 - 99.01) < 1e-12);
    QVERIFY(std::abs(summary.p90 - 90.1) < 1e-12);
    QCOMPARE(summary.mean, 50.5);
    QVERIFY(std::abs(summary.deviation - std::sqrt(100 * 101 / 12.0)) < 1e-12);
    QCOMPARE(summary.mad, 25.0);
    QCOMPARE(summary.min, 1.0);
    QCOMPARE(summary.max, 100.0);
}

void TestLiveBench::madJitterAndMisses()
{
    QCOMPARE(summarise(List{1, 2, 4, 100}).mad, 1.5); // median 3: 2, 1, 1, 97
    QCOMPARE(summarise(List{5}).deviation, 0.0);
    QCOMPARE(jitter(List{0, 10, 20, 30}), 0.0);
    QCOMPARE(jitter(List{0, 10, 30}), std::sqrt(50.0)); // intervals 10 and 20
    QCOMPARE(jitter(List{0, 10}), 0.0);
    QCOMPARE(misses(List{15, 16, 17, 41}, kTightBudgetMs), std::size_t{2});
    VERGENCE_THROWS(ContractError, "at least one", summarise(List{}));
    VERGENCE_THROWS(ContractError, "finite", summarise(List{1, NAN}));
}

void TestLiveBench::medianIntervalCoversTheMedian()
{
    const List times = noisyTimes(300, 1000, 0.01, 3);
    const Interval interval = medianInterval(times);
    QCOMPARE(interval.value, summarise(times).median);
    // The median of n normal numbers has a deviation of 1.2533 σ/√n: 0.72 here.
    QVERIFY(interval.low < interval.value && interval.value < interval.high);
    QVERIFY(interval.high - interval.low > 1.4 && interval.high - interval.low < 4.3);
    const Interval constant = medianInterval(List{4, 4, 4});
    QCOMPARE(constant.low, 4.0);
    QCOMPARE(constant.high, 4.0);
}

void TestLiveBench::numericErrorByHand()
{
    const std::vector<float> a{1, 0, -1, 0}, b{1, 0.5f, -1, 0};
    const NumericError error = numericError(a, b);
    QCOMPARE(error.maxAbs, 0.5);
    QCOMPARE(error.rmse, 0.25);
    QVERIFY(std::abs(error.psnr - 10 * std::log10(4 / 0.0625)) < 1e-12);
    QVERIFY(std::abs(error.cosine - 2 / std::sqrt(2 * 2.25)) < 1e-12);
    QCOMPARE(numericError(a, a).psnr, 100.0);
    QCOMPARE(numericError(std::vector<float>{0}, std::vector<float>{0}).cosine, 1.0);
    QVERIFY(!numericError(std::vector<float>{NAN}, std::vector<float>{1}).isFinite);
    VERGENCE_THROWS(ContractError, "same length", numericError(a, std::vector<float>{1}));
}

void TestLiveBench::warmUpWaitsForSteadyWindows()
{
    const Protocol protocol;
    WarmUp warm(protocol);
    double elapsed = 0;
    const auto add = [&](int count, double seconds) {
        for (int i = 0; i < count; ++i)
            warm.add(seconds, elapsed += seconds);
    };
    add(40, 0.1);
    add(19, 0.05);
    QVERIFY(!warm.isOver()); // enough frames and seconds, but the windows differ
    add(40, 0.05);
    QVERIFY(!warm.isOver()); // 59 steady ones are less than three windows
    add(1, 0.05);
    QVERIFY(warm.isOver() && warm.isSettled());
    QCOMPARE(warm.frames(), 100);

    WarmUp fast(protocol); // 60 steady frames, but less than two seconds
    for (int i = 1; i <= 60; ++i)
        fast.add(0.01, 0.01 * i);
    QVERIFY(!fast.isOver());
}

void TestLiveBench::warmUpGivesUpAtItsCap()
{
    WarmUp warm(Protocol{});
    double elapsed = 0;
    double seconds = 0.01; // a device that gets hotter: each frame takes 1 % more
    for (; !warm.isOver(); seconds *= 1.01)
        warm.add(seconds, elapsed += seconds);
    QVERIFY(!warm.isSettled());
    QVERIFY(elapsed >= 30 && elapsed < 30.5);
}

void TestLiveBench::measuringEndsByFramesAndSeconds()
{
    FakeClock clock;
    ListedTask quick(clock, {0.005});
    const Measurement many = measure(quick, Protocol{}, clock);
    QVERIFY(many.isSettled);
    QVERIFY(std::abs(many.warmFrames - 400) <= 1);                     // two seconds
    QVERIFY(many.frames.size() == 1000 || many.frames.size() == 1001); // five seconds
    QVERIFY(std::abs(many.framesPerSecond() - 200) < 1e-6);
    QVERIFY(std::abs(many.evaluationsPerSecond() - 400) < 1e-6);
    ListedTask slow(clock, {0.1});
    QCOMPARE(measure(slow, Protocol{}, clock).frames.size(), std::size_t{300});

    ListedTask boxed(clock, {0.05});
    const double start = clock.time;
    const Measurement shortOne = measure(boxed, Protocol::within(2), clock);
    QVERIFY(clock.time - start < 2.1);
    QVERIFY(!shortOne.isSettled && shortOne.frames.size() >= 36);
}

void TestLiveBench::pacedSourcesDropWhatIsLate()
{
    Protocol protocol;
    protocol.warmFrames = 0;
    protocol.warmSeconds = 0;
    protocol.warmCapSeconds = 1e-9;
    protocol.frames = 50;
    protocol.seconds = 0;
    protocol.pacedRate = 25;
    FakeClock clock;
    ListedTask quick(clock, {0.010});
    const Measurement even = measure(quick, protocol, clock);
    QCOMPARE(even.dropped, 0);
    QVERIFY(std::abs(even.wallSeconds - (49 * 0.04 + 0.01)) < 1e-9); // it waits for the source
    QVERIFY(clock.slept > 1.4);
    ListedTask late(clock, {0.090}); // every frame takes the time of 2.25
    const Measurement behind = measure(late, protocol, clock);
    QCOMPARE(behind.frames.size(), std::size_t{50});
    QVERIFY(std::abs(behind.dropped - 49 * 1.25) <= 1);
    QVERIFY(std::abs(behind.framesPerSecond() - 1 / 0.09) < 0.01);
}

void TestLiveBench::skippedFramesCountInNoRate()
{
    Measurement measurement;
    measurement.wallSeconds = 2;
    for (int i = 0; i < 10; ++i) {
        MeasuredFrame frame;
        frame.device = frame.pipeline = 0.01;
        frame.completed = 0.2 * i;
        frame.evaluations = i % 2 == 0 ? 2 : 0;
        frame.isSkipped = i % 2 == 1;
        measurement.frames.push_back(frame);
    }
    QCOMPARE(measurement.framesPerSecond(), 2.5);
    const BenchResult result = resultOf("frames", measurement);
    QCOMPARE(result.deviceUs.size(), std::size_t{5});
    QCOMPARE(result.skipped, std::int64_t{5});
    QCOMPARE(result.evaluationsPerFrame, 2.0);
    QVERIFY(result.jitterMs < 1e-9);
    measurement.frames.clear();
    VERGENCE_THROWS(ContractError, "finished", resultOf("frames", measurement));
}

void TestLiveBench::protocolsAreChecked()
{
    Protocol protocol;
    protocol.frames = 0;
    VERGENCE_THROWS(ContractError, "frames", check(protocol));
    protocol = {};
    protocol.warmTolerance = 0;
    VERGENCE_THROWS(ContractError, "warmTolerance", check(protocol));
    check(Protocol::within(1));
}

void TestLiveBench::reportsSurviveTheirFile()
{
    const test::Scratch scratch;
    BenchReport report = reportOfTimes(noisyTimes(50, 1000.0 / 3, 0.05, 1));
    BenchResult& result = report.results.front();
    result.numeric = NumericError{1e-3, 1e-4, 86.5, 0.99999, true};
    result.powerWatts = 412.5;
    result.framesPerSecond = 100;
    result.peakFlops = 989e12;
    result.memory.tuningPeak = 5'000'000'000;
    report.layers = {{{"name", "d0.0.c1"}}};
    writeReport(report, scratch / "bench.json");
    QCOMPARE(test::contentOf(scratch.path()), (std::set<std::string>{"bench.json"}));
    const BenchReport read = readReport(scratch / "bench.json");
    QCOMPARE(toJson(read).dump(), toJson(report).dump());
    QCOMPARE(read.results[0].deviceUs, result.deviceUs); // to the bit
    QCOMPARE(read.results[0].memory.tuningPeak, std::uint64_t{5'000'000'000});
    QCOMPARE(read.configHash(), report.configHash());
    QCOMPARE(toJson(read)["results"][0]["energy_j_per_frame"].get<double>(), 4.125);
}

void TestLiveBench::statisticsAreMadeAnewFromSamples()
{
    List x(100);
    std::iota(x.begin(), x.end(), 1.0);
    for (double& value : x)
        value *= 1000; // 1 … 100 ms
    nlohmann::json json = toJson(reportOfTimes(x));
    const nlohmann::json written = json["results"][0]["gpu_ms"];
    QCOMPARE(written["p95"].get<double>(), 95.05);
    QCOMPARE(written["over_40ms_percent"].get<double>(), 60.0);
    QCOMPARE(written["over_16ms_percent"].get<double>(), 84.0);
    json["results"][0]["gpu_ms"]["median"] = 1; // whoever lies about it is not believed
    const nlohmann::json again = toJson(reportFromJson(json, "test"));
    QVERIFY(again["results"][0]["gpu_ms"] == written);
}

void TestLiveBench::brokenReportsSayWhatIsMissing()
{
    const nlohmann::json good = toJson(reportOfTimes({1, 2, 3}));
    nlohmann::json bad = good;
    bad["schema"] = "sdlab-bench/2";
    VERGENCE_THROWS(InputError, "sdlab-bench/2", reportFromJson(bad, "x.json"));
    bad = good;
    bad["results"][0].erase("samples_gpu_us");
    VERGENCE_THROWS(InputError, "x.json, result 1 has no \"samples_gpu_us\"",
                    reportFromJson(bad, "x.json"));
    bad = good;
    bad["results"][0]["fps"] = "fast";
    VERGENCE_THROWS(InputError, "\"fps\" is of the wrong kind", reportFromJson(bad, "x.json"));
    bad = good;
    bad["results"][0]["samples_gpu_us"] = nlohmann::json::array();
    VERGENCE_THROWS(InputError, "no samples", reportFromJson(bad, "x.json"));
    bad = good;
    bad["results"] = 3;
    VERGENCE_THROWS(InputError, "no list", reportFromJson(bad, "x.json"));
    VERGENCE_THROWS(InputError, "no JSON object", reportFromJson(nlohmann::json(3), "x.json"));
}

void TestLiveBench::repeatsAreJoined()
{
    BenchResult first = resultOfTimes({10, 20}), second = resultOfTimes({30, 40, 50});
    first.framesPerSecond = 10;
    second.framesPerSecond = 20;
    first.repeatMedianUs = {15};
    second.repeatMedianUs = {40};
    second.isSettled = false;
    const BenchResult all = joined({first, second});
    QCOMPARE(all.deviceUs, (List{10, 20, 30, 40, 50}));
    QCOMPARE(all.repeatMedianUs, (List{15, 40}));
    QCOMPARE(all.framesPerSecond, 15.0);
    QVERIFY(!all.isSettled);
}

void TestLiveBench::utilisationIsWorkOverTimeAndPeak()
{
    BenchResult result = resultOfTimes({1000, 1000, 1000}); // 1 ms
    result.flopPerEvaluation = 4'000'000'000; // of which its algorithms save three quarters
    result.workPerEvaluation = 1'000'000'000;
    result.evaluationsPerFrame = 2;
    QVERIFY(!result.modelFlopUtilisation());
    result.peakFlops = 10e12;
    QCOMPARE(*result.modelFlopUtilisation(), 0.2);
}

void TestLiveBench::baselinesAreKeptByName()
{
    const test::Scratch scratch;
    const BaselineStore store(scratch / "kept");
    QVERIFY(store.list().empty());
    VERGENCE_THROWS(InputError, "save one first", store.load("main"));
    const BenchReport report = reportOfTimes({1, 2, 3});
    store.save("main", report);
    store.save("b-2", report);
    std::ofstream(scratch / "kept" / "torn.json") << "{\"schema\":";
    const auto entries = store.list();
    QCOMPARE(entries.size(), std::size_t{3});
    QCOMPARE(entries[1].name, std::string("main"));
    QCOMPARE(entries[1].badge, std::string("NVIDIA H200, driver 550.54.15"));
    QCOMPARE(entries[1].savedAt, std::string("2026-03-02T10:15:07Z"));
    QVERIFY(!entries[2].problem.empty() && entries[1].problem.empty());
    QCOMPARE(store.load("main").results[0].deviceUs, (List{1, 2, 3}));
    VERGENCE_THROWS(InputError, "b-2, main", store.load("mine"));
}

void TestLiveBench::baselineNamesArePlain()
{
    const test::Scratch scratch;
    const BaselineStore store(scratch.path());
    for (const char* name : {"", "../x", "a/b", ".hidden", "a b"})
        VERGENCE_THROWS(InputError, "no name", store.save(name, reportOfTimes({1})));
    QVERIFY(test::contentOf(scratch.path()).empty());
}

void TestLiveBench::aSmallShiftIsNoRegression()
{
    const BenchReport before = reportOfTimes(noisyTimes(300, 1000, 0.01, 1));
    const Comparison comparison = compare(before, reportOfTimes(noisyTimes(300, 1020, 0.01, 2)));
    QVERIFY(comparison.status == CompareStatus::Ok);
    QVERIFY(comparison.rows[0].p < 0.01); // it is seen, but it is small
    QVERIFY(comparison.rows[0].change == Change::Same);
}

void TestLiveBench::aLargeShiftIsARegression()
{
    const BenchReport before = reportOfTimes(noisyTimes(300, 1000, 0.01, 1));
    const BenchReport slow = reportOfTimes(noisyTimes(300, 1100, 0.01, 2));
    const Comparison worse = compare(before, slow);
    QVERIFY(worse.status == CompareStatus::Regression);
    QCOMPARE(static_cast<int>(worse.status), 1);
    QVERIFY(std::abs(worse.rows[0].growth() - 0.1) < 0.005);
    QVERIFY(worse.markdown().find("regressed") != std::string::npos);
    const Comparison better = compare(slow, before);
    QVERIFY(better.status == CompareStatus::Ok);
    QVERIFY(better.rows[0].change == Change::Improved);
}

void TestLiveBench::noisyTimesNeedMoreThanThreeMads()
{
    const BenchReport before = reportOfTimes(noisyTimes(300, 1000, 0.05, 1));
    const Comparison comparison = compare(before, reportOfTimes(noisyTimes(300, 1060, 0.05, 2)));
    QVERIFY(comparison.rows[0].limit > 0.085); // 3 · 0.67 · 5 %
    QVERIFY(comparison.status == CompareStatus::Ok);
}

void TestLiveBench::anotherDeviceIsNotComparable()
{
    const BenchReport before = reportOfTimes({1, 2, 3});
    const auto statusWith = [&](const char* pointer, const nlohmann::json& value) {
        BenchReport after = before;
        after.environment[nlohmann::json::json_pointer(pointer)] = value;
        return static_cast<int>(compare(before, after).status);
    };
    QCOMPARE(statusWith("/device/name", "NVIDIA GeForce RTX 4090"), 2);
    QCOMPARE(statusWith("/device/driver", "560.28"), 2);
    QCOMPARE(statusWith("/device/driver", "550.90"), 0);
    QCOMPARE(statusWith("/libraries/cudnn", "9.2.0"), 2);
    QCOMPARE(statusWith("/libraries/cudnn", "9.1.1"), 0);
    QCOMPARE(statusWith("/time", "2027"), 0);
    BenchReport other = before;
    other.config["size"] = "M";
    QCOMPARE(static_cast<int>(compare(before, other).status), 2);
    other.results.clear();
    QCOMPARE(static_cast<int>(compare(before, other).status), 3);
}

void TestLiveBench::forcedComparisonsCarryAWatermark()
{
    const BenchReport before = reportOfTimes(noisyTimes(300, 1000, 0.01, 1));
    BenchReport after = reportOfTimes(noisyTimes(300, 1100, 0.01, 2));
    after.config["weights_sha256"] = "def";
    QVERIFY(compare(before, after).rows.empty());
    const Comparison forced = compare(before, after, true);
    QVERIFY(forced.isForced && forced.status == CompareStatus::Regression);
    QVERIFY(forced.markdown().find("NOT COMPARABLE") != std::string::npos);
    QVERIFY(forced.markdown().find("weights' hash") != std::string::npos);
    QVERIFY(forced.toJson()["forced"].get<bool>());
    QVERIFY(!compare(before, before, true).isForced); // nothing had to be forced
}

void TestLiveBench::memoryAndNumbersRegressToo()
{
    const BenchReport before = reportOfTimes({1, 2, 3});
    const auto changeWith = [&](std::uint64_t mebibytes) {
        BenchReport after = before;
        after.results[0].memory.arena = mebibytes << 20;
        return compare(before, after).status;
    };
    QVERIFY(changeWith(8) == CompareStatus::Ok); // 4 %, but not above 8 MiB
    QVERIFY(changeWith(9) == CompareStatus::Regression);
    BenchReport large = before, larger = before;
    large.results[0].memory.weights = std::uint64_t{2000} << 20;
    larger.results[0].memory.weights = std::uint64_t{2015} << 20; // 15 MiB, but below 1 %
    QVERIFY(compare(large, larger).status == CompareStatus::Ok);

    const auto withError = [&](double psnr, double cosine) {
        BenchReport report = before;
        report.results[0].numeric = NumericError{0, 0, psnr, cosine, true};
        return report;
    };
    const BenchReport exact = withError(70, 0.99999);
    QVERIFY(compare(exact, withError(68, 0.99999)).status == CompareStatus::Ok);
    QVERIFY(compare(exact, withError(66.9, 0.99999)).status == CompareStatus::Regression);
    QVERIFY(compare(exact, withError(70, 0.9998)).status == CompareStatus::Regression);
    QVERIFY(!numericBoundBroken("bf16", {0, 0, 40, 0.9995, true}));
    QVERIFY(numericBoundBroken("fp16", {0, 0, 40, 1, false}));
}

void TestLiveBench::environmentNamesItsDevice()
{
    const auto device = makeCpuDevice(1);
    const nlohmann::json environment = captureEnvironment(*device);
    QCOMPARE(textAt(environment, "/device/kind"), std::string("cpu"));
    QVERIFY(!textAt(environment, "/libraries/onednn").empty());
    QVERIFY(!textAt(environment, "/build/version").empty());
    QVERIFY(environment["cpu"]["usable_threads"].get<int>() >= 1);
    const char* kernels = nameOf(static_cast<KernelVariant>(device->kernelVariant()));
    QVERIFY(environmentBadge(environment).find(kernels) != std::string::npos);
    QCOMPARE(textAt(environment, "/cpu/processors"), std::string()); // a number, no text
    QCOMPARE(textAt(nlohmann::json(3), "/device/name"), std::string());
    QCOMPARE(environmentBadge(nlohmann::json::object()), std::string("unknown device"));
}

void TestLiveBench::watchSeesADisturbance()
{
    WatchReport report;
    for (const double clock : {1980.0, 1980.0, 1980.0, 1700.0}) {
        WatchSample sample;
        sample.clockMHz = clock;
        sample.powerWatts = 300;
        report.samples.push_back(sample);
    }
    QCOMPARE(report.disturbances().size(), std::size_t{1});
    QVERIFY(report.disturbances()[0].find("1700") != std::string::npos);
    QCOMPARE(*report.meanPowerWatts(), 300.0);
    QCOMPARE(report.toJson()["clock_mhz"]["min"].get<double>(), 1700.0);
    QVERIFY(!report.toJson().contains("temperature_c"));
    for (WatchSample& sample : report.samples) {
        sample.clockMHz = 1980;
        sample.otherCpuPercent = 40;
    }
    QVERIFY(report.disturbances()[0].find("40 %") != std::string::npos);
}

VERGENCE_TEST(TestLiveBench)
#include "tst_live_bench.moc"
