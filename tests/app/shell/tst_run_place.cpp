#include <QTemporaryDir>
#include <QTest>

#include "app/shell/error_catalogue.h"
#include "app/shell/runs_panel.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

const Job kJob{"uni", "ada@login", "1234", 7};

RunPlacement placed(RunState state, const std::string& text)
{
    RunPlacement place;
    place.state = state;
    place.text = text;
    place.job = kJob;
    return place;
}

RunEntry submitted(RunState written)
{
    RunEntry run;
    run.id = run.name = "run";
    run.folder.root = "/nowhere/run";
    run.job = kJob;
    run.isLoaded = true;
    run.setWritten(written);
    return run;
}

} // namespace

/// What the list of runs says of runs that were submitted to a cluster.
class TestRunPlace : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aWaitingRunSaysWhy()
    {
        RunEntry run = submitted(RunState::Queued);
        QCOMPARE(stateText(run), QString("Queued"));
        run.setPlacement(placed(RunState::Queued, "Queued (other jobs go first)"));
        QCOMPARE(stateText(run), QString("Queued (other jobs go first)"));
        run.queueNote = "the queue has not answered since 12:04";
        QCOMPARE(stateText(run), QString("Queued (the queue has not answered since 12:04)"));
        QCOMPARE(jobText(run), QString("1234_7 (uni)"));
    }
    void aRunThatGoesBackIntoTheQueueWaits()
    {
        for (const RunState written : {RunState::Stopped, RunState::Lost, RunState::Failed}) {
            RunEntry run = submitted(written);
            QVERIFY(isAllowed(RunAction::Resume, run));
            run.setPlacement(placed(RunState::Queued, "Queued (it waits for its time to begin)"));
            QCOMPARE(run.state, RunState::Queued);
            QVERIFY(!isAllowed(RunAction::Resume, run));
            QVERIFY(isAllowed(RunAction::Stop, run));
            run.setWritten(RunState::Running);
            run.setWritten(RunState::Stopped); // what the queue said is old by now
            QCOMPARE(run.state, RunState::Stopped);
        }
        RunEntry completed = submitted(RunState::Completed);
        completed.setPlacement(placed(RunState::Queued, "Queued"));
        QCOMPARE(completed.state, RunState::Completed);
    }
    void aLiveRunSaysWhere()
    {
        RunEntry run = submitted(RunState::Running);
        run.host = "n1";
        run.slurmJob = "slurm 1234_7";
        QVERIFY(run.isElsewhere());
        QCOMPARE(stateText(run), QString("Running on n1"));
        run.phase = "loading data";
        QCOMPARE(stateText(run), QString("Running on n1: loading data"));
        run.host = QString::fromStdString(currentHost());
        run.slurmJob.clear();
        QVERIFY(!run.isElsewhere());
        QCOMPARE(stateText(run), QString("Running: loading data"));
    }
    void aRunOfThisComputerIsNotResumedElsewhere()
    {
        RunEntry run = submitted(RunState::Stopped);
        QVERIFY(isAllowed(RunAction::ResumeHere, run));
        run.job.reset();
        QVERIFY(!isAllowed(RunAction::ResumeHere, run));
        QVERIFY(!isAllowed(RunAction::Resume, run)); // there is no checkpoint
    }
    void theCardOfAJobThatNeverBeganSubmitsAgain()
    {
        RunEntry run = submitted(RunState::Failed);
        run.problemId = "E-JOB";
        run.problem = "Its job 1234_7 ended before the run began: its node failed.";
        const auto card = cardForRun(run, {});
        QVERIFY(card.has_value());
        QCOMPARE(card->whatHappened, run.problem);
        QCOMPARE(card->buttons.front().action, QString("resume"));
        QCOMPARE(card->buttons.front().text, QString("Submit again"));
    }
};

VERGENCE_WINDOW_TEST(TestRunPlace)
#include "tst_run_place.moc"
