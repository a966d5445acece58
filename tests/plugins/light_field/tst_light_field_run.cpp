#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include <QTemporaryDir>
#include <QTest>

#include "core/artifact/gif.h"
#include "core/artifact/manifest.h"
#include "core/artifact/npy.h"
#include "core/base/file.h"
#include "core/metrics/metric_store.h"
#include "core/run/run_controller.h"
#include "core/view/frame_channel.h"
#include "plugins/light_field/light_field_run.h"
#include "tests/support/run_bench.h"
#include "tests/support/stop_at_poll.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

namespace {

const std::vector<std::string> kTiny = {
    "boards=[26,40]",   "render_res=32", "panel_res=64", "planes=4",        "headroom=4",
    "rays_per_pixel=4", "eval_rays=16",  "iterations=6", "heldout_every=3", "tolerance=0"};

Config configOf(const std::vector<std::string>& more)
{
    ConfigBuilder builder(lightFieldSchema());
    for (const auto* list : {&kTiny, &more}) {
        for (const auto& assignment : *list)
            builder.addAssignment(assignment);
    }
    auto result = builder.build();
    for (const auto& issue : result.issues)
        qInfo("%s", issue.text().c_str());
    return *result.config;
}

struct Outcome {
    ExitCode code = ExitCode::Success;
    RunState state = RunState::Draft;
    std::vector<nlohmann::json> messages;
};

/// Runs a controller to its end; `onPoll` may make requests.
Outcome toEnd(const RunSettings& settings, const Config& config,
              const std::function<void(RunController&, const Outcome&)>& onPoll)
{
    RunController controller(std::make_unique<LightFieldRun>(readLightFieldConfig(config), config),
                             config, makeCpuDevice(), settings);
    controller.start();
    Outcome outcome;
    while (!controller.isFinished()) {
        for (auto& message : controller.poll())
            outcome.messages.push_back(std::move(message));
        onPoll(controller, outcome);
        std::this_thread::yield();
    }
    for (auto& message : controller.poll())
        outcome.messages.push_back(std::move(message));
    outcome.code = controller.exitCode();
    outcome.state = controller.state();
    return outcome;
}

Outcome runToEnd(const RunFolder& folder, const Config& config, bool resumes = false,
                 const std::function<void(RunController&)>& onPoll = {})
{
    RunSettings settings;
    settings.folder = folder;
    settings.plugin = "light_field";
    settings.resumes = resumes;
    return toEnd(settings, config, [&](RunController& controller, const Outcome&) {
        if (onPoll)
            onPoll(controller);
    });
}

/// What a viewer is told of a finished run until the first picture.
Outcome lookAt(const RunFolder& folder, const Config& config)
{
    RunSettings settings;
    settings.folder = folder;
    settings.plugin = "light_field";
    settings.exploresOnly = settings.resumes = true;
    return toEnd(settings, config, [](RunController& controller, const Outcome& outcome) {
        for (const auto& message : outcome.messages) {
            if (message.at("type") == "frame")
                controller.requestStop();
        }
    });
}

/// The brightest value of the first eye view that a viewer of a run that ended gets, 0 to 255.
int brightestSeen(const RunFolder& folder, const Config& config)
{
    RunSettings settings;
    settings.folder = folder;
    settings.plugin = "light_field";
    settings.exploresOnly = settings.resumes = true;
    int brightest = -1;
    toEnd(settings, config, [&](RunController& controller, const Outcome& outcome) {
        for (const auto& message : outcome.messages) {
            if (brightest >= 0 || message.at("type") != "frame" ||
                message.at("stream") != "eye_view")
                continue;
            const auto frame = FrameRingReader(message.at("ring").get<std::string>()).readNewest(0);
            for (std::size_t i = 0; frame && i < frame->pixels.size(); ++i) {
                if (i % 4 != 3) // colour, not alpha
                    brightest = std::max(brightest, static_cast<int>(frame->pixels[i]));
            }
            controller.requestStop();
        }
    });
    return brightest;
}

/// Values of the series that do not depend on time.
std::map<std::string, std::vector<double>> numbersOf(const RunFolder& folder)
{
    const MetricStore store = MetricStore::fromCsv(readFile(folder.metrics()), "metrics.csv");
    std::map<std::string, std::vector<double>> numbers;
    for (const auto& name : store.names()) {
        if (name.rfind("time/", 0) != 0 && name.rfind("system/", 0) != 0)
            numbers[name] = store.find(name)->values();
    }
    return numbers;
}

} // namespace

/// Whole runs of the light-field lab on tiny sizes.
class TestLightFieldRun : public QObject {
    Q_OBJECT

    QTemporaryDir m_temporary;
    int m_count = 0;

    RunFolder newFolder()
    {
        return RunFolder::createAt(std::filesystem::path(m_temporary.path().toStdString()) /
                                   ("run" + std::to_string(m_count++)));
    }

private Q_SLOTS:
    void finishedRunHasAllOutputs()
    {
        const RunFolder folder = newFolder();
        const Outcome outcome = runToEnd(folder, configOf({"gif_board=40"}));
        QCOMPARE(outcome.code, ExitCode::Success);
        QCOMPARE(outcome.state, RunState::Completed);
        for (const char* file :
             {"sweep.csv", "sweep.gif", "boards/n26/loss.csv", "boards/n26/loss.png",
              "boards/n26/eye_view.png", "boards/n26/target.png", "boards/n26/error.png",
              "boards/n26/planes/plane_0.png", "boards/n26/planes/plane_3.png",
              "boards/n26/planes.npy", "boards/n26/planes_contact.png",
              "boards/n40/accommodation.gif"})
            QVERIFY2(std::filesystem::exists(folder.artifacts() / file), file);
        QCOMPARE(readGif(folder.artifacts() / "sweep.gif").frames.size(), std::size_t(2));
        QCOMPARE(readGif(folder.artifacts() / "sweep.gif").delaysCentiseconds.front(), 200);
        QCOMPARE(readGif(folder.artifacts() / "boards/n40/accommodation.gif").frames.size(),
                 std::size_t(20));
        QCOMPARE(readNpy(folder.artifacts() / "boards/n26/planes.npy").shape,
                 (std::vector<std::int64_t>{4, 64, 64, 1}));
        const auto manifest = readManifest(folder);
        QVERIFY(artifactsOf(manifest).size() > 20);
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.root))
            QVERIFY2(entry.path().extension() != ".part", entry.path().c_str());
    }

    void lossFalls()
    {
        const RunFolder folder = newFolder();
        QCOMPARE(runToEnd(folder, configOf({"boards=[26]", "iterations=12"})).code,
                 ExitCode::Success);
        const auto numbers = numbersOf(folder);
        const auto& loss = numbers.at("train/loss");
        QCOMPARE(loss.size(), std::size_t(12));
        QVERIFY(loss.back() < 0.2 * loss.front());
    }

    void itemsBetweenWholeNumbersKeepTheirPlace()
    {
        const RunFolder folder = newFolder();
        const Config config = configOf(
            {"sweep=parameter", "sweep_key=mla_pitch", "sweep_values=[0.3,0.4]", "iterations=1"});
        QCOMPARE(runToEnd(folder, config).code, ExitCode::Success);
        std::set<std::string> steps;
        std::istringstream lines(readFile(folder.metrics()));
        for (std::string line; std::getline(lines, line);) {
            if (line.find("sweep/psnr_heldout") != std::string::npos)
                steps.insert(line.substr(0, line.find(',')));
        }
        QCOMPARE(steps, (std::set<std::string>{"1", "2"}));
    }

    void resumedRunRepeatsTheNumbers_data()
    {
        QTest::addColumn<QStringList>("assignments");
        for (const char* solver : {"pga", "adam", "adamw", "sirt", "os_sirt", "cg"})
            QTest::newRow(solver) << QStringList{QString("solver=%1").arg(solver)};
        QTest::newRow("nearest texels, renormalised")
            << QStringList{"sampling=nearest_floor", "missing_policy=renormalise"};
    }
    void resumedRunRepeatsTheNumbers()
    {
        QFETCH(QStringList, assignments);
        std::vector<std::string> list;
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const Config config = configOf(list);
        const RunFolder whole = newFolder(), halved = newFolder();
        QCOMPARE(runToEnd(whole, config).code, ExitCode::Success);
        bool asked = false;
        const Outcome stopped = runToEnd(halved, config, false, [&](RunController& controller) {
            if (!asked && controller.step() >= 2)
                asked = controller.requestStop();
        });
        QVERIFY(stopped.state == RunState::Stopped || stopped.state == RunState::Completed);
        QCOMPARE(runToEnd(halved, config, true).code, ExitCode::Success);
        const auto a = numbersOf(whole), b = numbersOf(halved);
        QCOMPARE(a.at("train/loss"), b.at("train/loss"));
        QCOMPARE(a.at("sweep/psnr_heldout"), b.at("sweep/psnr_heldout"));
        QCOMPARE(readNpy(whole.artifacts() / "boards/n40/planes.npy").values,
                 readNpy(halved.artifacts() / "boards/n40/planes.npy").values);
    }

    /// Wherever the run looks for a stop: geometry, targets, the coarse start, results.
    void stopIsHeardAnywhereAndChangesNoNumber_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::newRow("boards") << QStringList{"coarse_iterations=5"};
        QTest::newRow("a geometry of every item")
            << QStringList{"sweep=parameter", "sweep_key=planes", "sweep_values=[3,4]",
                           "headroom=2", "coarse_iterations=3"};
    }
    void stopIsHeardAnywhereAndChangesNoNumber()
    {
        QFETCH(QStringList, assignments);
        std::vector<std::string> list;
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        test::RunBench bench(newFolder().root, lightFieldSchema(), [](const Config& config) {
            return std::make_unique<LightFieldRun>(readLightFieldConfig(config), config);
        });
        const Config config = configOf(list);
        const RunFolder whole = newFolder();
        QCOMPARE(bench.run(whole, config).code, ExitCode::Success);
        std::set<std::string> calls;
        for (int wanted = 0;; ++wanted) {
            test::StopAtPoll stop(wanted);
            test::RunBench stopping(newFolder().root, lightFieldSchema(), [&](const Config& of) {
                return stop.around(std::make_unique<LightFieldRun>(readLightFieldConfig(of), of));
            });
            const RunFolder parts = newFolder();
            const test::RunOutcome first = stopping.run(
                parts, config, false, [&](RunController& controller) { stop.serve(controller); });
            if (!stop.wasReached())
                break;
            QCOMPARE(first.state, RunState::Stopped);
            QCOMPARE(first.code, ExitCode::Interrupted);
            calls.insert(stop.call());
            const test::RunOutcome second = bench.run(parts, config, true);
            QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
            const auto reached = numbersOf(parts);
            const auto same = [](double a, double b) { // what could not be measured is NaN
                return a == b || (std::isnan(a) && std::isnan(b));
            };
            for (const auto& [name, values] : numbersOf(whole))
                QVERIFY2(reached.contains(name) &&
                             std::ranges::equal(reached.at(name), values, same),
                         qPrintable(QString("%1 of a run stopped at look %2, in %3 (%4)")
                                        .arg(name.c_str())
                                        .arg(wanted)
                                        .arg(stop.call().c_str(), stop.phase().c_str())));
            for (const char* file : {"sweep.csv", "sweep.gif"})
                QVERIFY(std::filesystem::exists(parts.artifacts() / file));
        }
        QVERIFY(calls.contains("prepare") && calls.contains("step") && calls.contains("finish"));
    }

    void everySolverAndStartRuns_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::newRow("direct") << QStringList{"solver=direct"};
        QTest::newRow("from direct") << QStringList{"init=direct"};
        QTest::newRow("from the board before") << QStringList{"init=previous"};
        QTest::newRow("from grey") << QStringList{"init=mid_grey"};
        QTest::newRow("coarse to fine") << QStringList{"coarse_iterations=4", "smoothness=0.01"};
        QTest::newRow("smooth") << QStringList{"smoothness=0.01"};
        QTest::newRow("colour scenes") << QStringList{
            "sweep=scenes", "scenes=[\"basic\", \"layered_plus\"]", "plane_spacing=auto"};
        QTest::newRow("parameter")
            << QStringList{"sweep=parameter", "sweep_key=headroom", "sweep_values=[1.0, 4.0]"};
        QTest::newRow("nearest texels, direct")
            << QStringList{"sampling=nearest_floor", "missing_policy=renormalise", "solver=direct"};
        QTest::newRow("full output") << QStringList{"output=full", "boards=[26]"};
        QTest::newRow("seed profile") << QStringList{
            "profile=seed",     "retina_size=40", "plane_spacing=linear", "mla_count=0",
            "rays_per_pixel=1", "solver=adamw",   "weight_decay=0.01"};
    }
    void everySolverAndStartRuns()
    {
        QFETCH(QStringList, assignments);
        std::vector<std::string> list;
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const RunFolder folder = newFolder();
        const Outcome outcome = runToEnd(folder, configOf(list));
        QCOMPARE(outcome.code, ExitCode::Success);
        const std::string csv = readFile(folder.artifacts() / "sweep.csv");
        const auto items = assignments.contains("boards=[26]") ? 1 : 2;
        QCOMPARE(std::count(csv.begin(), csv.end(), '\n'), std::ptrdiff_t(items + 1));
    }

    void aFailedItemLosesNoOther_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::addColumn<QList<int>>("iterations");
        QTest::newRow("in its start")
            << QStringList{"sweep_key=panel_res", "sweep_values=[64,65,66]", "coarse_iterations=2"}
            << QList<int>{6, 0, 6};
        QTest::newRow("before one that starts from it")
            << QStringList{"sweep_key=mla_count", "sweep_values=[51,50,53]", "init=previous"}
            << QList<int>{6, 0, 6};
        for (const char* solver : {"pga", "direct"}) {
            const QString solve = QString("solver=%1").arg(solver);
            const int steps = solve.endsWith("direct") ? 1 : 6;
            QTest::addRow("the last, %s", solver)
                << QStringList{"sweep_key=mla_count", "sweep_values=[51,50]", solve}
                << QList<int>{steps, 0};
            QTest::addRow("the first, %s", solver)
                << QStringList{"sweep_key=mla_count", "sweep_values=[50,51,53]", solve}
                << QList<int>{0, steps, steps};
        }
    }
    void aFailedItemLosesNoOther()
    {
        QFETCH(QStringList, assignments);
        QFETCH(QList<int>, iterations);
        std::vector<std::string> list{"sweep=parameter"};
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const RunFolder folder = newFolder();
        const Config config = configOf(list);
        const Outcome outcome = runToEnd(folder, config);
        QCOMPARE(outcome.code, ExitCode::Success);
        QCOMPARE(outcome.state, RunState::Completed);
        const auto lines = QString::fromStdString(readFile(folder.artifacts() / "sweep.csv"))
                               .split('\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), iterations.size() + 1);
        qsizetype solved = 0;
        for (qsizetype i = 0; i < iterations.size(); ++i) {
            QCOMPARE(lines[i + 1].split(',')[11].toInt(), iterations[i]);
            QCOMPARE(lines[i + 1].endsWith(",\"\""), iterations[i] > 0);
            solved += iterations[i] > 0;
        }
        // Looked at again: failed items cannot be chosen, and what is shown is the last good one.
        const Outcome seen = lookAt(folder, config);
        QCOMPARE(seen.code, ExitCode::Success);
        qsizetype choices = 0, frames = 0;
        for (const auto& message : seen.messages) {
            frames += message.at("type") == "frame";
            if (message.at("type") != "controls")
                continue;
            for (const auto& control : message.at("controls")) {
                if (control.at("id") == "item")
                    choices = static_cast<qsizetype>(control.at("labels").size()) - 1;
            }
        }
        QCOMPARE(choices, solved > 1 ? solved : 0);
        QVERIFY(frames > 0);
    }

    void planesAreNumberedAsTheirFiles()
    {
        const RunFolder folder = newFolder();
        const Outcome outcome = runToEnd(folder, configOf({"boards=[26]"}));
        nlohmann::json labels;
        for (const auto& message : outcome.messages) {
            if (message.at("type") != "controls")
                continue;
            for (const auto& control : message.at("controls")) {
                if (control.at("id") == "planes_on")
                    labels = control.at("labels");
            }
        }
        QVERIFY(labels == nlohmann::json({"0", "1", "2", "3"}));
        for (const auto& label : labels)
            QVERIFY(std::filesystem::exists(folder.artifacts() / "boards/n26/planes" /
                                            ("plane_" + label.get<std::string>() + ".png")));
    }

    void qualityIsToldOverFocus()
    {
        const RunFolder folder = newFolder();
        const Outcome outcome = runToEnd(folder, configOf({"boards=[26, 40]", "eye_count=3"}));
        QCOMPARE(outcome.code, ExitCode::Success);
        std::map<std::string, nlohmann::json> tables;
        for (const auto& message : outcome.messages) {
            if (message.at("type") == "table")
                tables[message.at("table").at("id")] = message.at("table");
        }
        const nlohmann::json &training = tables["focus_training"],
                             &heldOut = tables["focus_heldout"];
        QVERIFY(training.at("columns") ==
                nlohmann::json({"accommodation (D)", "n = 26", "n = 40"}));
        QCOMPARE(training.at("rows").size(), std::size_t(3));
        QCOMPARE(heldOut.at("rows").size(), std::size_t(2));
        QVERIFY(training.at("rows")[0][0] < training.at("rows")[1][0]);
        for (const auto& row : heldOut.at("rows"))
            QVERIFY(row[1].is_number() && row[2].is_number());
    }

    /// A stopped run is looked at by another worker, whose solver has not iterated.
    void stoppedRunsShowWhatTheyReached()
    {
        const RunFolder folder = newFolder();
        const Config config = configOf({"boards=[26]", "iterations=10000"});
        const Outcome stopped = runToEnd(folder, config, false, [](RunController& controller) {
            if (controller.step() >= 5)
                controller.requestStop();
        });
        QCOMPARE(stopped.state, RunState::Stopped);
        const int brightest = brightestSeen(folder, config);
        QVERIFY2(brightest > 100, qPrintable(QString::number(brightest)));
    }

    void viewerMovesTheEye()
    {
        const RunFolder folder = newFolder();
        const Config config = configOf({"boards=[26]", "iterations=200"});
        bool sent = false;
        int frames = 0, controls = 0;
        const Outcome outcome = runToEnd(folder, config, false, [&](RunController& controller) {
            if (controller.step() >= 3 && !sent) {
                controller.setWatched(true);
                ViewInput input;
                input.sequence = 1;
                input.values["accommodation"] = {3.0};
                input.values["eye"] = {0.5, -0.5};
                input.values["pointer"] = {10.0, 12.0};
                input.texts["pointer_stream"] = "eye_view";
                controller.setView(input);
                sent = true;
            }
        });
        QCOMPARE(outcome.code, ExitCode::Success);
        for (const auto& message : outcome.messages) {
            frames += message.at("type") == "frame";
            controls += message.at("type") == "controls";
        }
        QVERIFY(sent);
        QVERIFY(controls > 0);
        QVERIFY2(frames >= 6, qPrintable(QString::number(frames)));
    }
};

VERGENCE_TEST(TestLightFieldRun)
#include "tst_light_field_run.moc"
