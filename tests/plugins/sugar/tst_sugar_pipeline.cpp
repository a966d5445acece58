#include <algorithm>
#include <limits>
#include <set>
#include <thread>

#include <QTemporaryDir>
#include <QTest>

#include "core/artifact/checkpoint.h"
#include "plugins/sugar/io/mesh_ply.h"
#include "plugins/sugar/pipeline/align_stage.h"
#include "plugins/sugar/pipeline/forecast.h"
#include "plugins/sugar/pipeline/html_report.h"
#include "plugins/sugar/pipeline/mesh_stage.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/pipeline/plan.h"
#include "plugins/sugar/pipeline/points_stage.h"
#include "plugins/sugar/pipeline/refine_stage.h"
#include "plugins/sugar/pipeline/settings.h"
#include "plugins/sugar/pipeline/stage_store.h"
#include "plugins/sugar/pipeline/texture_stage.h"
#include "plugins/sugar/pipeline/train_stage.h"
#include "plugins/sugar/sugar_run.h"
#include "tests/support/patience.h"
#include "tests/support/run_bench.h"
#include "tests/support/stop_at_poll.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using vergence::test::RunOutcome;
using vergence::test::timelessNumbers;

namespace {

/// All stages in a few seconds: 200 + 40 + 25 + 29 + 12 + 49 steps.
const std::vector<std::string> kTiny{"built_in_width=64",
                                     "built_in_height=48",
                                     "iterations=200",
                                     "sh_degree=1",
                                     "sh_every=50",
                                     "densify=\"classic\"",
                                     "densify_from=20",
                                     "densify_until=150",
                                     "densify_every=20",
                                     "reset_every=0",
                                     "cap=6000",
                                     "eval_every=0",
                                     "align_steps=40",
                                     "regularise_from=10",
                                     "regularise_ramp=5",
                                     "samples=256",
                                     "neighbours_every=10",
                                     "surface_points=8000",
                                     "solver=\"tsdf\"",
                                     "grid_depth=5",
                                     "triangles=1500",
                                     "refine_steps=12",
                                     "texture_packing=\"squares\"",
                                     "texture_square=16",
                                     "turntable_frames=2",
                                     "turntable_size=64",
                                     "milestones=[]",
                                     "align_prune=0.3",
                                     "mesh_background=false"};
constexpr int kSteps = 200 + 40 + 25 + 29 + 12 + 49;

const char* const kResults[] = {"gaussians.ply",
                                "aligned/gaussians.ply",
                                "surface/points.ply",
                                "mesh/coarse.ply",
                                "refined/gaussians.ply",
                                "mesh/refined.ply",
                                "mesh/textured.obj",
                                "mesh/textured.png",
                                "mesh/textured.glb",
                                "refined/binding.safetensors",
                                "turntable.gif",
                                "mesh_turntable.gif",
                                "mesh/coarse-quality.json",
                                "mesh/refined-quality.json"};

/// A run that waits before one of its steps until it is told to stop.
class WaitingRun final : public Run {
public:
    WaitingRun(const Config& config, std::int64_t waitsAt)
        : m_run(readSugarConfig(config)),
          m_waitsAt(waitsAt)
    {
    }

    void prepare(RunContext& context) override { m_run.prepare(context); }
    StepOutcome step(RunContext& context) override
    {
        if (context.step() != m_waitsAt)
            return m_run.step(context);
        while (!context.stopRequested())
            std::this_thread::yield();
        return StepOutcome::Interrupted;
    }
    std::int64_t totalSteps() const override { return m_run.totalSteps(); }
    void save(RunContext& context, Checkpoint& checkpoint) override
    {
        m_run.save(context, checkpoint);
    }
    void load(RunContext& context, const Checkpoint& checkpoint) override
    {
        m_run.load(context, checkpoint);
    }
    void finish(RunContext& context) override { m_run.finish(context); }

private:
    SugarRun m_run;
    std::int64_t m_waitsAt;
};

} // namespace

/// From pictures to a textured mesh, stopped, resumed and continued.
class TestSugarPipeline : public QObject {
    Q_OBJECT

    QTemporaryDir m_temporary;
    test::RunBench m_bench{
        m_temporary.path().toStdString(), sugarSchema(),
        [this](const Config& config) { return std::make_unique<WaitingRun>(config, m_waitsAt); }};
    std::int64_t m_waitsAt = -1; ///< step that runs wait before; −1: they do not
    std::optional<RunFolder> m_whole;

    Config configOf(const std::vector<std::string>& more = {})
    {
        std::vector<std::string> all = kTiny;
        all.insert(all.end(), more.begin(), more.end());
        auto result = m_bench.build(all);
        for (const auto& issue : result.issues)
            qInfo("%s", issue.text().c_str());
        return std::move(*result.config);
    }

    static std::string bytesOf(const RunFolder& folder, const std::string& artifact)
    {
        return readFile(folder.artifacts() / artifact);
    }

    /// All of the first and last looks, and ten of those between; that the stride is odd keeps it
    /// from meeting the same place of every step.
    static int lookAfter(int wanted, int looks)
    {
        constexpr int kFirst = 4, kLast = 8, kBetween = 10;
        if (wanted < kFirst || wanted >= looks - kLast)
            return wanted + 1;
        return std::min(wanted + (looks / kBetween | 1), looks - kLast);
    }

    /// Rows of the last table of stages: stage → state.
    static std::map<std::string, std::string> stagesOf(const RunOutcome& outcome)
    {
        std::map<std::string, std::string> states;
        for (const auto& message : outcome.messages) {
            if (message.at("type") != "table" || message.at("table").at("id") != "stages")
                continue;
            for (const auto& row : message.at("table").at("rows"))
                states[row[0].get<std::string>().substr(0, 2)] = row[1].get<std::string>();
        }
        return states;
    }

private Q_SLOTS:
    void initTestCase()
    {
        m_whole = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(*m_whole, configOf());
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        for (const auto& [stage, state] : stagesOf(outcome))
            QVERIFY2(state == "done", (stage + " " + state).c_str());
    }

    void everyResultIsThere()
    {
        for (const char* file : kResults)
            QVERIFY2(std::filesystem::exists(m_whole->artifacts() / file), file);
        const TriangleMesh mesh = readMeshPly(m_whole->artifacts() / "mesh/refined.ply");
        QVERIFY2(mesh.faces() > 300 && mesh.faces() <= 1500,
                 qPrintable(QString::number(mesh.faces())));
        QVERIFY(!mesh.colour.empty());
        const auto numbers = timelessNumbers(*m_whole);
        QCOMPARE(numbers.at("train/loss").size(), std::size_t(200));
        QCOMPARE(numbers.at("align/loss").size(), std::size_t(40));
        QCOMPARE(numbers.at("refine/loss").size(), std::size_t(12));
        QCOMPARE(numbers.at("test/psnr").size(), std::size_t(3)); // where S3, S4 and S7 end
    }

    void reportNamesStagesFiguresAndPictures()
    {
        const std::string page = bytesOf(*m_whole, "report.html");
        for (const char* words : {"S3 Gaussians", "S8 Texture", "held-out PSNR", "of 100",
                                  "mesh_turntable.gif", "iterations=200"})
            QVERIFY2(page.find(words) != std::string::npos, words);
        const auto report = nlohmann::json::parse(bytesOf(*m_whole, "report.json"));
        QCOMPARE(report.at("mesh").at("faces").get<Index>(), report.at("triangles").get<Index>());
        const nlohmann::json odd{
            {"changed_settings", nlohmann::json::array({"scene=<a & \"b\">"})}};
        const std::string escaped = htmlReport(odd, {{"x<y.png", "p>q"}});
        QVERIFY(escaped.find("scene=&lt;a &amp; &quot;b&quot;&gt;") != std::string::npos);
        QVERIFY(escaped.find("x&lt;y.png") != std::string::npos);
    }

    /// Inside every stage and at its end.
    void stoppedRunsEndTheSame_data()
    {
        QTest::addColumn<int>("stopAt");
        QTest::newRow("in the training") << 120;
        QTest::newRow("training done") << 200;
        QTest::newRow("alignment, entropy") << 205;
        QTest::newRow("alignment, regularised") << 225;
        QTest::newRow("alignment done") << 240;
        QTest::newRow("surface points") << 250;
        QTest::newRow("outliers left") << 264;
        QTest::newRow("surface points done") << 265;
        QTest::newRow("fusing") << 270;
        QTest::newRow("a surface found") << 290;
        QTest::newRow("reduced") << 292;
        QTest::newRow("mesh done") << 294;
        QTest::newRow("refining") << 300;
        QTest::newRow("refinement done") << 306;
        QTest::newRow("painting") << 330;
        QTest::newRow("last picture") << kSteps - 1;
    }
    void stoppedRunsEndTheSame()
    {
        QFETCH(int, stopAt);
        const RunFolder parts = m_bench.newFolder();
        m_waitsAt = stopAt;
        const RunOutcome first =
            m_bench.run(parts, configOf(), false, [&](RunController& controller) {
                if (controller.step() >= stopAt)
                    controller.requestStop();
            });
        m_waitsAt = -1;
        QCOMPARE(first.state, RunState::Stopped);
        const RunOutcome second = m_bench.run(parts, configOf(), true);
        QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
        QCOMPARE(timelessNumbers(parts), timelessNumbers(*m_whole));
        for (const char* file : kResults)
            QVERIFY2(bytesOf(parts, file) == bytesOf(*m_whole, file), file);
    }

    /// Wherever the run looks for a stop. Every look of the results and of the start is tried, and
    /// of the many of the steps those about which another stage begins.
    void stopIsHeardAnywhereAndChangesNothing()
    {
        const auto runStopped = [&](test::StopAtPoll& stop, const RunFolder& folder) {
            test::RunBench bench(m_bench.folder(), sugarSchema(), [&](const Config& config) {
                return stop.around(std::make_unique<SugarRun>(readSugarConfig(config)));
            });
            return bench.run(folder, configOf(), false,
                             [&](RunController& controller) { stop.serve(controller); });
        };
        std::map<std::string, int> tried;
        int looks = -1;
        for (int wanted = 0; looks < 0 || wanted < looks; wanted = lookAfter(wanted, looks)) {
            test::StopAtPoll stop(wanted);
            const RunFolder parts =
                RunFolder::createAt(m_bench.folder() / ("look" + std::to_string(wanted)));
            const RunOutcome first = runStopped(stop, parts);
            if (looks < 0) { // the first one also tells how many there are
                test::StopAtPoll none(-1);
                runStopped(none, RunFolder::createAt(m_bench.folder() / "looks"));
                looks = none.looks();
            }
            if (!stop.wasReached()) // pools of threads look now more, now less often
                break;
            QCOMPARE(first.state, RunState::Stopped);
            QCOMPARE(first.code, ExitCode::Interrupted);
            ++tried[stop.call()];
            const RunOutcome second = m_bench.run(parts, configOf(), true);
            QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
            QCOMPARE(timelessNumbers(parts), timelessNumbers(*m_whole));
            for (const char* file : kResults)
                QVERIFY2(bytesOf(parts, file) == bytesOf(*m_whole, file),
                         qPrintable(QString("%1, look %2 of %3").arg(file).arg(wanted).arg(looks)));
        }
        for (const char* call : {"prepare", "step", "finish"})
            QVERIFY2(tried[call] > 0, call);
    }

    /// Change one setting, and what does not depend on it is taken over.
    void onlyStaleStagesRunAgain_data()
    {
        QTest::addColumn<QString>("change");
        QTest::addColumn<QString>("firstStale");
        QTest::newRow("nothing") << ""
                                 << "";
        QTest::newRow("pages") << "texture_side=256"
                               << "S8";
        QTest::newRow("charts") << "texture_packing=charts"
                                << "S8";
        QTest::newRow("holes") << "mesh_holes=0"
                               << "S6";
        QTest::newRow("refinement") << "refine_normal=0.2"
                                    << "S7";
        QTest::newRow("triangles") << "triangles=900"
                                   << "S6";
        QTest::newRow("output only") << "turntable_size=100"
                                     << "";
    }
    void onlyStaleStagesRunAgain()
    {
        QFETCH(QString, change);
        QFETCH(QString, firstStale);
        const RunFolder folder = m_bench.newFolder();
        std::vector<std::string> more{"reuse_from=" + m_whole->root.string()};
        if (!change.isEmpty())
            more.push_back(change.toStdString());
        const RunOutcome outcome = m_bench.run(folder, configOf(more));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        for (const auto& [stage, state] : stagesOf(outcome)) {
            const bool isStale = !firstStale.isEmpty() && stage >= firstStale.toStdString();
            const std::string wanted = stage == "S0" || isStale ? "done" : "reused";
            QVERIFY2(state == wanted, (stage + " " + state).c_str());
        }
        for (const char* file : kResults)
            QVERIFY2(std::filesystem::exists(folder.artifacts() / file), file);
        if (!change.isEmpty())
            return;
        QVERIFY(readFile(folder.root / "stages/S8/result.safetensors") ==
                readFile(m_whole->root / "stages/S8/result.safetensors"));
        for (const char* file : kResults)
            QVERIFY2(bytesOf(folder, file) == bytesOf(*m_whole, file), file);
    }

    void goalEndsTheRun()
    {
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome =
            m_bench.run(folder, configOf({"goal=aligned", "reuse_from=" + m_whole->root.string()}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QCOMPARE(stagesOf(outcome).size(), std::size_t(3)); // S0, S3, S4
        QVERIFY(!std::filesystem::exists(folder.artifacts() / "mesh"));
    }

    /// A finished run offers other surfaces; what a change does not touch is kept.
    void otherSurfacesFollowTheViewer()
    {
        RunSettings settings;
        settings.folder = *m_whole;
        settings.plugin = "sugar";
        settings.exploresOnly = true;
        RunController controller(std::make_unique<SugarRun>(readSugarConfig(configOf())),
                                 configOf(), makeCpuDevice(0), settings);
        controller.start();
        const auto file = m_whole->artifacts() / "explorer/mesh.ply";
        const auto faces = [&] { return readMeshPly(file).faces(); };
        ViewInput input;
        input.values["explore"] = {1};
        input.values["explore_triangles"] = {0}; // 1,000
        controller.setView(input);
        QTRY_VERIFY(std::filesystem::exists(file));
        const Index coarse = faces();
        QVERIFY(coarse > 100 && coarse <= 1'000);
        std::filesystem::remove(file);
        input.values["explore_solver"] = {1}; // density
        input.values["explore_level"] = {0.2};
        input.values["explore_triangles"] = {2}; // 10,000
        controller.setView(input);
        QTRY_VERIFY(std::filesystem::exists(file));
        QVERIFY2(faces() > coarse, qPrintable(QString::number(faces())));
        controller.requestStop();
        QTRY_VERIFY(controller.isFinished());
    }

    /// The richest plan that fits is taken and kept.
    void automaticPlanIsShownAndKept()
    {
        const RunFolder folder = m_bench.newFolder();
        const Config config = configOf({"plan=auto"});
        for (const bool resumes : {false, true}) {
            const auto stopSoon = [&](RunController& controller) {
                if (controller.step() >= (resumes ? 2 : 1)) // in steps: a start is cut short too
                    controller.requestStop();
            };
            const RunOutcome outcome = m_bench.run(folder, config, resumes, stopSoon);
            QCOMPARE(outcome.state, RunState::Stopped);
            std::vector<std::string> verdicts;
            for (const auto& message : outcome.messages) {
                if (message.at("type") == "table" && message.at("table").at("id") == "plan") {
                    for (const auto& row : message.at("table").at("rows"))
                        verdicts.push_back(row[2].get<std::string>());
                }
            }
            QCOMPARE(verdicts.size(), plansFor(true).size());
            QCOMPARE(std::count(verdicts.begin(), verdicts.end(), "chosen"), 1);
        }
        QVERIFY(std::filesystem::exists(folder.root / "stages/plan.json"));
    }

    void plansFallInMemory()
    {
        const SugarConfig config = readSugarConfig(configOf());
        const auto pictures = picturesOf(config, sceneOf(config));
        for (const bool isCpu : {false, true}) {
            double before = std::numeric_limits<double>::infinity();
            for (const Plan& plan : plansFor(isCpu)) {
                // On the small pictures of the built-in scene width does not count.
                if (std::string_view(plan.name) == "full resolution")
                    continue;
                const double bytes =
                    memoryForecast({withPlan(config, plan), *pictures, 1000, isCpu}).total();
                QVERIFY2(bytes < before, plan.name);
                before = bytes;
            }
        }
    }

    void framesOfTheTurntableCount()
    {
        SugarConfig config = readSugarConfig(configOf({"goal=\"gaussians\""}));
        const auto pictures = picturesOf(config, sceneOf(config));
        const double without = memoryForecast({config, *pictures, 1000, true}).total();
        config.turntableFrames = 1000;
        config.turntableSize = 1024;
        const MemoryForecast with = memoryForecast({config, *pictures, 1000, true});
        QCOMPARE(with.bytesOf("Turntable"), 1.2 * 1000 * 1024 * 768 * 3); // frames and the GIF
        QVERIFY(with.total() > without + 2e9);
        QVERIFY(memoryForecast({config, *pictures, 1000, false}).bytesOf("Turntable") == 0);
    }

    void bandsAreChosenByMemory()
    {
        SugarConfig config = readSugarConfig(
            configOf({"built_in_width=4096", "built_in_height=3072", "goal=\"gaussians\""}));
        const auto pictures = picturesOf(config, sceneOf(config));
        const auto rowsAt = [&](double free) {
            return bandRowsFor(config, *pictures, 1000, true, static_cast<std::size_t>(free));
        };
        const auto bytesOf = [&](Index rows) {
            return memoryForecast({config, *pictures, 1000, true, rows}).total();
        };
        QCOMPARE(rowsAt(0), Index(0)); // unknown
        QCOMPARE(rowsAt(1e13), Index(0));
        QVERIFY(bytesOf(64) < bytesOf(512) && bytesOf(512) < bytesOf(0));
        for (const Index rows : {1024, 512, 256, 128}) {
            // Room for these bands, but not for twice as many rows; the process itself may grow.
            QCOMPARE(rowsAt((0.7 * bytesOf(rows) + 0.3 * bytesOf(2 * rows)) / 0.85), rows);
        }
        QCOMPARE(rowsAt(1e6), Index(64));
        config.bandRows = 200;
        QCOMPARE(rowsAt(1e13), Index(200));
    }

    /// Every key is either of a stage or changes no result of one.
    void everyKeyBelongsSomewhere()
    {
        const std::set<std::string> outside{
            "goal",    "reuse_from", "cache_megabytes", "eval_every",     "milestones",
            "formats", "band_rows",  "bake_filter",     "turntable_size", "turntable_frames"};
        std::set<std::string> known = outside;
        std::vector<std::unique_ptr<Stage>> stages;
        stages.push_back(std::make_unique<TrainStage>());
        stages.push_back(std::make_unique<AlignStage>());
        stages.push_back(std::make_unique<PointsStage>());
        stages.push_back(std::make_unique<MeshStage>());
        stages.push_back(std::make_unique<RefineStage>());
        stages.push_back(std::make_unique<TextureStage>());
        const ConfigSchema schema = sugarSchema();
        for (const auto& stage : stages) {
            for (const std::string& key : stage->keys()) {
                QVERIFY2(schema.find(key) != nullptr, key.c_str());
                QVERIFY2(!outside.contains(key), key.c_str());
                known.insert(key);
            }
        }
        for (const Field& field : schema.fields())
            QVERIFY2(known.contains(field.key), field.key.c_str());
    }

    void compactMomentsAreForecastAndLearntWith()
    {
        const Config full = configOf({"cap=1000000", "sh_degree=3"}),
                     compact = configOf({"cap=1000000", "sh_degree=3", "adam_moments=\"compact\""});
        const SugarConfig before = readSugarConfig(full), after = readSugarConfig(compact);
        const auto pictures = picturesOf(before, sceneOf(before));
        for (const bool isCpu : {true, false}) {
            const auto bytesOf = [&](const SugarConfig& config) {
                return stageForecasts({config, *pictures, 1'000'000, isCpu})[0].memory.bytesOf(
                    "Gaussians");
            };
            const double room = isCpu ? 1 : 1.05; // a twentieth for the device's pool
            QCOMPARE(bytesOf(before) - bytesOf(after), room * (708.0 - 427) * 1e6);
        }
        QVERIFY(trainerSettings(before, 1, {}).moments == MomentFormat::F32);
        QVERIFY(trainerSettings(after, 1, {}).moments == MomentFormat::Compact);
        // Results of runs from before the key was there stay valid.
        const auto hashOf = [](const Config& config, const std::vector<std::string>& keys) {
            return stageHash("S3", config, keys, "");
        };
        QCOMPARE(hashOf(full, {"seed", "adam_moments"}), hashOf(full, {"seed"}));
        QVERIFY(hashOf(compact, {"seed", "adam_moments"}) != hashOf(compact, {"seed"}));
    }

    void damagedResultsAreNamed()
    {
        SafetensorsFile file;
        VERGENCE_THROWS(InputError, "opacity is missing", unpackCloud(file));
        const std::vector<float> one{1}, two{1, 2};
        file.tensors = {HostTensor::from<float>("opacity", {1, 1}, one),
                        HostTensor::from<float>("position", {1, 2}, two),
                        HostTensor::from<float>("log_scale", {0, 3}, {}),
                        HostTensor::from<float>("rotation", {0, 4}, {}),
                        HostTensor::from<float>("sh_dc", {0, 3}, {})};
        VERGENCE_THROWS(InputError, "position has another size", unpackCloud(file));
        TriangleMesh mesh;
        mesh.position = {0, 0, 0};
        mesh.triangle = {0, 0, 1};
        file.tensors = packMesh(mesh);
        VERGENCE_THROWS(InputError, "not there", unpackMesh(file));
    }

    void settingsThatCannotWork_data()
    {
        QTest::addColumn<QString>("assignment");
        QTest::addColumn<QString>("words");
        QTest::newRow("box of five") << "box=[0, 0, 0, 1, 1]"
                                     << "six numbers";
        QTest::newRow("box inside out") << "box=[0, 0, 0, 1, -1, 1]"
                                        << "smallest y";
        QTest::newRow("two a triangle") << "refine_per_triangle=2"
                                        << "1, 3, 4 or 6";
        QTest::newRow("no such run") << "reuse_from=/nowhere"
                                     << "no finished stages";
        QTest::newRow("no Gaussians") << "iterations=0"
                                      << "needs Gaussians";
    }
    void settingsThatCannotWork()
    {
        QFETCH(QString, assignment);
        QFETCH(QString, words);
        const auto result = m_bench.build({assignment.toStdString()});
        QVERIFY(!result.config);
        std::string text;
        for (const auto& issue : result.issues)
            text += issue.text() + "\n";
        QVERIFY2(text.find(words.toStdString()) != std::string::npos, text.c_str());
    }
};

VERGENCE_TEST(TestSugarPipeline)
#include "tst_sugar_pipeline.moc"
