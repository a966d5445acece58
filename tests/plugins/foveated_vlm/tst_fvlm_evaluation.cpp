#include <cmath>

#include <QTest>

#include "plugins/foveated_vlm/train/multiple_choice.h"
#include "tests/plugins/foveated_vlm/train_bench.h"
#include "tests/plugins/mc_embedding/faulty_device.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::fvlm::fixtures;

namespace {

using Options = TrainBench::Options;

Options inDouble(Variant variant = Variant::Captions)
{
    Options options;
    options.variant = variant;
    options.master = options.compute = DType::F64;
    return options;
}

EvaluationReport evaluated(TrainBench& bench, EvaluationSettings settings)
{
    Evaluator evaluator(bench.evaluated(), TrainBench::numbers(bench.clips.count()), settings);
    return evaluator.run(*bench.stream);
}

bool isNear(double a, double b, double tolerance = 1e-12)
{
    if (std::isnan(a) || std::isnan(b)) // nothing counted
        return std::isnan(a) && std::isnan(b);
    return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

} // namespace

class TestEvaluation : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void batchesChangeNothing_data()
    {
        QTest::addColumn<int>("variant");
        QTest::newRow("captions") << static_cast<int>(Variant::Captions);
        QTest::newRow("latents") << static_cast<int>(Variant::Latents);
        QTest::newRow("joint") << static_cast<int>(Variant::Joint);
    }
    void batchesChangeNothing()
    {
        QFETCH(int, variant);
        TrainBench bench(inDouble(static_cast<Variant>(variant)));
        EvaluationSettings settings;
        settings.batch = 5;
        const EvaluationReport a = evaluated(bench, settings);
        settings.batch = 1;
        const EvaluationReport b = evaluated(bench, settings);
        QCOMPARE(a.clips, Index{16});
        for (const auto& [x, y] : {std::pair(a.coarse, b.coarse), std::pair(a.fine, b.fine),
                                   std::pair(a.sequential, b.sequential)}) {
            QVERIFY(x && y);
            QVERIFY(x->loss > 0);
            QVERIFY(isNear(x->loss, y->loss));
            QVERIFY(isNear(x->later, y->later));
            QVERIFY(isNear(x->answerNats, y->answerNats));
            QCOMPARE(x->exactMatch, y->exactMatch);
            QCOMPARE(x->clipLosses.size(), std::size_t{16});
            for (std::size_t i = 0; i < x->clipLosses.size(); ++i)
                QVERIFY(isNear(x->clipLosses[i], y->clipLosses[i]));
        }
        QVERIFY(isNear(a.fineAttention.entropy, b.fineAttention.entropy));
        QVERIFY(isNear(a.likeness.featureSimilarity, b.likeness.featureSimilarity));
        QVERIFY(isNear(a.likeness.queryDeviation, b.likeness.queryDeviation));
    }

    void waysAreThoseThatWereAskedFor()
    {
        TrainBench bench(inDouble());
        EvaluationSettings both;
        const EvaluationReport all = evaluated(bench, both);
        EvaluationSettings alone;
        alone.fine = alone.sequential = false;
        const EvaluationReport coarse = evaluated(bench, alone);
        QVERIFY(!coarse.fine && !coarse.sequential && !coarse.ratio);
        QVERIFY(isNear(coarse.coarse->loss, all.coarse->loss));
        QVERIFY(isNear(coarse.judged(), all.coarse->loss));
        QVERIFY(isNear(all.judged(), all.fine->loss));
        QVERIFY(all.ratio->low <= all.ratio->value && all.ratio->value <= all.ratio->high);
        QVERIFY(isNear(all.ratio->value, all.coarse->loss / all.fine->loss));
        alone.coarse = false;
        VERGENCE_THROWS(ContractError, "at least one way", evaluated(bench, alone));
    }

    /// Preferences may come without an answer: the chosen one is what is to be said.
    void chosenAnswersStandForMissingOnes()
    {
        ClipInfo answered = clipOf(1, 2, "what?", "red disc"), chosen = clipOf(1, 2, "what?", "");
        chosen.text.chosen = "red disc";
        chosen.text.rejected = "blue";
        const ListedClips with({answered}), without({chosen}), silent({clipOf(1, 2, "what?", "")});
        const auto lossOf = [&](const ListedClips& clips) {
            Options options = inDouble();
            options.source = &clips;
            options.batches.batch = options.batches.window = 1;
            options.clips.count = 1;
            TrainBench bench(options);
            return evaluated(bench, {}).judged();
        };
        QVERIFY(lossOf(with) > 0);
        QCOMPARE(lossOf(without) > 0, true);
        QVERIFY(std::isnan(lossOf(silent))); // nothing counted, which is no loss of 0
    }

    void blindFloorIsSubtracted()
    {
        TrainBench bench(inDouble());
        EvaluationSettings settings;
        settings.blindNats = blindNats(SyntheticTask::Ask);
        const EvaluationReport report = evaluated(bench, settings);
        QVERIFY(isNear(settings.blindNats, std::log(6.0) + std::log(9.0)));
        QVERIFY(isNear(report.natsBelowBlind(report.fine),
                       settings.blindNats - report.fine->answerNats));
        QCOMPARE(report.natsBelowBlind({}), 0.0);
        QCOMPARE(evaluated(bench, {}).natsBelowBlind(report.fine), 0.0);
    }

    void copyErrorIsThatOfTheLatentBefore()
    {
        TrainBench bench(inDouble(Variant::Latents));
        const EvaluationReport report = evaluated(bench, {});
        double sum = 0;
        int count = 0;
        const auto size = std::size_t{4 * 2 * 2};
        for (Index clip = 0; clip < 16; ++clip) {
            std::vector<float> latents(3 * size);
            bench.latents.read(clip, latents);
            for (std::size_t i = size; i < latents.size(); ++i, ++count)
                sum += std::pow(static_cast<double>(latents[i] - latents[i - size]), 2);
        }
        QVERIFY(isNear(*report.copyError, sum / count, 1e-6));
        QCOMPARE(report.fine->byFrame.size(), std::size_t{3});
        QVERIFY(
            isNear(report.fine->later, (report.fine->byFrame[1] + report.fine->byFrame[2]) / 2));
        QVERIFY(isNear(report.fine->loss, report.fine->latents));
    }

    void controlsNeedTheQueriesToMatter()
    {
        Options blind = inDouble();
        TrainBench bench(blind);
        EvaluationSettings settings;
        settings.controls = true;
        const EvaluationReport report = evaluated(bench, settings);
        QVERIFY(*report.randomQueries != report.fine->loss);
        QVERIFY(*report.shuffledQueries != report.fine->loss);
        QVERIFY(*report.shuffledQueries != *report.randomQueries);
        // With a projection of 0 all queries see the same. Specification, section 16.4, case 3.
        const Tensor weight = bench.model.parameters().named("encoder.query_input_proj.weight");
        bench.stream->fillBytes(weight.data(), 0, weight.bytes());
        const EvaluationReport same = evaluated(bench, settings);
        QVERIFY(isNear(*same.randomQueries, same.fine->loss));
        QVERIFY(isNear(*same.shuffledQueries, same.fine->loss));
        QVERIFY(isNear(same.coarse->loss, same.fine->loss));
        QVERIFY(isNear(same.likeness.featureSimilarity, 1));
    }

    void attentionIsBetweenPointAndUniform()
    {
        TrainBench bench({});
        const EvaluationReport report = evaluated(bench, {});
        QVERIFY(isNear(report.fineAttention.uniform, std::log(5.0)));
        for (const AttentionMeasures& measures : {report.coarseAttention, report.fineAttention}) {
            QVERIFY(measures.entropy > 0 && measures.share() <= 1 + 1e-6);
            QVERIFY(measures.peak >= 0.2 && measures.peak <= 1);
            QVERIFY(measures.classMass > 0 && measures.classMass < 1);
        }
    }

    void stopKeepsWhatWasSeen()
    {
        TrainBench bench({});
        EvaluationSettings settings;
        settings.batch = 4;
        Evaluator evaluator(bench.evaluated(), TrainBench::numbers(16), settings);
        for (const int polls : {1, 2}) { // before the third batch, and within it
            Index done = 0;
            int asked = 0;
            const EvaluationReport report = evaluator.run(
                *bench.stream, [&] { return done == 8 && ++asked >= polls; },
                [&](Index clips) { done = clips; });
            QVERIFY(report.wasStopped);
            QCOMPARE(report.clips, Index{8});
            QVERIFY(report.fine && report.fine->clipLosses.size() == 8);
        }
        const EvaluationReport none = evaluator.run(*bench.stream, [] { return true; });
        QVERIFY(none.wasStopped && !none.fine && std::isnan(none.judged()));
    }

    void littleMemoryMakesSmallerBatches()
    {
        vergence::test::Faults faults;
        Options options;
        const auto device = std::make_shared<vergence::test::FaultyDevice>(faults);
        options.device = device;
        TrainBench bench(options);
        EvaluationSettings settings;
        settings.batch = 16;
        const std::size_t before = device->memory().usedByUs;
        const EvaluationReport roomy = evaluated(bench, settings);
        const std::size_t most = device->memory().peakUsedByUs - before;
        faults.capacity = before + most / 2;
        const EvaluationReport tight = evaluated(bench, settings);
        QCOMPARE(tight.clips, Index{16});
        QVERIFY(isNear(tight.fine->loss, roomy.fine->loss, 1e-5));
        faults.capacity = device->memory().usedByUs;
        VERGENCE_THROWS(DeviceError, "small", evaluated(bench, settings));
    }

    void choicesHaveTheirBaselines()
    {
        TrainBench bench({});
        std::vector<Question> questions;
        for (int i = 0; i < 6; ++i)
            questions.push_back({i, "What does the disc do?", {"red", "blue", "green"}, i % 2});
        questions.push_back({6, "Which?", {"red", "blue"}, 1});
        questions.push_back({7, "Which?", {"red", "blue"}, 1});
        for (const Mode mode : {Mode::CoarseOnly, Mode::CoarseFine, Mode::Sequential}) {
            const ChoiceReport report =
                answerQuestions(*bench.stream, bench.evaluated(), questions, mode);
            QCOMPARE(report.chosen.size(), std::size_t{8});
            QVERIFY(isNear(report.chance, (6.0 / 3 + 2.0 / 2) / 8));
            QVERIFY(isNear(report.constant, 5.0 / 8));
            int right = 0;
            for (std::size_t i = 0; i < 8; ++i)
                right += report.chosen[i] == questions[i].correct ? 1 : 0;
            QVERIFY(isNear(report.accuracy, right / 8.0));
        }
        questions[0].options = {"red"};
        VERGENCE_THROWS(
            ContractError, "two options",
            answerQuestions(*bench.stream, bench.evaluated(), questions, Mode::CoarseFine));
        questions[0] = {0, "Which?", {"red", "blue"}, 2};
        VERGENCE_THROWS(
            ContractError, "one of the options",
            answerQuestions(*bench.stream, bench.evaluated(), questions, Mode::CoarseFine));
    }
};

VERGENCE_TEST(TestEvaluation)
#include "tst_fvlm_evaluation.moc"
