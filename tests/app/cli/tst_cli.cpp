#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include "core/artifact/checkpoint.h"
#include "core/artifact/gif.h"
#include "core/artifact/run_folder.h"
#include "core/base/file.h"

using namespace vergence;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const QString kBuild = VERGENCE_BINARY_DIR;
constexpr int kWaitMilliseconds = 60'000;

/// What a command left behind.
struct Outcome {
    int code = -1;
    QString out, err;

    json parsed() const { return json::parse(out.toStdString(), nullptr, false); }
    std::string folder() const { return out.trimmed().toStdString(); }
};

} // namespace

/// Every claim is tried on the real executable, without a display and with a home of its own.
class CliTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();

    void nothingToDoIsWrongUsage();
    void everyLevelHasHelpAndVersion_data();
    void everyLevelHasHelpAndVersion();
    void slipIsAnsweredWithASuggestion_data();
    void slipIsAnsweredWithASuggestion();
    void everyCauseHasItsCode_data();
    void everyCauseHasItsCode();

    void failedRunHasTheCodeOfItsCause_data();
    void failedRunHasTheCodeOfItsCause();

    void strongerLayersWin();
    void fileNamesPluginAndPreset();
    void configComesFromStandardInput();
    void explainNamesTheWinner();
    void diffTellsDifferencesByCode();
    void schemaIsJsonSchema();
    void shownConfigReadsBackTheSame();
    void validateListsEveryIssue();

    void runPrintsItsFolderAlone();
    void inputIsKeptByteForByte();
    void jsonLinesAreMessages();
    void resumedRunEqualsOneRun();
    void interruptLeavesACheckpoint();
    void timeLimitLeavesACheckpoint();
    void runningRunIsNotResumed();
    void viewServesAFinishedRunUntilInterrupted();

    void runsAreListedAndShown();
    void changedArtifactFailsVerification();
    void exportsAreWritten();
    void dryRunWritesNothing();
    void unknownSeriesIsNamed();

    void pluginTableTellsEveryState();
    void describeIsJson();
    void disabledPluginIsRefused();
    void checkRepairsQuarantine();
    void doctorReportsDevicesAndFolders();

private:
    Outcome vergence(const QStringList& arguments, const QByteArray& input = {});
    Outcome demoRun(const QStringList& more = {});
    std::unique_ptr<QProcess> start(const QStringList& arguments);
    QString path(const QString& name) const { return m_home->filePath(name); }
    QString written(const QString& name, const QByteArray& text);

    std::unique_ptr<QTemporaryDir> m_home;
};

void CliTest::init()
{
    m_home = std::make_unique<QTemporaryDir>();
    for (const char* variable : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
                                 "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"}) {
        qputenv(variable, QFile::encodeName(path(variable)));
        fs::create_directories(path(variable).toStdString());
    }
    qputenv("VERGENCE_RUNS", QFile::encodeName(path("runs")));
    qputenv("VERGENCE_PLUGIN_PATH", QFile::encodeName(kBuild + "/lib/vergence-test-plugins"));
    qunsetenv("DISPLAY");
    qunsetenv("QT_QPA_PLATFORM");
}

std::unique_ptr<QProcess> CliTest::start(const QStringList& arguments)
{
    auto process = std::make_unique<QProcess>();
    process->setWorkingDirectory(m_home->path());
    process->start(kBuild + "/bin/vergence", arguments);
    return process;
}

Outcome CliTest::vergence(const QStringList& arguments, const QByteArray& input)
{
    auto process = start(arguments);
    process->write(input);
    process->closeWriteChannel();
    if (!process->waitForFinished(kWaitMilliseconds))
        process->kill();
    Outcome outcome;
    outcome.out = process->readAllStandardOutput();
    outcome.err = process->readAllStandardError();
    outcome.code = process->exitStatus() == QProcess::NormalExit ? process->exitCode()
                                                                 : 128 + process->exitCode();
    return outcome;
}

Outcome CliTest::demoRun(const QStringList& more)
{
    return vergence(QStringList{"run", "heat", "--preset", "demo", "--device", "cpu"} + more);
}

QString CliTest::written(const QString& name, const QByteArray& text)
{
    writeFileAtomic(path(name).toStdString(), text.toStdString());
    return path(name);
}

void CliTest::nothingToDoIsWrongUsage()
{
    const Outcome outcome = vergence({});
    QCOMPARE(outcome.code, 2);
    QVERIFY(outcome.out.isEmpty());
    QVERIFY2(outcome.err.contains("Usage: vergence"), qPrintable(outcome.err));
}

void CliTest::everyLevelHasHelpAndVersion_data()
{
    QTest::addColumn<QStringList>("command");
    const QStringList commands = {
        "",           "run",          "view",          "validate",       "config",
        "doctor",     "config show",  "config schema", "config diff",    "config explain",
        "plugins",    "plugins list", "plugins check", "runs",           "plugins describe",
        "export",     "runs list",    "runs show",     "runs verify",    "plugins enable",
        "export zip", "export gif",   "export csv",    "plugins disable"};
    for (const QString& command : commands)
        QTest::addRow("vergence %s", qPrintable(command)) << command.split(' ', Qt::SkipEmptyParts);
}

void CliTest::everyLevelHasHelpAndVersion()
{
    QFETCH(QStringList, command);
    const Outcome help = vergence(command + QStringList{"--help"});
    QCOMPARE(help.code, 0);
    QVERIFY2(help.out.contains("Usage: "), qPrintable(help.out));
    QVERIFY(help.err.isEmpty());

    const Outcome version = vergence(command + QStringList{"--version"});
    QCOMPARE(version.code, 0);
    QVERIFY2(version.out.startsWith("vergence "), qPrintable(version.out));
}

void CliTest::slipIsAnsweredWithASuggestion_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("suggestion");
    QTest::newRow("command") << QStringList{"rnu"} << 2 << "Did you mean `run`?";
    QTest::newRow("nested command")
        << QStringList{"plugins", "lisst"} << 2 << "Did you mean `list`?";
    QTest::newRow("option") << QStringList{"run", "heat", "--presett=demo"} << 2
                            << "Did you mean `--preset`?";
    QTest::newRow("preset") << QStringList{"run", "heat", "--preset", "dmeo"} << 2
                            << "Did you mean `demo`?";
    QTest::newRow("plugin") << QStringList{"run", "haet"} << 4 << "Did you mean `heat`?";
    QTest::newRow("key") << QStringList{"run", "heat", "--set", "sweep=3"} << 3
                         << "Did you mean `sweeps`?";
    QTest::newRow("explained key")
        << QStringList{"config", "explain", "sweep", "heat"} << 2 << "Did you mean `sweeps`?";
}

void CliTest::slipIsAnsweredWithASuggestion()
{
    QFETCH(QStringList, arguments);
    QFETCH(int, code);
    QFETCH(QString, suggestion);
    const Outcome outcome = vergence(arguments);
    QCOMPARE(outcome.code, code);
    QVERIFY2(outcome.err.contains(suggestion), qPrintable(outcome.err));
    QVERIFY(outcome.out.isEmpty());
}

void CliTest::everyCauseHasItsCode_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("sentence");
    const QString bad = kBuild + "/lib/vergence-bad-plugins";
    const auto row = [](const char* name, const QStringList& arguments, int code,
                        const QString& sentence) {
        QTest::newRow(name) << arguments << code << sentence;
    };
    row("unknown option", {"run", "heat", "--frobnicate"}, 2, "--frobnicate");
    row("missing argument", {"run"}, 2, "target is required");
    row("number that is none", {"run", "heat", "--keep", "many"}, 2, "--keep");
    row("resume of nothing", {"run", "heat", "--resume"}, 2, "--resume needs the folder");
    row("failing run", {"run", "debug_build", "--plugin-path", bad}, 1, "has nothing to run");
    row("invalid value", {"run", "heat", "--set", "size=2"}, 3, "size must be at least 8");
    row("rule over two fields", {"run", "heat", "--set", "hot=-1"}, 3, "hot must be above cold");
    row("missing plugin", {"run", "nothing_like_it"}, 4, "There is no plugin `nothing_like_it`");
    row("refused plugin", {"run", "wrong_api", "--plugin-path", bad}, 4,
        "it needs plugin API 3, this version offers 1.");
    row("crashing plugin", {"run", "crashes", "--plugin-path", bad}, 4,
        "it crashed while loading (signal 11)");
    row("safe mode", {"run", "heat", "--safe-mode"}, 4, "Safe mode is on");
    row("missing file", {"run", "nowhere.toml"}, 6, "nowhere.toml");
    row("missing run", {"runs", "show", "nothing"}, 6, "There is no run `nothing`");
    row("missing device", {"run", "heat", "--device", "cuda:97"}, 7, "No device cuda:97");
    row("unwritable output", {"run", "heat", "--run-dir", "/proc/nowhere/run"}, 8, "/proc/nowhere");
}

void CliTest::everyCauseHasItsCode()
{
    QFETCH(QStringList, arguments);
    QFETCH(int, code);
    QFETCH(QString, sentence);
    const Outcome outcome = vergence(arguments);
    QVERIFY2(outcome.err.contains(sentence), qPrintable(outcome.err));
    QCOMPARE(outcome.code, code);
    QVERIFY(outcome.out.isEmpty());
}

void CliTest::failedRunHasTheCodeOfItsCause_data()
{
    QTest::addColumn<QStringList>("assignments");
    QTest::addColumn<int>("code");
    QTest::newRow("error") << QStringList{"throw_at=2"} << 1;
    QTest::newRow("out of memory") << QStringList{"bad_alloc_at=2"} << 5;
    QTest::newRow("input") << QStringList{"throw_at=2", "exit_code=6"} << 6;
    QTest::newRow("not a number") << QStringList{"nan_at=2"} << 1;
    QTest::newRow("crash") << QStringList{"segv_at=2"} << 128 + SIGSEGV;
}

void CliTest::failedRunHasTheCodeOfItsCause()
{
    QFETCH(QStringList, assignments);
    QFETCH(int, code);
    QStringList arguments = {"run", "chaos", "--set", "steps=5", "--set", "step_ms=1"};
    for (const QString& assignment : assignments)
        arguments += {"--set", assignment};
    QCOMPARE(vergence(arguments).code, code);
}

void CliTest::strongerLayersWin()
{
    const QString file = written("mine.toml", "[plate]\nsize = 24\nhot = 5.0\n");
    const auto valuesOf = [this](const QStringList& more) {
        return vergence(QStringList{"config", "show", "heat", "--json"} + more).parsed()["values"];
    };
    QCOMPARE(valuesOf({})["size"].get<int>(), 32);
    QCOMPARE(valuesOf({"--preset", "demo"})["size"].get<int>(), 16);
    const json withFile = valuesOf({"--preset", "demo", "--config", file});
    QCOMPARE(withFile["size"].get<int>(), 24);
    QCOMPARE(withFile["sweeps"].get<int>(), 20);
    QCOMPARE(
        valuesOf({"--preset", "demo", "--config", file, "--set", "size=48"})["size"].get<int>(),
        48);
}

void CliTest::fileNamesPluginAndPreset()
{
    const QString file =
        written("mine.toml", "plugin = \"heat\"\npreset = \"demo\"\n[plate]\nhot = 5.0\n");
    const json shown = vergence({"config", "show", file, "--json"}).parsed();
    QCOMPARE(shown["plugin"].get<std::string>(), std::string("heat"));
    QCOMPARE(shown["preset"].get<std::string>(), std::string("demo"));
    QCOMPARE(shown["values"]["sweeps"].get<int>(), 20);

    const Outcome nameless =
        vergence({"validate", written("nameless.toml", "[plate]\nsize = 9\n")});
    QCOMPARE(nameless.code, 3);
    QVERIFY2(nameless.err.contains("does not say which plugin"), qPrintable(nameless.err));

    const Outcome wrongPreset =
        vergence({"validate", written("odd.toml", "plugin = \"heat\"\npreset = \"dmo\"\n")});
    QCOMPARE(wrongPreset.code, 3);
    QVERIFY2(wrongPreset.out.contains("Did you mean `demo`?"), qPrintable(wrongPreset.out));

    const Outcome other =
        vergence({"validate", "heat", "--config", written("other.toml", "plugin = \"sugar\"\n")});
    QCOMPARE(other.code, 3);
    QVERIFY2(other.out.contains("a configuration of `sugar`, not of `heat`"),
             qPrintable(other.out));
}

void CliTest::configComesFromStandardInput()
{
    const Outcome outcome =
        vergence({"config", "show", "heat", "--config", "-", "--json"}, "[plate]\nsize = 11\n");
    QCOMPARE(outcome.code, 0);
    QCOMPARE(outcome.parsed()["values"]["size"].get<int>(), 11);
}

void CliTest::explainNamesTheWinner()
{
    const QStringList command = {"config",   "explain", "sweeps", "heat",
                                 "--preset", "demo",    "--json"};
    const json preset = vergence(command).parsed();
    QCOMPARE(preset["winner"].get<std::string>(), std::string("preset demo"));
    QCOMPARE(preset["value"].get<std::string>(), std::string("20"));

    const json assigned = vergence(command + QStringList{"--set", "sweeps=7"}).parsed();
    QCOMPARE(assigned["winner"].get<std::string>(), std::string("--set"));
    QCOMPARE(assigned["layers"].size(), std::size_t{3});

    const Outcome plain = vergence({"config", "explain", "size", "heat"});
    QVERIFY2(plain.out.startsWith("size = 32  from default"), qPrintable(plain.out));
}

void CliTest::diffTellsDifferencesByCode()
{
    const Outcome same = vergence({"config", "diff", "heat", "heat"});
    QCOMPARE(same.code, 0);
    QVERIFY(same.out.isEmpty());

    const Outcome other = vergence({"config", "diff", "heat", "heat:demo", "--json"});
    QCOMPARE(other.code, 9);
    const json rows = other.parsed();
    QCOMPARE(rows.size(), std::size_t{2});
    QCOMPARE(rows[0]["key"].get<std::string>(), std::string("size"));
    QCOMPARE(rows[1]["b"].get<std::string>(), std::string("20"));
}

void CliTest::schemaIsJsonSchema()
{
    const json schema = vergence({"config", "schema", "heat"}).parsed();
    QVERIFY(schema.is_object());
    const json size = schema["properties"]["plate"]["properties"]["size"];
    QCOMPARE(size["type"].get<std::string>(), std::string("integer"));
    QCOMPARE(size["minimum"].get<double>(), 8.0);
    QCOMPARE(size["default"].get<int>(), 32);
    QCOMPARE(size["x-unit"].get<std::string>(), std::string("px"));
}

void CliTest::shownConfigReadsBackTheSame()
{
    const Outcome first =
        vergence({"config", "show", "heat", "--preset", "demo", "--set", "hot=1.6e-5"});
    QCOMPARE(first.code, 0);
    const Outcome second = vergence({"config", "show", written("shown.toml", first.out.toUtf8())});
    QCOMPARE(second.out, first.out);
}

void CliTest::validateListsEveryIssue()
{
    const QString file =
        written("wrong.toml", "plugin = \"heat\"\nsweps = 3\n[plate]\nsize = 1\nhot = \"warm\"\n");
    const Outcome outcome = vergence({"validate", file, "--json"});
    QCOMPARE(outcome.code, 3);
    const json report = outcome.parsed();
    QCOMPARE(report["valid"].get<bool>(), false);
    QCOMPARE(report["issues"].size(), std::size_t{3});

    const Outcome syntax =
        vergence({"validate", "heat", "--config", written("torn.toml", "[plate\n")});
    QCOMPARE(syntax.code, 3);
    QCOMPARE(vergence({"validate", "heat", "--preset", "demo"}).code, 0);
}

void CliTest::runPrintsItsFolderAlone()
{
    const Outcome outcome = demoRun();
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.out.count('\n'), 1);
    const RunFolder folder = RunFolder::open(outcome.folder());
    const RunStatus status = readStatus(folder);
    QCOMPARE(status.state, std::string("Completed"));
    QCOMPARE(status.step, std::int64_t{20});
    QCOMPARE(status.preset, std::string("demo"));
    QVERIFY(readFile(folder.metrics()).find("heat/residual") != std::string::npos);
    QVERIFY(fs::exists(folder.artifacts() / "plate/fade_1.png"));
}

void CliTest::inputIsKeptByteForByte()
{
    const QByteArray text =
        "# my plate\nplugin   = \"heat\"\n\n[plate]\r\nsize=8\n[solver]\nsweeps = 3";
    const Outcome outcome =
        vergence({"run", written("mine.toml", text), "--run-dir", path("one"), "--device", "cpu"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const RunFolder folder = RunFolder::open(path("one").toStdString());
    QCOMPARE(readFile(folder.configInput()), text.toStdString());
    QVERIFY(readFile(folder.config()).find("sweeps = 3  # changed, default 100") !=
            std::string::npos);

    QCOMPARE(vergence({"run", "heat", "--run-dir", path("one")}).code, 8); // never over another run
}

void CliTest::jsonLinesAreMessages()
{
    const Outcome outcome = demoRun({"--json"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QStringList types;
    for (const QString& line : outcome.out.split('\n', Qt::SkipEmptyParts)) {
        const json message = json::parse(line.toStdString(), nullptr, false);
        QVERIFY2(message.is_object(), qPrintable(line));
        types << QString::fromStdString(message["type"].get<std::string>());
    }
    QVERIFY(types.contains("metrics"));
    QCOMPARE(types.last(), QString("done"));
}

void CliTest::resumedRunEqualsOneRun()
{
    const Outcome whole = demoRun({"--set", "sweeps=30"});
    const Outcome part = demoRun();
    QCOMPARE(part.code, 0);

    const Outcome rest =
        vergence({"run", part.out.trimmed(), "--resume", "--set", "sweeps=30", "--device", "cpu"});

    QVERIFY2(rest.code == 0, qPrintable(rest.err));
    QCOMPARE(rest.folder(), part.folder());
    const RunFolder folder = RunFolder::open(part.folder());
    QCOMPARE(readStatus(folder).step, std::int64_t{30});
    const RunFolder straight = RunFolder::open(whole.folder());
    QCOMPARE(readFile(folder.artifacts() / "plate/fade_3.png"),
             readFile(straight.artifacts() / "plate/fade_3.png"));
    QVERIFY(readFile(folder.config()).find("sweeps = 30") != std::string::npos);
}

void CliTest::interruptLeavesACheckpoint()
{
    auto process = start({"run", "heat", "--set", "sweeps=1000000000", "--run-dir", path("long"),
                          "--device", "cpu"});
    const RunFolder folder{path("long").toStdString()};
    const auto isRunning = [&folder] {
        return fs::exists(folder.status()) && readStatus(folder).step > 0;
    };
    QTRY_VERIFY_WITH_TIMEOUT(isRunning(), kWaitMilliseconds);
    ::kill(static_cast<pid_t>(process->processId()), SIGINT);
    QVERIFY(process->waitForFinished(kWaitMilliseconds));

    QCOMPARE(process->exitCode(), 130);
    QCOMPARE(readStatus(folder).state, std::string("Stopped"));
    QVERIFY(!listCheckpoints(folder).empty());
}

void CliTest::timeLimitLeavesACheckpoint()
{
    const Outcome outcome = vergence({"run", "heat", "--set", "sweeps=1000000000", "--time-limit",
                                      "0.5", "--run-dir", path("timed"), "--device", "cpu"});
    QCOMPARE(outcome.code, 124);
    QVERIFY(!listCheckpoints(RunFolder{path("timed").toStdString()}).empty());
}

void CliTest::runningRunIsNotResumed()
{
    auto process = start({"run", "heat", "--set", "sweeps=1000000000", "--run-dir", path("long"),
                          "--device", "cpu"});
    const RunFolder folder{path("long").toStdString()};
    QTRY_VERIFY_WITH_TIMEOUT(fs::exists(folder.status()) && readStatus(folder).pid > 0,
                             kWaitMilliseconds);

    const Outcome outcome = vergence({"run", path("long"), "--resume"});

    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.err.contains("is still going on"), qPrintable(outcome.err));
    process->kill();
    process->waitForFinished();
    const json runs = vergence({"runs", "list", "--runs-dir", m_home->path(), "--json"}).parsed();
    QCOMPARE(runs[0]["status"]["state"].get<std::string>(), std::string("Lost"));
}

void CliTest::viewServesAFinishedRunUntilInterrupted()
{
    const Outcome made = demoRun();
    const std::string before = readFile(RunFolder{made.folder()}.metrics());
    auto process = start({"view", made.out.trimmed(), "--json", "--device", "cpu"});
    QByteArray said;
    QTRY_VERIFY_WITH_TIMEOUT((said += process->readAllStandardOutput()).contains("heartbeat"),
                             kWaitMilliseconds);
    ::kill(static_cast<pid_t>(process->processId()), SIGINT);
    QVERIFY(process->waitForFinished(kWaitMilliseconds));

    QCOMPARE(process->exitStatus(), QProcess::NormalExit);
    QCOMPARE(process->exitCode(), 0);
    QCOMPARE(readStatus(RunFolder{made.folder()}).state, std::string("Completed"));
    QCOMPARE(readFile(RunFolder{made.folder()}.metrics()), before);
}

void CliTest::runsAreListedAndShown()
{
    const Outcome empty = vergence({"runs", "list"});
    QCOMPARE(empty.code, 0);
    QVERIFY(empty.err.contains("There are no runs"));

    const Outcome made = demoRun();
    const std::string id = fs::path(made.folder()).filename().string();
    const json runs = vergence({"runs", "list", "--json"}).parsed();
    QCOMPARE(runs.size(), std::size_t{1});
    QCOMPARE(runs[0]["id"].get<std::string>(), id);

    const Outcome shown =
        vergence({"runs", "show", QString::fromStdString(id.substr(id.size() - 4))});
    QVERIFY2(shown.out.contains("Completed"), qPrintable(shown.out + shown.err));
    QVERIFY2(shown.out.contains("plate/fade_1.png"), qPrintable(shown.out));
    const json run = vergence({"runs", "show", QString::fromStdString(id), "--json"}).parsed();
    QCOMPARE(run["status"]["step"].get<int>(), 20);
    QVERIFY(run["manifest"].is_object());
}

void CliTest::changedArtifactFailsVerification()
{
    const Outcome made = demoRun();
    QCOMPARE(vergence({"runs", "verify", made.out.trimmed()}).code, 0);

    std::ofstream(fs::path(made.folder()) / "artifacts/plate/fade_1.png", std::ios::app) << "x";

    const Outcome changed = vergence({"runs", "verify", made.out.trimmed(), "--json"});
    QCOMPARE(changed.code, 9);
    QVERIFY2(changed.out.contains("fade_1.png"), qPrintable(changed.out));
}

void CliTest::exportsAreWritten()
{
    const Outcome made = demoRun({"--zip"});
    const QString run = made.out.trimmed();
    QVERIFY2(fs::exists(fs::path(made.folder()) / "exports" /
                        (fs::path(made.folder()).filename().string() + ".zip")),
             qPrintable(made.err));

    const QString zip = path("out/bundle.zip");
    QCOMPARE(vergence({"export", "zip", run, "-o", zip}).out.trimmed(), zip);
    QCOMPARE(vergence({"runs", "verify", zip}).code, 0);

    const QString gif = path("out/fade.gif");
    const Outcome animated =
        vergence({"export", "gif", run, "-o", gif, "--delay", "100", "--scale", "2"});
    QVERIFY2(animated.code == 0, qPrintable(animated.err));
    const GifContent content = readGif(gif.toStdString());
    QCOMPARE(content.frames.size(), std::size_t{3});
    QCOMPARE(content.frames[0].width, 32);
    QCOMPARE(content.delaysCentiseconds[0], 10);
    QVERIFY(content.loops);
    QCOMPARE(vergence({"export", "gif", run, "--images", "artifacts/none_*.png"}).code, 6);

    const Outcome csv = vergence({"export", "csv", run, "--series", "heat/residual"});
    QVERIFY2(csv.out.startsWith("step,wall_s,name,value\n"), qPrintable(csv.out));
    QCOMPARE(csv.out.count("heat/residual"), 20);
}

void CliTest::dryRunWritesNothing()
{
    const QString run = demoRun().out.trimmed();
    for (const char* kind : {"zip", "gif", "csv"}) {
        const Outcome outcome =
            vergence({"export", kind, run, "-o", path("none.out"), "--dry-run"});
        QCOMPARE(outcome.code, 0);
        QVERIFY2(outcome.out.startsWith("Would write "), qPrintable(outcome.out));
    }
    QVERIFY(!QFile::exists(path("none.out")));
}

void CliTest::unknownSeriesIsNamed()
{
    const Outcome outcome =
        vergence({"export", "csv", demoRun().out.trimmed(), "--series", "heat/residul"});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.err.contains("Did you mean `heat/residual`?"), qPrintable(outcome.err));
}

void CliTest::pluginTableTellsEveryState()
{
    qputenv("VERGENCE_PLUGIN_PATH",
            QFile::encodeName(kBuild + "/lib/vergence-test-plugins/libvergence-plugin-heat.so:" +
                              kBuild + "/lib/vergence-bad-plugins/libwrong_api.so"));
    const json plugins = vergence({"plugins", "list", "--json"}).parsed();
    QCOMPARE(plugins[0]["state"].get<std::string>(), std::string("Ready"));
    QCOMPARE(plugins[1]["state"].get<std::string>(), std::string("Refused"));

    const Outcome table = vergence({"plugins", "list"});
    QVERIFY2(table.out.contains("it needs plugin API 3, this version offers 1."),
             qPrintable(table.out));
    const Outcome safe = vergence({"plugins", "list", "--safe-mode"});
    QVERIFY2(safe.out.contains("Safe mode is on"), qPrintable(safe.out));
}

void CliTest::describeIsJson()
{
    const json described = vergence({"plugins", "describe", "heat", "--json"}).parsed();
    QCOMPARE(described["descriptor"]["id"].get<std::string>(), std::string("heat"));
    QVERIFY(described["descriptor"]["demo"].get<bool>());
    QCOMPARE(described["presets"].size(), std::size_t{2});

    const Outcome refused = vergence(
        {"plugins", "describe", "--json", kBuild + "/lib/vergence-bad-plugins/libwrong_iid.so"});
    QCOMPARE(refused.code, 4);
    QVERIFY(refused.parsed()["refusal"]["reason"].get<std::string>().find("org.other.Thing/1") !=
            std::string::npos);
}

void CliTest::disabledPluginIsRefused()
{
    QCOMPARE(vergence({"plugins", "disable", "heat"}).code, 0);
    const Outcome outcome = vergence({"run", "heat"});
    QCOMPARE(outcome.code, 4);
    QVERIFY2(outcome.err.contains("is switched off"), qPrintable(outcome.err));
    QCOMPARE(vergence({"plugins", "enable", "heat"}).code, 0);
    QCOMPARE(vergence({"validate", "heat"}).code, 0);
}

void CliTest::checkRepairsQuarantine()
{
    const QString folder = kBuild + "/lib/vergence-bad-plugins";
    QCOMPARE(vergence({"plugins", "check", "heat"}).code, 0);
    const Outcome refused = vergence({"plugins", "check", folder + "/libmissing_symbol.so"});
    QCOMPARE(refused.code, 4);
    QVERIFY2(refused.out.contains("vergenceTestNowhere"), qPrintable(refused.out));
    QCOMPARE(vergence({"plugins", "check", "crashes", "--plugin-path", folder}).code, 4);
    const Outcome again =
        vergence({"plugins", "check", "crashes", "--plugin-path", folder, "--json"});
    QCOMPARE(again.parsed()[0]["state"].get<std::string>(), std::string("Quarantined"));
}

void CliTest::doctorReportsDevicesAndFolders()
{
    const Outcome outcome = vergence({"doctor", "--json"});
    QCOMPARE(outcome.code, 0);
    const json report = outcome.parsed();
    QCOMPARE(report["devices"]["list"][0]["kind"].get<std::string>(), std::string("cpu"));
    QVERIFY(report["devices"]["list"].size() > 1 ||
            !report["devices"]["why_no_cuda"].get<std::string>().empty());
    QCOMPARE(report["folders"].size(), std::size_t{6});
    for (const json& folder : report["folders"])
        QVERIFY2(folder["writable"].get<bool>(), folder.dump().c_str());
    const auto isHeat = [](const json& plugin) {
        return plugin["id"] == "heat" && plugin["state"] == "Ready";
    };
    QVERIFY(std::any_of(report["plugins"].begin(), report["plugins"].end(), isHeat));
    QVERIFY(vergence({"doctor"}).out.contains("Devices"));
}

QTEST_GUILESS_MAIN(CliTest)
#include "tst_cli.moc"
