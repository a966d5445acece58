#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "core/metrics/metric_store.h"
#include "plugins/mc_embedding/study/study_files.h"
#include "tests/plugins/mc_embedding/mc_run_bench.h"
#include "tests/plugins/mc_embedding/study_difference.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

namespace fs = std::filesystem;

/// Painted pictures that stay the same whatever a run asks for.
fs::path paintedFolder(const fs::path& parent, std::size_t count)
{
    const fs::path folder = parent / ("painted" + std::to_string(count));
    writeDemoImages(folder, count, 42);
    return folder;
}

} // namespace

/// Whole runs of the MC embedding study on the tiny towers.
class TestMcStudyRun : public QObject {
    Q_OBJECT

    test::Scratch m_scratch;
    RunBench m_bench{m_scratch.path()};

    StudyState studyOf(const std::vector<std::string>& assignments)
    {
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(folder, m_bench.configOf(assignments));
        if (outcome.code != ExitCode::Success)
            throw InputError(outcome.problems());
        return readStudy(folder.root);
    }

private Q_SLOTS:
    void finishedRunHasAllOutputs()
    {
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(
            folder,
            m_bench.configOf({"models=[\"tiny_clip\", \"toy_linear\"]",
                              "experiment=[\"exp0\", \"exp0b\", \"exp4\", \"exp5\", "
                              "\"degradation\"]",
                              "degradations=[\"blur5\"]", "geometry_trials=2", "bootstrap=20"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QCOMPARE(outcome.state, RunState::Completed);
        for (const char* file :
             {"study/state.json", "study/models/tiny_clip.npz", "study/tiny_clip_images.csv",
              "study/exp0/tiny_clip/exp0_summary.json", "study/exp0/exp0_overall_summary.json",
              "study/exp0/tiny_clip/exp0_trials_T8.npz", "study/exp0b/tiny_clip/exp0b_summary.json",
              "study/exp0b/toy_linear/exp0b_geometry_trials.npz", "study/exp4/exp4_summary.json",
              "study/exp4/exp4_toy_linear.npz", "study/exp5/tiny_clip/exp5_summary.json",
              "study/exp5/tiny_clip/exp5_tiny_clip.npz",
              "study/degradation/tiny_clip/degradation_summary.json"})
            QVERIFY2(fs::exists(folder.artifacts() / file), file);
        const auto summary = nlohmann::json::parse(
            readFile(folder.artifacts() / "study/exp0/tiny_clip/exp0_summary.json"));
        QCOMPARE(summary.at("num_images").get<int>(), 6);
        const auto& cell = summary.at("results").at("T=8").at("pre_norm");
        QCOMPARE(cell.at("num_trials").get<int>(), 3);
        QVERIFY(cell.at("icc").is_number() && cell.at("pairwise_spearman").size() == 3);
        QVERIFY(summary.at("sites").at("list").size() > 10);
        const MetricStore store = MetricStore::fromCsv(readFile(folder.metrics()), "metrics.csv");
        QVERIFY(store.find("icc/tiny_clip/T8") != nullptr);
        QVERIFY(store.find("speed/tflops") != nullptr);
        const auto csv = readFile(folder.artifacts() / "study/tiny_clip_images.csv");
        QCOMPARE(std::count(csv.begin(), csv.end(), '\n'), std::ptrdiff_t(1 + 2 * 2 * 6));
    }

    void recordIsReadBackWithoutLoss()
    {
        const RunFolder folder = m_bench.newFolder();
        QCOMPARE(m_bench
                     .run(folder, m_bench.configOf({"experiment=[\"exp0b\", \"degradation\"]",
                                                    "degradations=[\"down4\"]"}))
                     .code,
                 ExitCode::Success);
        const StudyState first = readStudy(folder.root);
        const RunFolder copy = m_bench.newFolder();
        ArtifactStore artifacts(copy);
        writeStudy(artifacts, first);
        const StudyState second = readStudy(copy.root);
        QCOMPARE(differenceOf(first.models.front(), second.models.front()), std::string());
        QCOMPARE(readFile(folder.artifacts() / "study/state.json"),
                 readFile(copy.artifacts() / "study/state.json"));
    }

    void scoresDoNotDependOnBatches_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::newRow("one pass") << QStringList{"batch_passes=1"};
        QTest::newRow("all passes") << QStringList{"batch_passes=64"};
        QTest::newRow("five images") << QStringList{"batch_images=5", "batch_passes=8"};
    }
    void scoresDoNotDependOnBatches()
    {
        QFETCH(QStringList, assignments);
        std::vector<std::string> list{"models=[\"tiny_siglip\"]", "geometry_trials=1"};
        const StudyState reference = studyOf(list);
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const StudyState other = studyOf(list);
        QCOMPARE(differenceOf(reference.models.front(), other.models.front()), std::string());
    }

    /// So a chunk may be taken over whatever their number was: V20 allows 1e-4.
    void threadsChangeTheLastDigitsAtMost_data()
    {
        QTest::addColumn<int>("threads");
        for (const int threads : {2, 3, 5})
            QTest::addRow("%d", threads) << threads;
    }
    void threadsChangeTheLastDigitsAtMost()
    {
        QFETCH(int, threads);
        m_bench.threads = 1;
        const StudyState one = studyOf({});
        m_bench.threads = threads;
        const StudyState more = studyOf({});
        m_bench.threads = 0;
        const std::vector<double>& a = one.models.front().scores.at("trace_pre")[1].values;
        const std::vector<double>& b = more.models.front().scores.at("trace_pre")[1].values;
        QCOMPARE(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i)
            QVERIFY2(std::abs(a[i] / b[i] - 1) < 1e-4,
                     qPrintable(QString("%1 %2").arg(a[i]).arg(b[i])));
    }

    void fewerPassesAreTheBeginningOfMore()
    {
        const StudyState more = studyOf({}), fewer = studyOf({"passes=[4]"});
        for (const char* score : {"trace_pre", "trace_post"})
            QVERIFY(sameNumbers(more.models.front().scores.at(score)[0],
                                fewer.models.front().scores.at(score)[0]));
    }

    void stoppedRunGoesOnToTheSameBits()
    {
        const std::vector<std::string> assignments{
            "experiment=[\"exp0\", \"exp0b\", \"degradation\"]", "degradations=[\"blur5\"]",
            "models=[\"tiny_clip\", \"tiny_siglip\"]", "geometry_trials=2",
            "metrics=[\"trace_pre\", \"weighted_trace\", \"angular_var\"]"};
        const Config config = m_bench.configOf(assignments);
        const RunFolder whole = m_bench.newFolder();
        const RunOutcome reference = m_bench.run(whole, config);
        QVERIFY2(reference.code == ExitCode::Success, reference.problems().c_str());
        const StudyState expected = readStudy(whole.root);
        std::mt19937 random(7);
        const RunFolder broken = m_bench.newFolder();
        int stops = 0;
        // 50 stops spread over as many runs as that takes, each wherever it happens to be.
        RunFolder folder = broken;
        bool resumes = false;
        while (stops < 50) {
            const auto after = std::uniform_int_distribution<int>(
                1, static_cast<int>(reference.steps) / 3)(random);
            std::int64_t begin = -1;
            bool isAsked = false;
            const RunOutcome outcome =
                m_bench.run(folder, config, resumes, [&](RunController& controller) {
                    if (begin < 0)
                        begin = controller.step();
                    if (!isAsked && controller.step() - begin >= after)
                        isAsked = controller.requestStop();
                });
            QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            resumes = outcome.state == RunState::Stopped;
            stops += resumes ? 1 : 0;
            if (!resumes) {
                const StudyState state = readStudy(folder.root);
                for (const ModelStudy& model : expected.models)
                    QCOMPARE(differenceOf(model, modelOf(state, model.label)), std::string());
                QCOMPARE(outcome.steps, reference.steps);
                folder = m_bench.newFolder();
            }
        }
        if (resumes) {
            QCOMPARE(m_bench.run(folder, config, true).code, ExitCode::Success);
            const StudyState state = readStudy(folder.root);
            for (const ModelStudy& model : expected.models)
                QCOMPARE(differenceOf(model, modelOf(state, model.label)), std::string());
        }
    }

    void workBeforeAStopCountsAsDone()
    {
        const Config config = m_bench.configOf({"batch_passes=1", "batch_images=8"});
        const RunFolder folder = m_bench.newFolder();
        stopAfter(folder, config, 3);
        QVERIFY(workDone(folder) < 1);
        QCOMPARE(m_bench.run(folder, config, true).state, RunState::Completed);
        QCOMPARE(workDone(folder), 1.0);
    }

    /// Of masks in the last block alone, most of a pass is done once per image.
    void speedIsThatOfWhatIsComputed()
    {
        const RunFolder folder = m_bench.newFolder();
        const Config config = m_bench.configOf({"placement=fc2_all", "blocks=[2]"});
        QCOMPARE(m_bench.run(folder, config).state, RunState::Completed);
        const MetricStore store = MetricStore::fromCsv(readFile(folder.metrics()), "metrics.csv");
        const ModelStudy study = readStudy(folder.root).models.front();
        // Both are of the same blocks, which take far less than the ten seconds of the meter.
        const double shown = store.find("speed/tflops")->values().back(),
                     computed = study.flop / study.seconds * 1e-12;
        QVERIFY2(std::abs(shown / computed - 1) < 0.25,
                 qPrintable(QString("%1 %2").arg(shown).arg(computed)));
        QCOMPARE(workDone(folder), 1.0);
    }

    void changedSettingsRefuseToGoOn_data()
    {
        QTest::addColumn<QString>("assignment");
        QTest::addColumn<QString>("name");
        QTest::newRow("p") << "p=0.1"
                           << "p was 0.05 and is 0.1";
        QTest::newRow("seed") << "seed=43"
                              << "seed was 42 and is 43";
        QTest::newRow("placement") << "placement=mlp_only"
                                   << "placement was";
        QTest::newRow("variance") << "variance=biased"
                                  << "variance was";
    }
    void changedSettingsRefuseToGoOn()
    {
        QFETCH(QString, assignment);
        QFETCH(QString, name);
        const RunFolder folder = m_bench.newFolder();
        stopAfter(folder, m_bench.configOf({}), 3);
        const RunOutcome outcome =
            m_bench.run(folder, m_bench.configOf({assignment.toStdString()}), true);
        QCOMPARE(outcome.code, ExitCode::InputUnreadable);
        QVERIFY2(outcome.problems().find(name.toStdString()) != std::string::npos,
                 outcome.problems().c_str());
    }

    void changedPictureRefusesToGoOn()
    {
        const fs::path pictures = paintedFolder(m_scratch / "changed", 6);
        const Config config = m_bench.configOf({"folder=" + pictures.string()});
        const RunFolder folder = m_bench.newFolder();
        stopAfter(folder, config, 3);
        for (const auto& entry : fs::recursive_directory_iterator(pictures)) {
            if (entry.is_regular_file()) {
                Image image = readPng(entry.path());
                image.pixels[0] = static_cast<std::uint8_t>(image.pixels[0] ^ 255);
                writePng(entry.path(), image);
                break;
            }
        }
        const RunOutcome outcome = m_bench.run(folder, config, true);
        QCOMPARE(outcome.code, ExitCode::InputUnreadable);
        QVERIFY2(outcome.problems().find("was another one") != std::string::npos,
                 outcome.problems().c_str());
    }

    void longerStudyTakesOverWhatIsDone_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::newRow("more images") << QStringList{"count=11"};
        QTest::newRow("more trials") << QStringList{"trials=5"};
        QTest::newRow("more passes") << QStringList{"passes=[4, 8, 12]"};
        QTest::newRow("all of it") << QStringList{"count=9", "trials=4", "passes=[4, 8, 10]"};
    }
    void longerStudyTakesOverWhatIsDone()
    {
        QFETCH(QStringList, assignments);
        const fs::path pictures = paintedFolder(m_scratch.path(), 12);
        std::vector<std::string> list{"folder=" + pictures.string()};
        const RunFolder before = m_bench.newFolder();
        QCOMPARE(m_bench.run(before, m_bench.configOf(list)).code, ExitCode::Success);
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const RunFolder fresh = m_bench.newFolder(), extended = m_bench.newFolder();
        const RunOutcome whole = m_bench.run(fresh, m_bench.configOf(list));
        QCOMPARE(whole.code, ExitCode::Success);
        list.push_back("reuse_from=" + before.root.string());
        const RunOutcome part = m_bench.run(extended, m_bench.configOf(list));
        QCOMPARE(part.code, ExitCode::Success);
        QVERIFY2(part.steps < whole.steps,
                 qPrintable(QString("%1 of %2").arg(part.steps).arg(whole.steps)));
        const StudyState a = readStudy(fresh.root), b = readStudy(extended.root);
        QVERIFY(!a.models.front().clouds.empty());
        QCOMPARE(differenceOf(a.models.front(), b.models.front()), std::string());
        QCOMPARE(workDone(extended), 1.0);
        // The same by continuing the run itself.
        list.pop_back();
        QCOMPARE(m_bench.run(before, m_bench.configOf(list), true).code, ExitCode::Success);
        QCOMPARE(differenceOf(a.models.front(), readStudy(before.root).models.front()),
                 std::string());
    }

    void damagedChunkIsMeasuredAgain()
    {
        const RunFolder folder = m_bench.newFolder();
        const Config config = m_bench.configOf({});
        QCOMPARE(m_bench.run(folder, config).code, ExitCode::Success);
        const StudyState expected = readStudy(folder.root);
        std::vector<fs::path> chunks;
        for (const auto& entry : fs::recursive_directory_iterator(folder.checkpoints() / "chunks"))
            if (entry.is_regular_file())
                chunks.push_back(entry.path());
        QCOMPARE(chunks.size(), std::size_t(3));
        std::sort(chunks.begin(), chunks.end());
        fs::resize_file(chunks[1], fs::file_size(chunks[1]) / 2);
        const RunOutcome outcome = m_bench.run(folder, config, true);
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QCOMPARE(differenceOf(expected.models.front(), readStudy(folder.root).models.front()),
                 std::string());
    }

    void brokenPicturesAreLeftOutAndNamed()
    {
        const fs::path pictures = paintedFolder(m_scratch / "broken", 5);
        std::ofstream(pictures / "zz_torn.png") << "no picture";
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(folder, m_bench.configOf({"folder=" + pictures.string(), "count=9"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY(outcome.problems().find("zz_torn.png") != std::string::npos);
        QVERIFY(outcome.problems().find("Only 6 of the 9 images") != std::string::npos);
        const StudyState state = readStudy(folder.root);
        QCOMPARE(state.skippedImages.size(), std::size_t(1));
        QCOMPARE(state.models.front().imagesDone, std::size_t(5));
    }

    void modelWithoutWeightsLeavesTheOthers()
    {
        const fs::path pictures = paintedFolder(m_scratch.path(), 12);
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(folder, m_bench.configOf({"folder=" + pictures.string(),
                                                  "models=[\"clip_b32\", \"tiny_clip\"]"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY(outcome.problems().find("clip_b32 is left out") != std::string::npos);
        const StudyState state = readStudy(folder.root);
        QCOMPARE(state.models.size(), std::size_t(1));
        QVERIFY(state.skippedModels.contains("clip_b32"));

        const RunFolder none = m_bench.newFolder();
        const RunOutcome failed = m_bench.run(
            none, m_bench.configOf({"folder=" + pictures.string(), "models=[\"clip_b32\"]"}));
        QCOMPARE(failed.code, ExitCode::InputUnreadable);
        QVERIFY(failed.problems().find("folder_clip_b32") != std::string::npos);
    }

    void variantsAreMeasuredSideBySide()
    {
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(
            folder, m_bench.configOf({"compare_p=[0.01, 0.2]",
                                      "compare_placements=[\"all_linear\", \"mlp_only\"]"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        const StudyState state = readStudy(folder.root);
        QCOMPARE(state.models.size(), std::size_t(4));
        QCOMPARE(state.models[3].label, std::string("tiny_clip-mlp_only-p0.2"));
        const auto summary = nlohmann::json::parse(
            readFile(folder.artifacts() / "study/variants/tiny_clip_variants.json"));
        QCOMPARE(summary.at("spearman").size(), std::size_t(4));
    }

private:
    /// The share of the work that the run says is done.
    double workDone(const RunFolder& folder)
    {
        const MetricStore store = MetricStore::fromCsv(readFile(folder.metrics()), "metrics.csv");
        return store.find("progress/flop_share")->values().back();
    }

    void stopAfter(const RunFolder& folder, const Config& config, std::int64_t steps)
    {
        bool isAsked = false;
        m_bench.run(folder, config, false, [&](RunController& controller) {
            if (!isAsked && controller.step() >= steps)
                isAsked = controller.requestStop();
        });
    }
};

VERGENCE_TEST(TestMcStudyRun)
#include "tst_mc_study_run.moc"
