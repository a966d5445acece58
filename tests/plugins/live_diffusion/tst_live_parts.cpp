#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/studio_folders.h"
#include "plugins/live_diffusion/engine/replica_network.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/session/ab_part.h"
#include "plugins/live_diffusion/session/drift_part.h"
#include "plugins/live_diffusion/session/onnx_part.h"
#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/session/profile_part.h"
#include "plugins/live_diffusion/session/train_part.h"
#include "tests/plugins/live_diffusion/linear_network.h"
#include "tests/plugins/live_diffusion/part_context.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::test;

namespace {

constexpr std::size_t kLargestDrawing = 256u << 10;

LiveDiffusionConfig tiny()
{
    LiveDiffusionConfig config;
    config.modelSize = Size::Nano;
    config.frameSize = 16;
    config.weights = WeightsFrom::Bench;
    config.precision = Precision::Fp32;
    config.switches.tuned = false;
    config.abFrames = 3;
    config.driftFrames = 6;
    return config;
}

/// A context and the networks of a configuration.
struct PartsBench {
    explicit PartsBench(const LiveDiffusionConfig& config)
        : networks(context.device(), context.stream(), config,
                   [this](const std::string&, const std::string& sentence) {
                       context.warnings.push_back(sentence);
                   })
    {
    }
    /// All steps; their number.
    std::int64_t run(Part& part)
    {
        part.begin(context);
        for (bool goesOn = part.stepsLeft() > 0; goesOn; ++context.steps)
            goesOn = part.step(context);
        part.finish(context);
        return context.steps;
    }
    std::string text(const std::string& artifact) const
    {
        return readFile(context.artifact(artifact));
    }
    nlohmann::json json(const std::string& artifact) const
    {
        return nlohmann::json::parse(text(artifact));
    }
    double last(const std::string& series) const
    {
        return context.records.at(series).back().second;
    }
    bool has(const std::string& artifact)
    {
        const auto all = context.artifacts().list();
        return std::ranges::any_of(all, [&](const Artifact& one) {
            return one.path == "artifacts/" + artifact && one.bytes > 0;
        });
    }
    bool isShown(const std::string& stream)
    {
        return !context.frames().newest(stream).info.meta.empty();
    }

    PartContext context;
    Networks networks;
};

std::ptrdiff_t lines(const std::string& text)
{
    return std::ranges::count(text, '\n');
}

/// A stop during the first step leaves everything as it was, and the part goes on afterwards.
void expectStopsAndGoesOn(Part& part, PartContext& context)
{
    part.begin(context);
    const std::int64_t left = part.stepsLeft();
    context.isStopped = true;
    QVERIFY(part.step(context));
    QVERIFY(part.wasInterrupted());
    QCOMPARE(part.stepsLeft(), left);
    part.finish(context);
    QVERIFY(context.artifacts().list().empty());
    context.isStopped = false;
    part.step(context);
    QVERIFY(!part.wasInterrupted());
    QCOMPARE(part.stepsLeft(), left - 1);
}

} // namespace

class TestLiveParts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aFinishedTrainingTakesNoStep();
    void parametersComeBackFromTheHost();
    void weightsSayWhatTheyWereTrainedFor();
    void parametersNameWhatDoesNotFit();
    void replicaReadsThePreviousFrame();
    void replacedOutputIsTheNextHistory();
    void abListsEveryRow();
    void abLeavesOutWhatTimeDoesNotReach();
    void abStopsWithinARow();
    void abMeasuresReplicas();
    void profileAccountsForTheEvaluation();
    void profileStopsWithinAStep();
    void oracleHasNothingToMeasure();
    void driftRunsEveryVariant();
    void driftRepeats();
    void driftKeepsWhatIsFastest();
    void truthAsHistoryIsAnotherStream();
    void longDriftFitsIntoAFrame();
    void onnxHolds();
    void onnxWantsWeights();
    void onnxStopsBetweenParts();
    void fewUpdatesDistilToo();
    void everyPartAsksWhileItWorks_data();
    void everyPartAsksWhileItWorks();
    void boundsAreBelowWhatIsMeasured();
};

/// As after a stop between the last step and the results.
void TestLiveParts::aFinishedTrainingTakesNoStep()
{
    LiveDiffusionConfig config = tiny();
    config.weights = WeightsFrom::Training;
    config.trainUpdates = 2;
    config.warmup = 0;
    config.train.samples.batch = config.trainClips = 1;
    PartsBench bench(config);
    VERGENCE_THROWS(InputError, "no weights yet",
                    bench.networks.tape(bench.context.stream(), true));
    VERGENCE_THROWS(InputError, "no weights yet", bench.networks.build());
    TrainPart part(bench.networks);
    part.begin(bench.context);
    QVERIFY(part.step(bench.context));
    QVERIFY(!part.step(bench.context));
    QCOMPARE(part.stepsLeft(), std::int64_t{0});
    QVERIFY(!part.step(bench.context));
    QCOMPARE(bench.context.records.at("loss").size(), std::size_t{2});
}

void TestLiveParts::weightsSayWhatTheyWereTrainedFor()
{
    LiveDiffusionConfig config;
    config.weights = WeightsFrom::File;
    config.weightsFile = VERGENCE_SOURCE_DIR "/resources/live_diffusion/pico.safetensors";
    QCOMPARE(PartsBench(config).context.warnings, std::vector<std::string>());
    config.loop.curve = BetaCurve::Linear;
    config.loop.sampler = SamplerKind::Consistency;
    QCOMPARE(PartsBench(config).context.warnings,
             (std::vector<std::string>{
                 "The weights were trained under the cosine schedule; set curve to that.",
                 "The weights were not distilled: lcm steps will look rough."}));
}

void TestLiveParts::parametersComeBackFromTheHost()
{
    PartsBench bench(tiny());
    const auto tape = bench.networks.tape(bench.context.stream(), false);
    const auto wanted = benchWeights(tape->settings(), tiny().seed);
    const auto back = hostWeights(bench.context.stream(), tape->parameters());
    QCOMPARE(back->size(), wanted->size());
    for (const auto& [name, weight] : *wanted) {
        QVERIFY2(back->at(name).shape == weight.shape, name.c_str());
        QVERIFY2(back->at(name).values == weight.numbers(), name.c_str());
        QVERIFY2(weight.values.empty(), "random weights are not kept");
    }
}

void TestLiveParts::parametersNameWhatDoesNotFit()
{
    PartsBench bench(tiny());
    const auto tape = bench.networks.tape(bench.context.stream(), false);
    HostWeights weights = *hostWeights(bench.context.stream(), tape->parameters());
    const std::string missing = weights.begin()->first;
    const std::string other = weights.rbegin()->first;
    weights.erase(missing);
    weights[other].shape.push_back(1);
    Stream& stream = bench.context.stream();
    VERGENCE_THROWS(ContractError, missing.c_str(),
                    setParameters(stream, tape->parameters(), weights));
    VERGENCE_THROWS(ContractError, other.c_str(),
                    setParameters(stream, tape->parameters(), weights));
}

void TestLiveParts::replicaReadsThePreviousFrame()
{
    Switches switches = baselineSwitches();
    switches.threads = 1;
    const auto network =
        makeReplicaNetwork(makeCpuDevice(1), buildReplicaB(32, 16), 3, switches, 2);
    QCOMPARE(network->shape(), (FrameShape{1, 16, 16}));
    const auto values = static_cast<std::size_t>(network->shape().values());
    const std::vector<float> x(values, 0.2f), before(values, -0.7f);
    const EvalRow rows[] = {{x, {}, {}}, {x, {}, before}};
    std::vector<float> prediction(2 * values), logits(2 * 16 * 16, 7.0f);
    network->evaluate({rows}, {prediction, logits});
    const std::span first = std::span(prediction).first(values);
    const std::span second = std::span(prediction).last(values);
    QVERIFY(std::ranges::all_of(prediction, [](float value) { return std::isfinite(value); }));
    QVERIFY(!std::ranges::equal(first, second));
    QVERIFY(std::ranges::all_of(logits, [](float value) { return value == 0; }));
    QVERIFY(!network->operations().empty());
    VERGENCE_THROWS(ContractError, "batch rows", [&] {
        const std::vector<EvalRow> three(3, rows[0]);
        network->evaluate({three}, {prediction, logits});
    }());
    switches.graph = true; // not on a CPU
    VERGENCE_THROWS(ContractError, "card", network->setSwitches(switches));
}

void TestLiveParts::replacedOutputIsTheNextHistory()
{
    const FrameShape shape{2, 8, 8};
    auto network = std::make_shared<LinearNetwork>(shape);
    network->gains = {.input = 0, .history = 1};
    LoopSettings settings;
    settings.historyNoise = 0;
    settings.cutCosine = -1;
    FrameLoop loop(network, settings);
    const std::vector<float> input(static_cast<std::size_t>(shape.values()), 0.25f);
    VERGENCE_THROWS(ContractError, "last output", loop.replaceLast(input));
    loop.process(input);
    QVERIFY(std::abs(loop.values()[0] - 0.25f) < 1e-5f); // its history is the input
    loop.replaceLast(std::vector<float>(input.size(), -0.5f));
    loop.process(input);
    QVERIFY(std::abs(loop.values()[0] + 0.5f) < 1e-5f);
    VERGENCE_THROWS(ContractError, "size", loop.replaceLast(std::span(input).first(3)));
}

void TestLiveParts::abListsEveryRow()
{
    LiveDiffusionConfig config = tiny();
    config.abSeconds = 1000; // enough for all, with short streams
    PartsBench bench(config);
    AbRunPart part(bench.networks);
    const std::int64_t steps = bench.run(part);
    const auto entries = part.entries();
    QCOMPARE(steps, static_cast<std::int64_t>(entries.size()));
    const auto measured = std::ranges::count_if(
        entries, [](const AbEntry& entry) { return entry.measurement.has_value(); });
    for (const AbEntry& entry : entries) {
        QVERIFY2(entry.failure.empty(), entry.failure.c_str());
        QVERIFY(entry.measurement.has_value() == entry.step.unavailable.empty());
        if (entry.measurement)
            QVERIFY2(entry.measurement->result.numeric->psnr > 40, entry.step.technique.c_str());
    }
    QVERIFY(measured > 5);
    QCOMPARE(bench.last("ab_rows"), static_cast<double>(measured));
    QVERIFY(bench.last("ab_speedup") >= 1 && bench.last("ab_speedup") < 1000);
    QCOMPARE(lines(bench.text("ab/ab.csv")), static_cast<std::ptrdiff_t>(entries.size()) + 1);
    QCOMPARE(bench.json("ab/ab.json").at("rows").size(), entries.size());
    for (const char* file :
         {"ab/ab.md", "ab/waterfall.png", "ab/waterfall.svg", "ab/table.png", "ab/table.svg"})
        QVERIFY2(bench.has(file), file);
    QVERIFY(bench.isShown("ab") && bench.isShown("ab_table"));
}

void TestLiveParts::abLeavesOutWhatTimeDoesNotReach()
{
    LiveDiffusionConfig config = tiny();
    config.abSeconds = 1e-3;
    PartsBench bench(config);
    AbRunPart part(bench.networks);
    QCOMPARE(bench.run(part), std::int64_t{1}); // the baseline alone
    const auto entries = part.entries();
    QVERIFY(entries.size() > 5);
    QVERIFY(entries.front().measurement.has_value());
    QVERIFY(entries[1].step.part == AbPart::Cumulative); // these come first then
    QVERIFY(entries[1].step.unavailable.starts_with("Left out"));
    QVERIFY(bench.text("ab/ab.md").find("Left out") != std::string::npos);
}

void TestLiveParts::abStopsWithinARow()
{
    PartsBench bench(tiny());
    AbRunPart part(bench.networks);
    expectStopsAndGoesOn(part, bench.context);
}

void TestLiveParts::abMeasuresReplicas()
{
    LiveDiffusionConfig config = tiny();
    config.network = NetworkKind::ReplicaA;
    config.abSeconds = 1e-3;
    PartsBench bench(config);
    AbRunPart part(bench.networks);
    bench.run(part);
    QVERIFY(bench.text("ab/ab.md").find("Replica-A") != std::string::npos);
    QVERIFY(std::isnan(part.entries().front().measurement->streamPsnr[0].value_or(NAN)));
}

void TestLiveParts::profileAccountsForTheEvaluation()
{
    PartsBench bench(tiny());
    ProfilePart part(bench.networks);
    bench.run(part);
    QVERIFY(bench.last("profile_total_ms") > 0);
    QVERIFY(bench.last("profile_unaccounted") < 1);
    const auto profile = bench.json("profile/profile.json");
    QVERIFY(!profile.at("layers").empty());
    QVERIFY(profile.contains("layers_alone"));
    QCOMPARE(profile.at("frame_ms").size(), std::size_t{3});
    const auto& ms = profile.at("frame_ms");
    QVERIFY(ms[0] > 0 && ms[2] > ms[0]); // four steps take longer than one
    QVERIFY(profile.at("bound_ms") > 0);
    const auto memory = bench.json("profile/memory.json");
    QVERIFY(memory.at("cost").at("weight_bytes") > 0);
    QVERIFY(!memory.at("timeline").empty() && !memory.at("what_if").empty());
    for (const char* file :
         {"profile/layers.csv", "profile/profile.md", "profile/roofline.png", "profile/layers.svg",
          "profile/memory.png", "profile/targets.png", "profile/targets.svg"})
        QVERIFY2(bench.has(file), file);
    for (const char* stream : {"roofline", "layers", "memory", "targets"})
        QVERIFY2(bench.isShown(stream), stream);
}

void TestLiveParts::profileStopsWithinAStep()
{
    PartsBench bench(tiny());
    ProfilePart part(bench.networks);
    part.begin(bench.context);
    QVERIFY(part.step(bench.context)); // roofs
    const std::int64_t left = part.stepsLeft();
    bench.context.isStopped = true;
    QVERIFY(part.step(bench.context));
    QVERIFY(part.wasInterrupted());
    QCOMPARE(part.stepsLeft(), left);
    part.finish(bench.context); // nothing to write yet
    QVERIFY(bench.context.artifacts().list().empty());
}

void TestLiveParts::oracleHasNothingToMeasure()
{
    LiveDiffusionConfig config = tiny();
    config.network = NetworkKind::Oracle;
    PartsBench bench(config);
    ProfilePart part(bench.networks);
    QCOMPARE(bench.run(part), std::int64_t{0});
    QCOMPARE(bench.context.warnings.size(), std::size_t{1});
    AbRunPart rows(bench.networks);
    QCOMPARE(bench.run(rows), std::int64_t{0});
    QCOMPARE(bench.context.warnings.size(), std::size_t{2});
    QVERIFY(bench.context.artifacts().list().empty());
}

void TestLiveParts::driftRunsEveryVariant()
{
    PartsBench bench(tiny());
    DriftPart part(bench.networks);
    const std::int64_t steps = bench.run(part);
    const auto report = bench.json("drift/drift.json");
    const auto& variants = report.at("variants");
    QCOMPARE(static_cast<std::int64_t>(variants.size()) * 6, steps);
    std::vector<std::string> names;
    for (const auto& variant : variants) {
        names.push_back(variant.at("name"));
        QCOMPARE(variant.at("psnr_db").size(), std::size_t{6});
    }
    const std::vector<std::string> always{"as configured",
                                          "no history noise",
                                          "no memory",
                                          "no blend",
                                          "no history noise, no memory",
                                          "no history noise, no blend",
                                          "no memory, no blend",
                                          "no history noise, no memory, no blend",
                                          "fed the truth"};
    QVERIFY(names.size() >= always.size());
    QVERIFY(std::equal(always.begin(), always.end(), names.begin()));
    if (names.size() > always.size()) // a second precision
        QCOMPARE(report.at("divergence").at("psnr_db").size(), std::size_t{6});
    QCOMPARE(lines(bench.text("drift/drift.csv")), static_cast<std::ptrdiff_t>(steps) + 1);
    const auto& psnr = bench.context.records.at("drift_psnr");
    QCOMPARE(psnr.size(), std::size_t{6});
    QCOMPARE(psnr.back().first, std::int64_t{5});
    QVERIFY(psnr.back().second > 0 && psnr.back().second < 60);
    QVERIFY(bench.context.notes.contains("drift_verdict"));
    QVERIFY(bench.context.records.contains("drift_slope"));
    QCOMPARE(bench.context.warnings.size(), std::size_t{1}); // random weights
    for (const char* file : {"drift/drift.png", "drift/drift.svg", "drift/ablation.png"})
        QVERIFY2(bench.has(file), file);
    QVERIFY(bench.isShown("drift"));
    QVERIFY(bench.context.frames().newest("ablation").info.width > 0);
}

void TestLiveParts::driftRepeats()
{
    LiveDiffusionConfig config = tiny();
    config.driftGrid = false;
    PartsBench bench(config);
    DriftPart part(bench.networks);
    QCOMPARE(bench.run(part), std::int64_t{6});
    const std::string first = bench.text("drift/drift.csv");
    DriftPart again(bench.networks);
    bench.run(again);
    QCOMPARE(bench.text("drift/drift.csv"), first);
}

/// So that the same study in the next process has the same bits.
void TestLiveParts::driftKeepsWhatIsFastest()
{
    LiveDiffusionConfig config = tiny();
    config.driftGrid = false;
    config.switches.tuned = true;
    PartsBench bench(config);
    DriftPart part(bench.networks);
    bench.run(part);
    const auto file = cacheHome() / "live_diffusion" / "fastest.json"; // the context's own
    QVERIFY(std::filesystem::exists(file));
    QVERIFY(!nlohmann::json::parse(readFile(file)).at("choices").empty());
}

void TestLiveParts::truthAsHistoryIsAnotherStream()
{
    PartsBench bench(tiny());
    DriftPart part(bench.networks);
    bench.run(part);
    const auto report = bench.json("drift/drift.json");
    const auto psnr = [&](std::size_t variant, std::size_t frame) {
        return report.at("variants").at(variant).at("psnr_db").at(frame).get<double>();
    };
    QCOMPARE(psnr(8, 0), psnr(0, 0)); // nothing has been fed back yet
    QVERIFY(psnr(8, 1) != psnr(0, 1));
    QVERIFY(psnr(2, 0) == psnr(0, 0) && psnr(2, 1) != psnr(0, 1)); // no memory
}

void TestLiveParts::longDriftFitsIntoAFrame()
{
    DriftStudy study;
    for (int i = 0; i < 10; ++i) {
        DriftVariant variant;
        variant.name = "fp16 beside fp32";
        for (int frame = 0; frame < 5000; ++frame)
            variant.psnr.push_back(20 + std::sin(0.01 * frame + i) / 3);
        variant.colourDistance = variant.contrastRatio = variant.detailRatio = variant.repetition =
            variant.temporalError = variant.psnr;
        study.variants.push_back(std::move(variant));
    }
    const std::size_t bytes = driftCharts(study).toJson().size();
    QVERIFY2(bytes < kLargestDrawing, qPrintable(QString::number(bytes)));
}

void TestLiveParts::onnxHolds()
{
    LiveDiffusionConfig config = tiny();
    config.onnxFrame = true;
    config.loop.steps = 3;
    PartsBench bench(config);
    OnnxPart part(bench.networks);
    QCOMPARE(bench.run(part), std::int64_t{1});
    QCOMPARE(bench.last("onnx_ok"), 1.0);
    QVERIFY(bench.context.warnings.empty());
    for (const char* file : {"onnx/unet.onnx", "onnx/mem_encoder.onnx", "onnx/frame_3.onnx",
                             "onnx/onnx_check.npz", "onnx/onnx_check.json", "onnx/onnx_check.txt"})
        QVERIFY2(bench.has(file), file);
}

void TestLiveParts::onnxWantsWeights()
{
    LiveDiffusionConfig config = tiny();
    config.weights = WeightsFrom::Training; // by a part before, which there is not
    PartsBench bench(config);
    OnnxPart part(bench.networks);
    part.begin(bench.context);
    VERGENCE_THROWS(InputError, "no weights", part.step(bench.context));
}

void TestLiveParts::onnxStopsBetweenParts()
{
    PartsBench bench(tiny());
    OnnxPart part(bench.networks);
    expectStopsAndGoesOn(part, bench.context);
}

/// Fewer than the warm-up of a distillation takes.
void TestLiveParts::fewUpdatesDistilToo()
{
    LiveDiffusionConfig config = tiny();
    config.train.samples.batch = config.trainClips = 1;
    for (const int updates : {1, 2}) {
        config.distillUpdates = updates;
        PartsBench bench(config);
        const auto part = makePart(PartKind::Distill, bench.networks);
        QCOMPARE(bench.run(*part), std::int64_t{updates});
        QVERIFY(bench.has(kDistilledWeights));
    }
}

void TestLiveParts::everyPartAsksWhileItWorks_data()
{
    QTest::addColumn<QString>("part");
    QTest::addColumn<int>("before"); ///< steps before the one that is looked at
    QTest::newRow("first pictures of a training") << "train" << 0;
    QTest::newRow("update") << "train" << 1;
    QTest::newRow("distillation") << "distill" << 1;
    QTest::newRow("baseline") << "ab" << 0;
    QTest::newRow("second row") << "ab" << 1;
    QTest::newRow("operations in place") << "profile" << 1;
    QTest::newRow("time budgets") << "profile" << 3;
    QTest::newRow("closed loop") << "drift" << 0;
    QTest::newRow("ONNX") << "onnx" << 0;
}

/// Between two operations, layers or samples: whoever waits for a stop never waits for a whole
/// step. What was stopped is as it was before the step.
void TestLiveParts::everyPartAsksWhileItWorks()
{
    QFETCH(QString, part);
    QFETCH(int, before);
    LiveDiffusionConfig config = tiny();
    config.trainUpdates = 4;
    config.distillUpdates = 400;
    config.warmup = 0;
    config.train.samples.batch = config.trainClips = 1;
    config.abSeconds = 1000; // short streams
    const auto begun = [&](PartsBench& bench) {
        auto made = makePart(*enumOf<PartKind>(part.toStdString()), bench.networks);
        made->begin(bench.context);
        for (int i = 0; i < before; ++i)
            made->step(bench.context);
        return made;
    };
    PartsBench whole(config);
    const auto first = begun(whole);
    whole.context.questions = 0;
    first->step(whole.context);
    QVERIFY(!first->wasInterrupted());
    // How often a part asks in all may follow from times that it measures, so the stop comes early.
    constexpr int kWithin = 10;
    const int all = whole.context.questions;
    QVERIFY2(all > 2 * kWithin, qPrintable(QString::number(all)));
    for (const int at : {0, kWithin}) {
        PartsBench bench(config);
        const auto stopped = begun(bench);
        const std::int64_t left = stopped->stepsLeft();
        const auto values = bench.context.records;
        bench.context.questions = 0;
        bench.context.stopsAt = at;
        QVERIFY(stopped->step(bench.context));
        QVERIFY(stopped->wasInterrupted());
        QVERIFY2(bench.context.questions <= at + 2, "it went on");
        QCOMPARE(stopped->stepsLeft(), left);
        QVERIFY(bench.context.records == values);
    }
}

/// Weights of a large network fill a computer once, not three times.
void TestLiveParts::boundsAreBelowWhatIsMeasured()
{
    LiveDiffusionConfig config = tiny();
    config.modelSize = Size::Pico;
    config.frameSize = 64;
    config.switches.tuned = true; // with Winograd's algorithm where the processor has it
    PartsBench bench(config);
    ProfilePart part(bench.networks);
    bench.run(part);
    const auto report = bench.json("profile/profile.json");
    for (const auto& row : report.at("layers"))
        if (row.contains("roof_percent"))
            QVERIFY2(row.at("roof_percent").get<double>() <= 100 + 1e-9, row.dump().c_str());
    double sum = 0;
    for (const auto& row : report.at("layers"))
        sum += row.at("time_us").get<double>() / 1e3; // with what is in no operation
    QVERIFY2(report.at("bound_ms").get<double>() <= sum, report.at("bound_ms").dump().c_str());
}

VERGENCE_TEST(TestLiveParts)
#include "tst_live_parts.moc"
