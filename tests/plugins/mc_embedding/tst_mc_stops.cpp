#include <algorithm>

#include "core/base/clock.h"
#include "plugins/mc_embedding/models/vision_model.h"
#include "plugins/mc_embedding/models/weight_layout.h"
#include "plugins/mc_embedding/study/study_files.h"
#include "tests/plugins/mc_embedding/mc_run_bench.h"
#include "tests/support/device_table.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"

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
        QCOMPARE(atOnce.questions, 2); // once for the weights, once for their digest
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

QTEST_GUILESS_MAIN(TestMcStops)
#include "tst_mc_stops.moc"
