#include <csignal>
#include <sstream>

#include <QProcess>
#include <QTest>

#include "core/artifact/checkpoint.h"
#include "core/base/file.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/environment.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
using test::Outcome;
using test::ScopedVariable;

namespace {

/// "step name value" of every point of a run: all but the wall clock.
std::vector<std::string> curvesOf(const RunFolder& folder)
{
    std::vector<std::string> points;
    std::istringstream lines(readFile(folder.metrics()));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t wall = line.find(','), series = line.find(',', wall + 1);
        const std::string name = line.substr(series + 1, line.rfind(',') - series - 1);
        // Those tell of the computer and its load, not of the results.
        if (!name.starts_with("system/") && !name.starts_with("time/"))
            points.push_back(line.substr(0, wall) + line.substr(series));
    }
    return points;
}

QStringList withTestPlugins(const QStringList& arguments)
{
    return arguments +
           QStringList{"--plugin-path", VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"};
}

/// The command line as on a server: no display of any kind.
class Server {
public:
    Outcome run(const QStringList& arguments, const QByteArray& input = {}) const
    {
        return test::runCommand(arguments, GuiHarness::folder(), input);
    }

private:
    const ScopedVariable m_x11{"DISPLAY", {}}, m_wayland{"WAYLAND_DISPLAY", {}},
        m_platform{"QT_QPA_PLATFORM", {}};
};

} // namespace

/// S23: I use it on a server.
class TestServer : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theWindowsRunHasTheSameNumbers_data()
    {
        QTest::addColumn<QString>("plugin");
        QTest::addColumn<QString>("toml");
        QTest::newRow("heat") << "heat"
                              << "[plate]\nsize = 24\n[solver]\nsweeps = 40\nseed = 5\n";
        QTest::newRow("light_field")
            << "light_field"
            << "[general]\nseed = 7\n[scene]\nboards = [38]\n[eye]\nrender_res = 64\n"
               "[optics]\npanel_res = 64\n[solver]\niterations = 3\n";
    }
    void theWindowsRunHasTheSameNumbers()
    {
        QFETCH(QString, plugin);
        QFETCH(QString, toml);
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString run = gui.start(plugin, toml);
        QVERIFY2(!run.isEmpty(), qPrintable(gui.textOf("configSummary")));
        QVERIFY(gui.waitState(run, RunState::Completed, 120'000));
        const RunFolder fromWindow = gui.window().runs().find(run)->folder;
        const Server server;
        // The very configuration of the window's run, in a terminal.
        const Outcome outcome = server.run(
            withTestPlugins({"run", QString::fromStdString(fromWindow.config().string())}));
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        const auto curves = curvesOf(fromWindow);
        QVERIFY(curves.size() > 3);
        QCOMPARE(curvesOf(RunFolder{outcome.folder()}), curves);
    }
    void theOtherCommandsNeedNoDisplay()
    {
        const Server server;
        QCOMPARE(server.run(withTestPlugins({"validate", "heat", "--preset", "demo"})).code, 0);
        const Outcome plugins = server.run(withTestPlugins({"plugins", "list", "--json"}));
        QCOMPARE(plugins.code, 0);
        QVERIFY(plugins.parsed().is_array() && !plugins.parsed().empty());
        QCOMPARE(server.run({"doctor"}).code, 0);
        const Outcome made = server.run(withTestPlugins({"run", "heat", "--preset", "demo"}));
        QCOMPARE(made.code, 0);
        for (const char* kind : {"zip", "gif", "csv"})
            QCOMPARE(server.run({"export", kind, made.out.trimmed()}).code, 0);
    }
    void everyDocumentedCodeIsProduced()
    {
        const Server server;
        const QString bad = VERGENCE_BINARY_DIR "/lib/vergence-bad-plugins";
        const auto chaos = [](const QStringList& assignments) {
            QStringList words{"run", "chaos", "--set", "steps=5"};
            for (const QString& each : assignments)
                words << "--set" << each;
            return withTestPlugins(words);
        };
        const std::vector<std::pair<int, QStringList>> causes{
            {0, chaos({})},
            {1, chaos({"throw_at=1"})},
            {2, {"run", "heat", "--frobnicate"}},
            {3, withTestPlugins({"run", "heat", "--set", "size=2"})},
            {4, {"run", "wrong_api", "--plugin-path", bad}},
            {5, chaos({"bad_alloc_at=1"})},
            {6, {"runs", "show", "nothing"}},
            {7, withTestPlugins({"run", "heat", "--device", "cuda:97"})},
            {8, withTestPlugins({"run", "heat", "--run-dir", "/proc/nowhere/run"})},
            {9, withTestPlugins({"config", "diff", "heat", "heat:demo"})},
            {124,
             withTestPlugins({"run", "heat", "--set", "sweeps=1000000000", "--time-limit", "0.3"})},
            {128 + SIGSEGV, chaos({"segv_at=1"})},
        };
        for (const auto& [code, words] : causes) {
            const Outcome outcome = server.run(words);
            QVERIFY2(outcome.code == code, qPrintable(QString("%1: %2 instead of %3. %4")
                                                          .arg(words.join(' '))
                                                          .arg(outcome.code)
                                                          .arg(code)
                                                          .arg(outcome.err)));
        }
    }
    void controlCLeavesARunThatGoesOn()
    {
        const Server server;
        const QString place = GuiHarness::folder() + "/interrupted";
        const QStringList words = withTestPlugins(
            {"run", "chaos", "--set", "steps=300", "--set", "wait_at=20", "--run-dir", place});
        const auto process = test::startCommand(words, GuiHarness::folder());
        const RunFolder folder{place.toStdString()};
        QTRY_VERIFY(std::filesystem::exists(folder.status()) && readStatus(folder).step == 20);
        ::kill(static_cast<pid_t>(process->processId()), SIGINT);
        QVERIFY(process->waitForFinished(60'000));
        QCOMPARE(process->exitCode(), 128 + SIGINT);
        const auto checkpoint = loadNewestCheckpoint(folder);
        QVERIFY(checkpoint && checkpoint->step == 20);
        const Outcome rest = server.run(withTestPlugins({"run", place, "--resume"}));
        QVERIFY2(rest.code == 0, qPrintable(rest.err));
        const Outcome whole = server.run(withTestPlugins({"run", "chaos", "--set", "steps=300"}));
        QCOMPARE(whole.code, 0);
        QCOMPARE(curvesOf(folder), curvesOf(RunFolder{whole.folder()}));
    }
    void theWindowWithoutADisplaySaysOneLine_data()
    {
        QTest::addColumn<QString>("display");
        QTest::addColumn<QString>("words");
        QTest::newRow("none named") << QString() << "no display was found";
        QTest::newRow("not reached") << ":98765"
                                     << "the display :98765 cannot be reached";
    }
    void theWindowWithoutADisplaySaysOneLine()
    {
        QFETCH(QString, display);
        QFETCH(QString, words);
        const Server server;
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        if (!display.isEmpty())
            environment.insert("DISPLAY", display);
        process.setProcessEnvironment(environment);
        process.start(VERGENCE_BINARY_DIR "/bin/vergence-studio", QStringList());
        QVERIFY(process.waitForFinished(60'000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 7);
        QCOMPARE(process.readAllStandardOutput(), QByteArray());
        const QByteArray said = process.readAllStandardError();
        QCOMPARE(said.count('\n'), 1);
        QVERIFY2(said.contains(words.toUtf8()), said.constData());
    }
};

VERGENCE_GUI_TEST(TestServer)
#include "tst_s23_server.moc"
