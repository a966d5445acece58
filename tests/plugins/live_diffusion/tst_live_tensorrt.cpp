#include <QTest>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "core/base/file.h"
#include "plugins/live_diffusion/bench/ab_run.h"
#include "plugins/live_diffusion/bench/stream_target.h"
#include "plugins/live_diffusion/bench/subjects.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/unet.h"
#include "plugins/live_diffusion/onnx/verification.h"
#include "plugins/live_diffusion/tensorrt/tensorrt_network.h"
#include "tests/plugins/live_diffusion/fake_tensorrt.h"
#include "tests/plugins/live_diffusion/recording_device.h"
#include "tests/plugins/live_diffusion/train_cases.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using vergence::test::FakeTensorRt;
using vergence::test::Scratch;

namespace {

const EngineKey kKey{"NVIDIA GeForce RTX 4090 (x)", "8.9", "10.13.3", "abc123"};

std::vector<float> picture(unsigned seed)
{
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0, 0.5f);
    std::vector<float> values(3 * 16 * 16);
    for (float& value : values)
        value = normal(generator);
    return values;
}

/// Prediction and blend logits of two rows, the second without memory and history.
std::vector<float> answered(FrameNetwork& network)
{
    const std::vector<float> x = picture(1), u = picture(2), h = picture(3), other = picture(4);
    const std::vector<EvalRow> rows = {{x, u, h, 666, 3, true}, {other, u, {}, 20, 0, false}};
    const std::size_t values = 2 * 3 * 16 * 16, cells = 2 * 16 * 16;
    std::vector<float> output(values + cells);
    network.evaluate({rows}, {std::span(output).first(values), std::span(output).subspan(values)});
    return output;
}

/// The same network by the lab's engine in strict F32 and by TensorRT's place holder.
struct EnginePair {
    explicit EnginePair(OnnxType type = OnnxType::Float)
    {
        Switches strict = baselineSwitches();
        strict.threads = 1;
        engine =
            std::make_unique<UnetNetwork>(device, weights, UnetNetworkSettings{nano(), strict, 2});
        tensorRt = make(type);
    }
    std::unique_ptr<TensorRtNetwork> make(OnnxType type = OnnxType::Float)
    {
        return std::make_unique<TensorRtNetwork>(
            module, device, weights, TensorRtSettings{nano(), 2, type, cache.path() / "tensorrt"});
    }
    void write(unsigned seed)
    {
        engine->writeMemory(picture(seed));
        tensorRt->writeMemory(picture(seed));
    }
    /// Largest difference as a share of the largest value.
    double difference()
    {
        const std::vector<float> wanted = answered(*engine), made = answered(*tensorRt);
        double largest = 0;
        for (const float value : wanted)
            largest = std::max(largest, std::abs(double(value)));
        return numericError(made, wanted).maxAbs / largest;
    }

    Scratch cache;
    FakeTensorRt module;
    std::shared_ptr<Device> device = makeCpuDevice(1);
    std::shared_ptr<const HostWeights> weights = benchWeights(nano(), 5);
    std::unique_ptr<UnetNetwork> engine;
    std::unique_ptr<TensorRtNetwork> tensorRt;
};

std::filesystem::path engineIn(const std::filesystem::path& folder, std::size_t which = 0)
{
    std::vector<std::filesystem::path> engines;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".engine")
            engines.push_back(entry.path());
    }
    std::ranges::sort(engines);
    return engines.at(which);
}

} // namespace

class TestLiveTensorRt : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void keysTellWhatAnEngineIsGoodFor_data();
    void keysTellWhatAnEngineIsGoodFor();
    void namesOfFilesArePlain();
    void hashesCoverEveryFile();
    void filesComeBackWhole();
    void damagedFilesCountAsMissing();
    void enginesUsedLongestAgoGo();
    void aCacheThatCannotBeWrittenIsNamed();
    void modulesThatCannotBeLoadedSayWhy();
    void devicesWithoutTensorRtSayWhy();
    void rowsAgreeWithTheEngine();
    void sixteenBitsStayWithinTheirBound();
    void evaluationsAreRecordedOnACard();
    void costsAreThoseOfBothEngines();
    void enginesAreBuiltOnce();
    void anotherVersionNeedsAnotherEngine();
    void damagedEnginesAreBuiltAgain();
    void enginesThatAreNotTakenAreBuiltAgain();
    void whatIsNeverTakenIsAFailure();
    void wrongUseIsRefused();
    void planHasTheRowOrItsReason();
    void rowIsMeasuredLikeTheOthers();
};

void TestLiveTensorRt::initTestCase()
{
    static const Scratch folder; // the module is looked for once
    writeFileAtomic(folder / "libvergence-tensorrt.so", std::string_view("no library"));
    qputenv("VERGENCE_MODULE_PATH", folder.path().c_str());
}

void TestLiveTensorRt::keysTellWhatAnEngineIsGoodFor_data()
{
    QTest::addColumn<int>("field");
    QTest::addColumn<bool>("sharesTimings");
    QTest::newRow("GPU") << 0 << false;
    QTest::newRow("compute capability") << 1 << false;
    QTest::newRow("version") << 2 << false;
    QTest::newRow("network") << 3 << true;
}

void TestLiveTensorRt::keysTellWhatAnEngineIsGoodFor()
{
    QFETCH(int, field);
    QFETCH(bool, sharesTimings);
    EngineKey other = kKey;
    std::string* fields[] = {&other.gpu, &other.computeCapability, &other.version, &other.onnxHash};
    *fields[field] += "1";
    QVERIFY(other.engineFile() != kKey.engineFile());
    QCOMPARE(other.timingFile() == kKey.timingFile(), sharesTimings);
}

void TestLiveTensorRt::namesOfFilesArePlain()
{
    QCOMPARE(kKey.engineFile(),
             std::string("NVIDIA-GeForce-RTX-4090--x--8.9-trt-10.13.3-abc123.engine"));
    QCOMPARE(kKey.timingFile(), std::string("NVIDIA-GeForce-RTX-4090--x--8.9-trt-10.13.3.timings"));
}

void TestLiveTensorRt::hashesCoverEveryFile()
{
    const Scratch folder;
    writeFileAtomic(folder / "a", std::string_view("1"));
    writeFileAtomic(folder / "b", std::string_view("2"));
    const std::string both = hashOfFiles({folder / "a", folder / "b"});
    QCOMPARE(both.size(), std::size_t{64});
    QVERIFY(both != hashOfFiles({folder / "a"}));
    writeFileAtomic(folder / "b", std::string_view("3"));
    QVERIFY(both != hashOfFiles({folder / "a", folder / "b"}));
}

void TestLiveTensorRt::filesComeBackWhole()
{
    const Scratch folder;
    const EngineCache cache(folder / "made/when/needed");
    QVERIFY(!cache.read("a.engine"));
    const std::string bytes("plan\0with zeros\0", 16);
    cache.write("a.engine", bytes);
    QCOMPARE(*cache.read("a.engine"), bytes);
    cache.write("a.engine", "");
    QCOMPARE(*cache.read("a.engine"), std::string());
}

void TestLiveTensorRt::damagedFilesCountAsMissing()
{
    const Scratch folder;
    const EngineCache cache(folder.path());
    cache.write("a.engine", "an engine");
    const std::string whole = readFile(folder / "a.engine");
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] ^= 1;
        writeFileAtomic(folder / "a.engine", std::string_view(damaged));
        QVERIFY2(!cache.read("a.engine"), std::to_string(i).c_str());
        writeFileAtomic(folder / "a.engine", std::string_view(whole).substr(0, i));
        QVERIFY2(!cache.read("a.engine"), std::to_string(i).c_str());
    }
    writeFileAtomic(folder / "a.engine", std::string_view(whole));
    QVERIFY(cache.read("a.engine"));
}

void TestLiveTensorRt::enginesUsedLongestAgoGo()
{
    const Scratch folder;
    const EngineCache cache(folder.path());
    cache.write("t.timings", "kept");
    const auto now = std::filesystem::file_time_type::clock::now();
    for (std::size_t i = 0; i < EngineCache::kKeptEngines; ++i) {
        const std::string name = std::to_string(i) + ".engine";
        cache.write(name, name);
        std::filesystem::last_write_time(folder / name, now - std::chrono::hours(100 - i));
    }
    std::filesystem::last_write_time(folder / "t.timings", now - std::chrono::hours(200));
    QVERIFY(cache.read("0.engine")); // the oldest, but used now
    cache.write("new.engine", "new");
    QVERIFY(cache.read("0.engine") && cache.read("new.engine") && cache.read("t.timings"));
    QVERIFY(!cache.read("1.engine"));
    QVERIFY(cache.read("2.engine"));
}

void TestLiveTensorRt::aCacheThatCannotBeWrittenIsNamed()
{
    const Scratch folder;
    writeFileAtomic(folder / "file", std::string_view("in the way"));
    VERGENCE_THROWS(OutputError, "file/below",
                    EngineCache(folder / "file/below").write("a.engine", "x"));
    FakeTensorRt module;
    const auto device = makeCpuDevice(1);
    VERGENCE_THROWS(OutputError, "file/below",
                    cachedEngine(module, *device, {}, EngineCache(folder / "file/below")));
}

void TestLiveTensorRt::modulesThatCannotBeLoadedSayWhy()
{
    std::string reason;
    QVERIFY(!tensorRtModule(&reason));
    QVERIFY2(reason.starts_with("TensorRT cannot be loaded (") &&
                 reason.find("libvergence-tensorrt.so") != std::string::npos &&
                 reason.ends_with("install its libraries."),
             reason.c_str());
}

void TestLiveTensorRt::devicesWithoutTensorRtSayWhy()
{
    const auto device = makeCpuDevice(1);
    QCOMPARE(whyNoTensorRt(*device), std::string("TensorRT needs an NVIDIA GPU."));
    VERGENCE_THROWS(DeviceError, "NVIDIA GPU",
                    makeTensorRtNetwork(device, benchWeights(nano(), 1), nano(), 1));
    const auto card = std::make_shared<vergence::test::RecordingDevice>();
    QVERIFY(whyNoTensorRt(*card).starts_with("TensorRT cannot be loaded"));
    VERGENCE_THROWS(DeviceError, "TensorRT cannot be loaded",
                    makeTensorRtNetwork(card, benchWeights(nano(), 1), nano(), 1));
}

void TestLiveTensorRt::rowsAgreeWithTheEngine()
{
    EnginePair pair;
    QVERIFY(pair.difference() <= kOnnxBound);
    const std::vector<float> without = answered(*pair.tensorRt);
    for (unsigned write = 0; write < 18; ++write) { // round the ring, whose first slot is pinned
        pair.write(10 + write);
        if (write == 0 || write == 4 || write == 17)
            QVERIFY2(pair.difference() <= kOnnxBound, std::to_string(write).c_str());
    }
    QCOMPARE(pair.tensorRt->memoryWrites(), 18);
    const std::vector<float> with = answered(*pair.tensorRt);
    const std::size_t row = 3 * 16 * 16;
    QVERIFY(!std::equal(with.begin(), with.begin() + row, without.begin())); // sees it
    QVERIFY(std::equal(with.begin() + row, with.begin() + 2 * row, without.begin() + row));
    pair.tensorRt->resetMemory();
    QCOMPARE(answered(*pair.tensorRt), without);
}

void TestLiveTensorRt::sixteenBitsStayWithinTheirBound()
{
    EnginePair pair(OnnxType::Float16);
    QCOMPARE(pair.tensorRt->switches().precision, Precision::Fp16);
    pair.write(10);
    const NumericError error = numericError(answered(*pair.tensorRt), answered(*pair.engine));
    QVERIFY2(error.psnr >= kOnnxLeastPsnr, std::to_string(error.psnr).c_str());
    QVERIFY(error.maxAbs > 0);
}

void TestLiveTensorRt::evaluationsAreRecordedOnACard()
{
    const auto card = std::make_shared<vergence::test::RecordingDevice>();
    EnginePair pair;
    pair.device = card;
    pair.tensorRt = pair.make(OnnxType::Float16);
    QVERIFY(std::filesystem::exists(engineIn(pair.cache / "tensorrt")));
    answered(*pair.tensorRt); // two of three launches that warm up
    QCOMPARE(card->recordings, 0);
    const NumericError error = numericError(answered(*pair.tensorRt), answered(*pair.engine));
    QVERIFY2(error.psnr >= kOnnxLeastPsnr, std::to_string(error.psnr).c_str());
    QCOMPARE(card->recordings, 1); // its second row ran while it was recorded
    const int replays = card->replays;
    answered(*pair.tensorRt);
    QCOMPARE(card->replays, replays + 2);
    QCOMPARE(card->recordings, 1);
    for (unsigned write = 0; write < 3; ++write) // the null token was the encoder's first launch
        pair.tensorRt->writeMemory(picture(write));
    QCOMPARE(card->recordings, 2);
}

void TestLiveTensorRt::costsAreThoseOfBothEngines()
{
    EnginePair pair;
    answered(*pair.tensorRt);
    const FrameCost cost = pair.tensorRt->cost();
    QCOMPARE(cost.weightBytes, std::size_t{8000});
    QCOMPARE(cost.arenaBytes, std::size_t{300});
    const auto width = static_cast<std::size_t>(nano().memoryWidth());
    QCOMPARE(cost.cacheBytes, 264 * width * 4);
    // x, u, h, t, b, mem_bias, pred, blend; frame, tokens, null; the encoder's activations
    const std::size_t image = 3 * 16 * 16;
    QCOMPARE(cost.workspaceBytes,
             4 * (4 * image + 2 + 264 + 256 + image + 16 * width + width) + 300);
    QCOMPARE(cost.tuningPeakBytes, std::size_t{77});
    QVERIFY(cost.kernelsPerEval > 100 && cost.launchSeconds > 0 && cost.flopPerRow > 1'000'000);
}

void TestLiveTensorRt::enginesAreBuiltOnce()
{
    EnginePair pair;
    QCOMPARE(pair.module.builds, 2); // denoiser and memory encoder
    QCOMPARE(pair.module.timingsSeen, std::string("timings"));
    const auto again = pair.make();
    QCOMPARE(pair.module.builds, 2);
    QCOMPARE(again->cost().tuningPeakBytes, std::size_t{0});
    QCOMPARE(answered(*again), answered(*pair.tensorRt));
    QCOMPARE(vergence::test::contentOf(pair.cache / "tensorrt").size(), std::size_t{3});
}

void TestLiveTensorRt::anotherVersionNeedsAnotherEngine()
{
    EnginePair pair;
    pair.module.versionText = "10.14.0";
    pair.module.timingsSeen = "?";
    pair.make();
    QCOMPARE(pair.module.builds, 4);
    pair.make(OnnxType::Float16);
    QCOMPARE(pair.module.builds, 6);
}

void TestLiveTensorRt::damagedEnginesAreBuiltAgain()
{
    EnginePair pair;
    const auto file = engineIn(pair.cache / "tensorrt");
    const std::string whole = readFile(file);
    writeFileAtomic(file, std::string_view(whole).substr(0, whole.size() / 2));
    const auto again = pair.make();
    QCOMPARE(pair.module.builds, 3);
    QCOMPARE(readFile(file), whole);
    QCOMPARE(answered(*again), answered(*pair.tensorRt));
}

void TestLiveTensorRt::enginesThatAreNotTakenAreBuiltAgain()
{
    EnginePair pair;
    pair.module.refusals = 1;
    const auto again = pair.make();
    QCOMPARE(pair.module.builds, 3);
    QCOMPARE(answered(*again), answered(*pair.tensorRt));
}

void TestLiveTensorRt::whatIsNeverTakenIsAFailure()
{
    EnginePair pair;
    pair.module.refusals = 2;
    VERGENCE_THROWS(DeviceError, "does not take the engine that it has just built: made by another",
                    pair.make());
}

void TestLiveTensorRt::wrongUseIsRefused()
{
    EnginePair pair;
    QCOMPARE(pair.tensorRt->maxRows(), 2);
    QVERIFY(pair.tensorRt->shape() == pair.engine->shape());
    const std::vector<float> x = picture(1);
    std::vector<float> out(x.size()), blend(16 * 16);
    const auto evaluate = [&](const EvalRow& row, std::size_t rows) {
        const std::vector<EvalRow> all(rows, row);
        pair.tensorRt->evaluate({all}, {out, blend});
    };
    VERGENCE_THROWS(ContractError, "3 batch rows", evaluate({x, {}, {}}, 3));
    VERGENCE_THROWS(ContractError, "the prediction", evaluate({x, {}, {}}, 2));
    VERGENCE_THROWS(ContractError, "x has 3", evaluate({std::span(x).first(3), {}, {}}, 1));
    VERGENCE_THROWS(ContractError, "u has 3", evaluate({x, std::span(x).first(3), {}}, 1));
    VERGENCE_THROWS(ContractError, "timestep", evaluate({x, {}, {}, 1000}, 1));
    VERGENCE_THROWS(ContractError, "the frame", pair.tensorRt->writeMemory({}));
    Switches other = pair.tensorRt->switches();
    pair.tensorRt->setSwitches(other);
    other.fusion = !other.fusion;
    VERGENCE_THROWS(ContractError, "chooses by itself", pair.tensorRt->setSwitches(other));
    VERGENCE_THROWS(ContractError, "no operations", pair.tensorRt->replay(0, 1));
}

void TestLiveTensorRt::planHasTheRowOrItsReason()
{
    const auto device = makeCpuDevice(1);
    for (const std::string reason : {"", "No SDK."}) {
        const std::vector<AbStep> plan = abPlan(abTechniques(*device, reason));
        QCOMPARE(std::ranges::count(plan, "TensorRT", &AbStep::technique), std::ptrdiff_t{1});
        const AbStep& row = *std::ranges::find(plan, "TensorRT", &AbStep::technique);
        QVERIFY(row.part == AbPart::Alone && row.setting.usesTensorRt);
        QCOMPARE(row.setting.switches.precision, Precision::Fp16);
        QCOMPARE(row.unavailable, reason);
        QCOMPARE(std::ranges::count_if(
                     plan, [](const AbStep& step) { return step.setting.usesTensorRt; }),
                 std::ptrdiff_t{1});
    }
}

void TestLiveTensorRt::rowIsMeasuredLikeTheOthers()
{
    EnginePair pair;
    BenchSubject subject = denoiserSubject(pair.device, nano(), pair.weights);
    QVERIFY(!subject.whyNoTensorRt().empty());
    QVERIFY(!replicaA(pair.device).whyNoTensorRt().empty());
    subject.buildTensorRt = [&](int rows) {
        return std::make_shared<TensorRtNetwork>(
            pair.module, pair.device, pair.weights,
            TensorRtSettings{nano(), rows, OnnxType::Float16, pair.cache.path()});
    };
    StreamTarget target(subject, {}, benchFrames({1, 16, 16}, 3), Protocol::within(0.02), 2);
    std::vector<AbStep> plan = abPlan(abTechniques(*pair.device, ""));
    std::erase_if(plan, [](const AbStep& step) {
        return step.part != AbPart::Baseline && !step.setting.usesTensorRt;
    });
    AbRun run(target, plan);
    while (run.next()) {
    }
    const AbEntry& row = run.entries().at(1);
    QVERIFY2(row.failure.empty() && row.measurement, row.failure.c_str());
    const BenchResult& result = row.measurement->result;
    QVERIFY(result.numeric->psnr >= kOnnxLeastPsnr && result.numeric->psnr < 100);
    QVERIFY(row.measurement->frameError->psnr >= kOnnxLeastPsnr);
    QCOMPARE(result.memory.weights, std::uint64_t{8000});
    QVERIFY(row.speedUp > 0 && row.speedUp < 1); // the interpreter is slow
    QCOMPARE(row.verdict, AbVerdict::Slower);
    const nlohmann::json json = toJson(run.entries());
    QVERIFY(json[1]["setting"]["tensorrt"].get<bool>());
    QVERIFY(!json[0]["setting"]["tensorrt"].get<bool>());
}

VERGENCE_TEST(TestLiveTensorRt)
#include "tst_live_tensorrt.moc"
