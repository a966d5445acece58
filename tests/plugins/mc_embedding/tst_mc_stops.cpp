#include <algorithm>

#include "core/base/clock.h"
#include "plugins/mc_embedding/models/vision_model.h"
#include "plugins/mc_embedding/models/weight_layout.h"
#include "plugins/mc_embedding/study/study_files.h"
#include "tests/plugins/mc_embedding/asked_context.h"
#include "tests/plugins/mc_embedding/mc_run_bench.h"
#include "tests/support/device_table.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

/// Says yes from the given question on, and counts them.
struct Asked {
    int yesFrom = 1 << 30;
    int questions = 0;

    std::function<bool()> hook()
    {
        return [this] { return ++questions >= yesFrom; };
    }
};

/// The largest product of a tower's tile, in floating-point operations.
double largestProduct(const TowerShape& tower)
{
    return 2.0 * static_cast<double>(sequencesPerTile(tower, true) * tower.tokens()) *
           static_cast<double>(tower.width * tower.hidden);
}

/// A run of one model that works through several tiles in a block.
Config largeBlocks(const RunBench& bench)
{
    return bench.configOf({"experiment=[\"exp0\", \"exp0b\", \"exp5\", \"degradation\"]", "count=6",
                           "batch_images=6", "batch_passes=64", "passes=[4, 32]", "bootstrap=20"});
}

/// The run from its preparation on until it is done or hears of a stop, results included.
void work(McEmbeddingRun& run, vergence::test::AskedContext& context)
{
    run.prepare(context);
    auto outcome = StepOutcome::Continue;
    while (!context.hasSaidYes && outcome != StepOutcome::Done) {
        context.currentPhase = "steps";
        outcome = run.step(context);
        context.steps += outcome == StepOutcome::Interrupted ? 0 : 1;
    }
    context.currentPhase = "results";
    if (outcome == StepOutcome::Done)
        run.finish(context);
}

/// Text features, image features and scores of the first model.
std::vector<double> numbersOf(const RunFolder& folder)
{
    const ModelStudy study = readStudy(folder.root).models.front();
    std::vector<double> numbers;
    const auto take = [&](const Matrix& matrix) {
        numbers.insert(numbers.end(), matrix.values.begin(), matrix.values.end());
    };
    for (const auto& [name, matrices] : study.scores) {
        for (const Matrix& matrix : matrices)
            take(matrix);
    }
    take(study.deterministic);
    if (study.ambiguity)
        take(study.ambiguity->logits);
    if (study.prompts)
        take(study.prompts->features);
    return numbers;
}

} // namespace

/// A stop is heard while weights and prompts are read; the text side by itself is in
/// tst_mc_text_model.
class TestMcStops : public QObject {
    Q_OBJECT

    std::shared_ptr<Device> m_device = vergence::test::devices().devices.front();
    std::unique_ptr<Stream> m_stream = m_device->createStream();

private Q_SLOTS:
    void weightsOfAnImageTowerAreReadTensorByTensor()
    {
        VERGENCE_GOLDEN_FOLDER(folder, "clip_tiny");
        const auto load = [&](Asked& asked) {
            VisionModelOptions options;
            options.isStopped = asked.hook();
            return loadVisionModel(*m_stream, m_device, "tiny_clip", folder, options);
        };
        Asked never;
        const VisionModel whole = load(never);
        QCOMPARE(whole.weightsSha256, weightDigest(weightPath(folder)));
        const auto tensors =
            static_cast<int>(WeightFile::open(weightPath(folder)).entries().size());
        QVERIFY2(never.questions > tensors / 3, qPrintable(QString::number(never.questions)));
        Asked atOnce{1};
        QVERIFY(load(atOnce).weightsSha256.empty());
        QCOMPARE(atOnce.questions, 3); // once for reading, putting in order, and their digest
    }

    void madeUpWeightsAreDrawnInPieces()
    {
        Asked never;
        VisionModelOptions options;
        options.isStopped = never.hook();
        const VisionModel whole = loadVisionModel(*m_stream, m_device, "tiny_clip", {}, options);
        QCOMPARE(whole.weightsSha256,
                 loadVisionModel(*m_stream, m_device, "tiny_clip", {}).weightsSha256);
        const int parameters = whole.encoder->parameters().count();
        QVERIFY2(never.questions > parameters, qPrintable(QString::number(never.questions)));
        Asked atOnce{1};
        options.isStopped = atOnce.hook();
        QVERIFY(
            loadVisionModel(*m_stream, m_device, "tiny_clip", {}, options).weightsSha256.empty());
        QVERIFY2(atOnce.questions < 5, qPrintable(QString::number(atOnce.questions)));
    }

    /// Work between two questions about a stop is at most about that of one product.
    void noPhaseIsSilentForLong()
    {
        const vergence::test::Scratch scratch;
        RunBench bench(scratch.path());
        const Config config = largeBlocks(bench);
        vergence::test::AskedContext context(config, bench.newFolder());
        McEmbeddingRun run(readMcEmbeddingConfig(config));
        work(run, context);
        QVERIFY(context.steps > 3);
        const double most = 2.1 * largestProduct(*towerShape("tiny_clip")); // two in a head's tail
        QVERIFY2(context.longestSilence <= most,
                 qPrintable(QStringLiteral("%1 Mflop without a question in phase \"%2\"; %3 are "
                                           "allowed")
                                .arg(context.longestSilence * 1e-6)
                                .arg(QString::fromStdString(context.silentPhase))
                                .arg(most * 1e-6)));
    }

    /// Whenever a stop comes, hardly anything more is computed and no more than one file written.
    void aStopIsHeardWhereverItComes()
    {
        const vergence::test::Scratch scratch;
        RunBench bench(scratch.path());
        const Config config = largeBlocks(bench);
        std::int64_t all = 0;
        {
            vergence::test::AskedContext context(config, bench.newFolder());
            McEmbeddingRun run(readMcEmbeddingConfig(config));
            work(run, context);
            all = context.questions;
        }
        QVERIFY(all > 100);
        const double most = largestProduct(*towerShape("tiny_clip"));
        for (std::int64_t question = 1; question <= all; question += 1 + question / 12) {
            vergence::test::AskedContext context(config, bench.newFolder());
            context.yesFrom = question;
            McEmbeddingRun run(readMcEmbeddingConfig(config));
            work(run, context);
            QVERIFY(context.hasSaidYes);
            const auto where = [&] {
                return qPrintable(QStringLiteral("stop at question %1 of %2, phase \"%3\"")
                                      .arg(question)
                                      .arg(all)
                                      .arg(QString::fromStdString(context.currentPhase)));
            };
            QVERIFY2(context.flopSinceAsked() <= most, where());
            QVERIFY2(context.questions < question + 12, where());
            QVERIFY2(context.filesAfterYes <= 1, where());
        }
    }

    /// Stops from the first moment on, each a little later than the one before.
    void stoppedWhileLoadingLosesNothing()
    {
        const vergence::test::Scratch scratch;
        RunBench bench(scratch.path());
        bench.checkpointSteps = 1;
        const Config config = bench.configOf({"experiment=[\"exp0\", \"exp5\", \"exp8\"]"});
        const RunFolder whole = bench.newFolder();
        const RunOutcome reference = bench.run(whole, config);
        QVERIFY2(reference.code == ExitCode::Success, reference.problems().c_str());
        const std::vector<double> expected = numbersOf(whole);
        const RunFolder folder = bench.newFolder();
        int stops = 0;
        double longest = 0;
        RunOutcome outcome;
        for (int patience = 0; stops < 20; patience += 1 + patience) {
            double askedAt = 0;
            int polls = 0;
            outcome = bench.run(folder, config, stops > 0, [&](RunController& controller) {
                if (askedAt == 0 && polls++ >= patience && controller.requestStop())
                    askedAt = steadySeconds();
            });
            if (outcome.state != RunState::Stopped)
                break;
            QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            longest = std::max(longest, steadySeconds() - askedAt);
            ++stops;
        }
        if (outcome.state == RunState::Stopped)
            outcome = bench.run(folder, config, true);
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY(numbersOf(folder) == expected);
        qInfo("%d stops, the longest took %.2f s", stops, longest);
        QVERIFY(stops > 5);
    }
};

VERGENCE_TEST(TestMcStops)
#include "tst_mc_stops.moc"
