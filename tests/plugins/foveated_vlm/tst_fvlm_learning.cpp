#include <cmath>

#include <QTest>

#include "plugins/foveated_vlm/train/multiple_choice.h"
#include "tests/plugins/foveated_vlm/train_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::fvlm::fixtures;

namespace {

using Options = TrainBench::Options;

/// Four clips, learned by heart. Specification, section 16.7, case 1.
Options fourClips()
{
    Options options;
    options.clips.count = 4;
    options.batches.batch = 4;
    options.batches.gradAccum = 1;
    options.batches.window = 4;
    options.training.updates = 400;
    options.training.ema = 0;
    options.training.live.rates = {3e-3, 3e-3, 3e-3};
    options.training.live.logEvery = 50;
    return options;
}

} // namespace

class TestLearning : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fourClipsAreLearnedByHeart()
    {
        TrainBench bench(fourClips());
        const std::vector<UpdateRecord> records = bench.run(400);
        QVERIFY2(records.back().loss < 0.05, qPrintable(QString::number(records.back().loss)));
        Evaluator evaluator(bench.evaluated(), TrainBench::numbers(4), {});
        const EvaluationReport report = evaluator.run(*bench.stream);
        QCOMPARE(report.fine->exactMatch, 1.0);
        QCOMPARE(report.sequential->exactMatch, 1.0);
        QVERIFY(report.fine->loss < 0.05);

        std::vector<Question> questions;
        for (Index clip = 0; clip < 4; ++clip) {
            const ClipText text = bench.clips.info(clip).text;
            questions.push_back({clip, text.prompt, {text.rejected, text.answer}, 1});
        }
        const ChoiceReport choices =
            answerQuestions(*bench.stream, bench.evaluated(), questions, Mode::Sequential);
        QCOMPARE(choices.accuracy, 1.0);
    }

    void oneLookIsLearnedAsControl()
    {
        Options options = fourClips();
        options.training.trainsCoarseOnly = true;
        TrainBench bench(options);
        const std::vector<UpdateRecord> records = bench.run(400);
        QVERIFY(records.back().loss < 0.05);
        QCOMPARE(records.back().loss, records.back().coarse);
        QVERIFY(std::isnan(records.back().fine));
        EvaluationSettings settings;
        settings.fine = settings.sequential = false;
        Evaluator evaluator(bench.evaluated(), TrainBench::numbers(4), settings);
        QCOMPARE(evaluator.run(*bench.stream).coarse->exactMatch, 1.0);
    }

    /// Preferences start at m = 0, where the loss is ln 2, and end with the chosen answers ahead.
    void preferencesAreLearned()
    {
        Options options = fourClips();
        options.training.objective = Objective::Preferences;
        options.training.updates = 40;
        options.training.warmup = 0;
        options.training.live.logEvery = 1;
        options.training.live.rates = {1e-3, 1e-3, 1e-3};
        TrainBench bench(options);
        QVERIFY(bench.trainer->needsReference());
        int asked = 0;
        QVERIFY(!bench.trainer->makeReference(*bench.stream, [&] { return ++asked > 0; }));
        QVERIFY(bench.trainer->makeReference(*bench.stream));
        QVERIFY(!bench.trainer->needsReference());
        const std::vector<UpdateRecord> records = bench.run(40);
        QVERIFY(std::abs(records.front().loss - std::log(2.0)) < 1e-5);
        QVERIFY(std::abs(records.front().margin) < 1e-5);
        const UpdateRecord& last = records.back();
        QVERIFY(last.loss < 0.5);
        QCOMPARE(last.accuracy, 1.0);
        QVERIFY(last.margin > 0);
        QVERIFY(std::abs(last.margin - (last.chosenReward - last.rejectedReward)) < 1e-9);
    }

    /// Predicting latents beats taking those of the frame before, on four clips.
    void latentsAreLearned()
    {
        Options options = fourClips();
        options.variant = Variant::Latents;
        options.clips.task = SyntheticTask::Next;
        options.training.live.coarse = 1;
        options.training.updates = 200;
        TrainBench bench(options);
        bench.run(200);
        Evaluator evaluator(bench.evaluated(), TrainBench::numbers(4), {});
        const EvaluationReport report = evaluator.run(*bench.stream);
        QVERIFY2(
            report.fine->later < 0.8 * *report.copyError,
            qPrintable(QString("%1 against %2").arg(report.fine->later).arg(*report.copyError)));
    }
};

VERGENCE_TEST(TestLearning)
#include "tst_fvlm_learning.moc"
