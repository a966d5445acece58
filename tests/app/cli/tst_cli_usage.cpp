#include "tests/app/cli/cli_bench.h"

#include "tests/support/test_program.h"
#include <QRegularExpression>

#include <csignal>

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

/// Help, slips of the pen, and a code for every cause.
class CliUsageTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void nothingToDoIsWrongUsage();
    void everyLevelHasHelpAndVersion_data();
    void everyLevelHasHelpAndVersion();
    void slipIsAnsweredWithASuggestion_data();
    void slipIsAnsweredWithASuggestion();
    void unknownPresetIsAnsweredWithTheList();
    void everyCauseHasItsCode_data();
    void everyCauseHasItsCode();
    void failedRunHasTheCodeOfItsCause_data();
    void failedRunHasTheCodeOfItsCause();
};

void CliUsageTest::nothingToDoIsWrongUsage()
{
    const Outcome outcome = vergence({});
    QCOMPARE(outcome.code, 2);
    QVERIFY(outcome.out.isEmpty());
    QVERIFY2(outcome.err.contains("Usage: vergence"), qPrintable(outcome.err));
}

void CliUsageTest::everyLevelHasHelpAndVersion_data()
{
    QTest::addColumn<QStringList>("command");
    const QStringList commands = {"",
                                  "run",
                                  "view",
                                  "validate",
                                  "config",
                                  "doctor",
                                  "config show",
                                  "config schema",
                                  "config diff",
                                  "config explain",
                                  "plugins",
                                  "plugins list",
                                  "plugins check",
                                  "runs",
                                  "plugins describe",
                                  "export",
                                  "runs list",
                                  "runs show",
                                  "runs verify",
                                  "plugins enable",
                                  "export zip",
                                  "export gif",
                                  "export csv",
                                  "plugins disable",
                                  "plugin new",
                                  "submit",
                                  "cancel",
                                  "fetch",
                                  "forecast",
                                  "targets new",
                                  "targets check",
                                  "targets install",
                                  "bench"};
    for (const QString& command : commands)
        QTest::addRow("vergence %s", qPrintable(command)) << command.split(' ', Qt::SkipEmptyParts);
}

/// Names of the arguments that a help shows without dashes.
static QStringList positionalsOf(const QString& help)
{
    static const QRegularExpression name("^  ([a-z]+)", QRegularExpression::MultilineOption);
    QStringList names;
    const QString block = help.section("\nPositionals:", 1).section("\n\n", 0, 0);
    for (auto found = name.globalMatch(block); found.hasNext();)
        names << found.next().captured(1);
    return names;
}

void CliUsageTest::everyLevelHasHelpAndVersion()
{
    QFETCH(QStringList, command);
    const Outcome help = vergence(command + QStringList{"--help"});
    QCOMPARE(help.code, 0);
    QVERIFY2(help.out.contains("Usage: "), qPrintable(help.out));
    QVERIFY(help.err.isEmpty());
    for (const QString& name : positionalsOf(help.out)) // newer versions of the parser take none
        QVERIFY2(!help.out.contains(QRegularExpression("--" + name + "[ =,\n]")), qPrintable(name));

    const Outcome version = vergence(command + QStringList{"--version"});
    QCOMPARE(version.code, 0);
    QVERIFY2(version.out.startsWith("vergence "), qPrintable(version.out));
}

void CliUsageTest::slipIsAnsweredWithASuggestion_data()
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

void CliUsageTest::slipIsAnsweredWithASuggestion()
{
    QFETCH(QStringList, arguments);
    QFETCH(int, code);
    QFETCH(QString, suggestion);
    const Outcome outcome = vergence(arguments);
    QCOMPARE(outcome.code, code);
    QVERIFY2(outcome.err.contains(suggestion), qPrintable(outcome.err));
    QVERIFY(outcome.out.isEmpty());
}

void CliUsageTest::unknownPresetIsAnsweredWithTheList()
{
    const Outcome outcome = vergence({"run", "heat", "--preset", "fast"});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.err.contains("has no preset `fast`. It has: demo"), qPrintable(outcome.err));
}

void CliUsageTest::everyCauseHasItsCode_data()
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
    row("missing argument", {"run"}, 2, "lab is required");
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
    row("missing folder", {"run", "runs/nothing"}, 6,
        "There is no run folder and no file runs/nothing.");
    row("missing run", {"runs", "show", "nothing"}, 6, "There is no run `nothing`");
    row("missing device", {"run", "heat", "--device", "cuda:97"}, 7, "No device cuda:97");
    row("unwritable output", {"run", "heat", "--run-dir", "/proc/nowhere/run"}, 8, "/proc/nowhere");
}

void CliUsageTest::everyCauseHasItsCode()
{
    QFETCH(QStringList, arguments);
    QFETCH(int, code);
    QFETCH(QString, sentence);
    const Outcome outcome = vergence(arguments);
    QVERIFY2(outcome.err.contains(sentence), qPrintable(outcome.err));
    QCOMPARE(outcome.code, code);
    QVERIFY(outcome.out.isEmpty());
}

void CliUsageTest::failedRunHasTheCodeOfItsCause_data()
{
    QTest::addColumn<QStringList>("assignments");
    QTest::addColumn<int>("code");
    QTest::newRow("error") << QStringList{"throw_at=2"} << 1;
    QTest::newRow("out of memory") << QStringList{"bad_alloc_at=2"} << 5;
    QTest::newRow("input") << QStringList{"throw_at=2", "exit_code=6"} << 6;
    QTest::newRow("not a number") << QStringList{"nan_at=2"} << 1;
    QTest::newRow("crash") << QStringList{"segv_at=2"} << 128 + SIGSEGV;
}

void CliUsageTest::failedRunHasTheCodeOfItsCause()
{
    QFETCH(QStringList, assignments);
    QFETCH(int, code);
    QStringList arguments = {"run", "chaos", "--set", "steps=5", "--set", "step_ms=1"};
    for (const QString& assignment : assignments)
        arguments += {"--set", assignment};
    QCOMPARE(vergence(arguments).code, code);
}

VERGENCE_TEST(CliUsageTest)
#include "tst_cli_usage.moc"
