#include "tests/app/cli/cli_bench.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/run/run_state.h"
#include "tests/support/environment.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

/// How long runs will take, before and while they work.
class CliForecastTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void runIsJudgedByItsBeginning();
    void runsAreCounted();
    void nothingIsLeftBehind();
    void failureOfTheRunIsTold();
    void wrongUsageIsTold_data();
    void wrongUsageIsTold();
    void listSaysWhenASweepWillHaveEnded();

private:
    RunFolder sweepRun(const QString& name, const std::string& state);
};

/// As long as it takes to be judged; a thousand steps of 1 ms would be over before.
static QStringList slowRun(const QStringList& more = {})
{
    return QStringList{"forecast",  "chaos",    "--set", "steps=1000000", "--set",
                       "step_ms=1", "--device", "cpu",   "--seconds",     "2"} +
           more;
}

void CliForecastTest::runIsJudgedByItsBeginning()
{
    const Outcome outcome = vergence(slowRun({"--json"}));
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const auto answer = outcome.parsed();
    QCOMPARE(answer.at("total").get<std::int64_t>(), std::int64_t{1'000'000});
    const double step = answer.at("seconds_per_step");
    QVERIFY2(step >= 0.001, qPrintable(QString::number(step)));
    QCOMPARE(answer.at("seconds").get<double>(),
             answer.at("seconds_before").get<double>() + 1e6 * step);
    QVERIFY(answer.at("memory_mib").get<double>() > 1);
    QCOMPARE(answer.at("device_mib").get<double>(), 0.0);
}

void CliForecastTest::runsAreCounted()
{
    const Outcome outcome = vergence(slowRun({"--runs", "3"}));
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QVERIFY2(outcome.out.contains("1000000 steps of"), qPrintable(outcome.out));
    QVERIFY2(outcome.out.contains("3 runs, 1 at a time: about "), qPrintable(outcome.out));
}

void CliForecastTest::nothingIsLeftBehind()
{
    QVERIFY(QDir(home()).mkdir("tmp"));
    const ScopedVariable temporary("TMPDIR", path("tmp").toUtf8());
    QCOMPARE(vergence(slowRun()).code, 0);
    QCOMPARE(QDir(path("tmp")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList());
    QVERIFY(!QDir(path("runs")).exists());
}

void CliForecastTest::failureOfTheRunIsTold()
{
    const Outcome outcome =
        vergence({"forecast", "chaos", "--set", "throw_at=1", "--device", "cpu", "--json"});
    QVERIFY2(outcome.code == static_cast<int>(ExitCode::RunFailed), qPrintable(outcome.err));
    QVERIFY2(!outcome.err.isEmpty() && outcome.out.isEmpty(), qPrintable(outcome.out));
}

void CliForecastTest::wrongUsageIsTold_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("words");
    QTest::newRow("no time") << QStringList{"heat", "--seconds", "0"} << 2 << "--seconds";
    QTest::newRow("no runs") << QStringList{"heat", "--runs", "0"} << 2 << "--runs";
    QTest::newRow("unknown lab") << QStringList{"hate"} << 4 << "no plugin `hate`";
    QTest::newRow("wrong setting") << QStringList{"heat", "--set", "size=no"} << 3 << "size";
    QTest::newRow("unknown target")
        << QStringList{"heat", "--target", "uni"} << 6 << "There is no target `uni`";
}

void CliForecastTest::wrongUsageIsTold()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, words);
    const Outcome outcome = vergence(QStringList{"forecast"} + arguments);
    QTEST(outcome.code, "code");
    QVERIFY2(outcome.err.contains(words), qPrintable(outcome.err));
}

/// One run of the sweep, as it stands.
RunFolder CliForecastTest::sweepRun(const QString& name, const std::string& state)
{
    const RunFolder run{path("runs/" + name).toStdString()};
    if (!state.empty()) {
        RunFolder::createAt(run.root);
        RunStatus status;
        status.state = state;
        status.plugin = "chaos";
        status.step = status.total = 60;
        writeStatus(run, status);
        writeFileAtomic(run.config(), "plugin = \"chaos\"\n");
        writeFileAtomic(run.metrics(), "step,wall_s,name,value\n60,7200,loss,1\n");
    }
    writeFileAtomic(run.root / "labels.json",
                    R"({"sweep": {"group": "a", "key": "rate", "value": "1", "share": 0}})");
    return run;
}

void CliForecastTest::listSaysWhenASweepWillHaveEnded()
{
    const auto worker = start({"run", "chaos", "--set", "steps=60", "--set", "wait_at=30",
                               "--device", "cpu", "--run-dir", path("runs/working")});
    const RunFolder working{path("runs/working").toStdString()};
    QTRY_VERIFY(std::filesystem::exists(working.status()) && readStatus(working).step == 30);
    sweepRun("working", {});
    sweepRun("ended", "Completed");
    sweepRun("waiting", "Queued");
    const Outcome outcome = vergence({"runs", "list"});
    QVERIFY2(outcome.out.contains("Sweep over rate: 1 of 3 runs have ended, 1 work; about "),
             qPrintable(outcome.out));
    // The one that waits takes 2 h as the one that has ended did, after the one that works.
    QVERIFY2(outcome.out.contains("about 2 h "), qPrintable(outcome.out));
    worker->terminate();
    QTRY_COMPARE(worker->state(), QProcess::NotRunning);
    QVERIFY(!vergence({"runs", "list"}).out.contains("Sweep over"));
}

VERGENCE_TEST(CliForecastTest)
#include "tst_cli_forecast.moc"
