#include <QTemporaryDir>
#include <QTest>

#include "app/shell/error_catalogue.h"
#include "core/run/run_failure.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// Cards of runs that ended badly; what the worker said is repeated once.
class TestErrorCatalogue : public QObject {
    Q_OBJECT

    QTemporaryDir m_runs;

    RunEntry failedRun(int exitCode, const QString& problem, std::int64_t step = 12) const
    {
        RunEntry run;
        run.folder.root = m_runs.filePath("run").toStdString();
        run.id = run.name = "run";
        run.plugin = "chaos";
        run.state = RunState::Failed;
        run.exitCode = exitCode;
        run.problem = problem;
        run.step = step;
        run.isLoaded = true;
        return run;
    }

private Q_SLOTS:
    void theCardRepeatsTheWorkerOnce()
    {
        const auto card = cardForRun(
            failedRun(5, "The computer ran out of memory at step 12. Close others."), {});
        QVERIFY(card.has_value());
        QCOMPARE(card->id, QString("E-OOM"));
        QCOMPARE(card->whatHappened, QString("The computer ran out of memory at step 12. No "
                                             "checkpoint was written yet."));
        QCOMPARE(card->why, QString("Close others."));
    }
    void namesWithDotsDoNotEndASentence()
    {
        const auto card =
            cardForRun(failedRun(6, "images.txt line 259: expected 10 values, found 7", 0), {});
        QCOMPARE(card->whatHappened, QString("images.txt line 259: expected 10 values, found 7"));
        QVERIFY(card->why.isEmpty());
    }
    void idsAreTheWorkersIds_data()
    {
        QTest::addColumn<int>("code");
        for (int code = 1; code <= 8; ++code)
            QTest::addRow("%d", code) << code;
    }
    void idsAreTheWorkersIds()
    {
        QFETCH(int, code);
        QCOMPARE(cardForRun(failedRun(code, {}), {})->id,
                 QString(problemIdOf(static_cast<ExitCode>(code))));
    }
    void aCrashNamesSignalAndStep()
    {
        RunEntry run = failedRun(139, "The worker stopped with signal 11.");
        run.state = RunState::Crashed;
        const auto card = cardForRun(run, {"last line"});
        QCOMPARE(card->id, QString("E-CRASH"));
        QVERIFY(card->whatHappened.startsWith("The worker stopped with signal 11 at step 12."));
        QVERIFY(card->details.contains("last line"));
    }
    void aKilledWorkerIsNoFaultOfThePlugin()
    {
        RunEntry run = failedRun(137, "The worker stopped with signal 9.");
        run.state = RunState::Crashed;
        const auto card = cardForRun(run, {});
        QVERIFY2(card->why.contains("ran out of memory") && !card->why.contains("plugin"),
                 qPrintable(card->why));
    }
    void aRunThatIsWellHasNoCard()
    {
        RunEntry run = failedRun(0, {});
        run.state = RunState::Completed;
        QVERIFY(!cardForRun(run, {}).has_value());
    }
};

VERGENCE_TEST(TestErrorCatalogue)
#include "tst_error_catalogue.moc"
