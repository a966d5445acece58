#include <QTemporaryDir>
#include <QTest>

#include "core/artifact/gif.h"
#include "core/artifact/manifest.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/io/synthetic_scene.h"
#include "plugins/sugar/sugar_run.h"
#include "tests/support/run_bench.h"

using namespace vergence;
using namespace vergence::sugar;
using vergence::test::RunOutcome;
using vergence::test::timelessNumbers;

namespace {

const std::vector<std::string> kTiny{
    "goal=gaussians",   "built_in_width=64",  "built_in_height=48",  "iterations=60",
    "sh_degree=1",      "sh_every=20",        "densify=\"classic\"", "densify_from=10",
    "densify_until=50", "densify_every=10",   "reset_every=0",       "eval_every=20",
    "cap=4000",         "turntable_frames=4", "turntable_size=64",   "milestones=[20]"};

std::string bytesOf(const RunFolder& folder, const std::string& artifact)
{
    return readFile(folder.artifacts() / artifact);
}

} // namespace

/// Whole runs of the SuGaR lab on the built-in scene.
class TestSugarRun : public QObject {
    Q_OBJECT

    QTemporaryDir m_temporary;
    test::RunBench m_bench{
        m_temporary.path().toStdString(), sugarSchema(),
        [](const Config& config) { return std::make_unique<SugarRun>(readSugarConfig(config)); },
        kTiny};

    Config configOf(const std::vector<std::string>& more = {}) { return m_bench.configOf(more); }

    std::filesystem::path folderPath(const std::string& name) const
    {
        return std::filesystem::path(m_temporary.path().toStdString()) / name;
    }

private Q_SLOTS:
    void finishedRunHasAllOutputs()
    {
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(folder, configOf({"formats=[\"ply\", \"splat\", \"spz\"]"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        for (const char* file :
             {"gaussians.ply", "gaussians.splat", "gaussians.spz", "cameras.json",
              "evaluation.json", "evaluation.csv", "turntable.gif", "turntable/frame-003.png",
              "milestones/step-000020/gaussians.ply", "test/test_00/render.png",
              "test/test_03/difference.png"})
            QVERIFY2(std::filesystem::exists(folder.artifacts() / file), file);
        const auto numbers = timelessNumbers(folder);
        QCOMPARE(numbers.at("train/loss").size(), std::size_t(60));
        QCOMPARE(numbers.at("test/psnr").size(), std::size_t(3));
        QVERIFY2(numbers.at("test/psnr").back() > numbers.at("test/psnr").front(),
                 "training must help");
        QVERIFY(numbers.at("train/loss").back() < 0.8 * numbers.at("train/loss").front());
        QCOMPARE(readGif(folder.artifacts() / "turntable.gif").frames.size(), std::size_t(4));
        QCOMPARE(static_cast<double>(readGaussianPly(folder.artifacts() / "gaussians.ply").count()),
                 numbers.at("gaussians/count").back());
    }

    /// 17.20: a run that was stopped goes on as if nothing had been.
    void resumedRunIsTheSame_data()
    {
        QTest::addColumn<QString>("densify");
        QTest::addColumn<bool>("mip");
        QTest::addColumn<int>("stopAt");
        QTest::newRow("classic, stop between rounds") << "classic" << true << 25;
        QTest::newRow("classic, stop at a round and test") << "classic" << false << 40;
        QTest::newRow("absolute") << "absolute" << true << 33;
        QTest::newRow("combined") << "combined" << true << 27;
        QTest::newRow("mcmc") << "mcmc" << true << 31;
    }
    void resumedRunIsTheSame()
    {
        QFETCH(QString, densify);
        QFETCH(bool, mip);
        QFETCH(int, stopAt);
        const Config config = configOf({"densify=\"" + densify.toStdString() + "\"",
                                        mip ? "mip=true" : "mip=false", "progressive=true"});
        const RunFolder whole = m_bench.newFolder(), parts = m_bench.newFolder();
        QCOMPARE(m_bench.run(whole, config).code, ExitCode::Success);
        bool stopped = false;
        const RunOutcome first = m_bench.run(parts, config, false, [&](RunController& controller) {
            if (!stopped && controller.step() >= stopAt) {
                controller.requestStop();
                stopped = true;
            }
        });
        QCOMPARE(first.state, RunState::Stopped);
        const RunOutcome second = m_bench.run(parts, config, true);
        QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
        QCOMPARE(timelessNumbers(parts), timelessNumbers(whole));
        QVERIFY(bytesOf(parts, "gaussians.ply") == bytesOf(whole, "gaussians.ply"));
    }

    /// 17.21
    void threadsDoNotChangeABit()
    {
        const Config config = configOf({"iterations=30"});
        const RunFolder one = m_bench.newFolder(), two = m_bench.newFolder();
        m_bench.threads = 1;
        QCOMPARE(m_bench.run(one, config).code, ExitCode::Success);
        m_bench.threads = 2;
        QCOMPARE(m_bench.run(two, config).code, ExitCode::Success);
        m_bench.threads = 0;
        QVERIFY(bytesOf(one, "gaussians.ply") == bytesOf(two, "gaussians.ply"));
    }

    /// 17.12: the description does not matter, the scene does.
    void descriptionsOfOneSceneLearnTheSame()
    {
        const Scene scene = syntheticScene({64, 48, false, 1});
        writeScene(folderPath("colmap"), scene, SceneFormat::ColmapBinary);
        writeScene(folderPath("transforms"), scene, SceneFormat::TransformsJson);
        std::vector<std::vector<double>> losses;
        for (const char* name : {"colmap", "transforms"}) {
            const RunFolder folder = m_bench.newFolder();
            const RunOutcome outcome =
                m_bench.run(folder, configOf({"scene=" + folderPath(name).string(), "iterations=20",
                                              "eval_split=false", "densify=\"none\""}));
            QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            losses.push_back(timelessNumbers(folder).at("train/loss"));
        }
        for (std::size_t i = 0; i < losses[0].size(); ++i)
            QVERIFY2(std::abs(losses[0][i] - losses[1][i]) < 2e-3, "the pictures are the same");
    }

    void trainedFileIsShownWithoutTraining()
    {
        const RunFolder trained = m_bench.newFolder(), shown = m_bench.newFolder();
        QCOMPARE(m_bench.run(trained, configOf({"iterations=10"})).code, ExitCode::Success);
        const std::string file = (trained.artifacts() / "gaussians.ply").string();
        const RunOutcome outcome =
            m_bench.run(shown, configOf({"gaussians=" + file, "iterations=0"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY(bytesOf(shown, "gaussians.ply") == bytesOf(trained, "gaussians.ply"));
    }

    void gaussiansWithoutASceneCannotLearn()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("a.ply").toStdString();
        writeFileAtomic(file, std::string_view("ply\n"));
        QVERIFY(!m_bench.build({"gaussians=" + file, "iterations=10"}).config);
        QVERIFY(m_bench.build({"gaussians=" + file, "iterations=0", "goal=gaussians"})
                    .config.has_value());
    }

    void unknownHeldOutPictureIsNamed()
    {
        const RunOutcome outcome =
            m_bench.run(m_bench.newFolder(), configOf({"test_images=[\"nowhere.png\"]"}));
        QCOMPARE(outcome.code, ExitCode::InputUnreadable);
        QVERIFY2(outcome.problems().find("nowhere.png") != std::string::npos,
                 outcome.problems().c_str());
    }

    void missingSceneIsAnIssue()
    {
        const auto result = m_bench.build({"scene=/nowhere/at/all", "formats=[\"obj\"]"});
        std::string text;
        for (const auto& issue : result.issues)
            text += issue.text() + "\n";
        QVERIFY2(text.find("/nowhere/at/all") != std::string::npos, text.c_str());
        QVERIFY2(text.find("obj") != std::string::npos, text.c_str());
        QVERIFY(!result.config);
    }

    /// What cannot be read is not built upon: the run starts again and ends as it would have.
    void damagedCheckpointsAreLeftOut()
    {
        const Config config = configOf({"iterations=20"});
        const RunFolder folder = m_bench.newFolder(), whole = m_bench.newFolder();
        bool stopped = false;
        m_bench.run(folder, config, false, [&](RunController& controller) {
            if (!stopped && controller.step() >= 8) {
                controller.requestStop();
                stopped = true;
            }
        });
        const auto checkpoints = listCheckpoints(folder);
        QVERIFY(!checkpoints.empty());
        for (const auto& checkpoint : checkpoints) {
            const auto file = checkpoint / "tensors.safetensors";
            std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
        }
        QCOMPARE(m_bench.run(folder, config, true).code, ExitCode::Success);
        QCOMPARE(m_bench.run(whole, config).code, ExitCode::Success);
        QVERIFY(bytesOf(folder, "gaussians.ply") == bytesOf(whole, "gaussians.ply"));
    }
};

QTEST_GUILESS_MAIN(TestSugarRun)
#include "tst_sugar_run.moc"
