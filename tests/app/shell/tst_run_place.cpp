#include <QDateTime>
#include <QTemporaryDir>
#include <QTest>

#include "app/shell/error_catalogue.h"
#include "app/shell/runs_panel.h"
#include "core/base/file.h"
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

/// What the other side said of a run, and what its folder here says.
RunEntry copied(const std::string& there, RunState written)
{
    RunEntry run = submitted(written);
    run.job.reset();
    RemoteRun remote{"gpu07", "ada@gpu07", "/opt/vergence", "/data/run"};
    remote.state = remote.text = there;
    run.setRemote(remote);
    return run;
}

} // namespace

/// What the list of runs says of runs that were submitted to targets.
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
    void aRunInALaneSaysItsTarget()
    {
        RunEntry run = submitted(RunState::Queued);
        run.job->scheduler = Scheduler::Lanes;
        QCOMPARE(jobText(run), QString());
        QCOMPARE(run.target(), QString("uni"));
    }
    void aCopyIsElsewhereWhateverItsHost()
    {
        const RunEntry run = copied("Running", RunState::Running);
        QVERIFY(run.isElsewhere() && run.isSubmitted() && !run.job);
        QCOMPARE(run.target(), QString("gpu07"));
        QCOMPARE(stateText(run), QString("Running"));
        QVERIFY(isAllowed(RunAction::Fetch, run));
        QVERIFY(!isAllowed(RunAction::Fetch, submitted(RunState::Running)));
    }
    void aCopyThatIsNotReachedSaysSinceWhen()
    {
        RunEntry run = copied("Running", RunState::Running);
        run.host = "n1";
        RemoteRun there = *run.remote;
        there.unreachedSince =
            static_cast<double>(QDateTime(QDate(2026, 3, 2), QTime(12, 4)).toSecsSinceEpoch());
        run.setRemote(there);
        const QString since = momentText(there.unreachedSince);
        QVERIFY2(since.contains("12:04"), qPrintable(since));
        QCOMPARE(stateText(run), QString("Running on n1, not reached since " + since));
        run.setWritten(RunState::Completed); // there is no more to be reached for
        QCOMPARE(stateText(run), QString("Completed"));
    }
    void anEndThatTheOtherSideToldIsTheEnd()
    {
        RunEntry run = copied("Running", RunState::Running);
        RemoteRun there = *run.remote;
        there.state = "Stopped";
        there.problem = "Its job 12 was cancelled.";
        run.setRemote(there);
        QCOMPARE(run.state, RunState::Stopped);
        QCOMPARE(run.problem, QString("Its job 12 was cancelled."));
        run.setProblem({}); // a worker that had no time to say why
        QCOMPARE(run.problemId, QString("E-JOB"));
        RunStatus status;
        status.problem = "The disk is full.";
        status.problemId = "E-DISK";
        run.setProblem(status);
        QCOMPARE(run.problem, QString("The disk is full."));
        QVERIFY(isAllowed(RunAction::Resume, run) && isAllowed(RunAction::ResumeHere, run));
    }
    void aCopyWaitsUntilItsWorkerIsThere()
    {
        RunEntry run = copied("Queued", RunState::Stopped);
        QCOMPARE(run.state, RunState::Queued);
        QVERIFY(isAllowed(RunAction::Stop, run));
        QVERIFY(!isAllowed(RunAction::MarkStopped, run));
        run.setWritten(RunState::Running); // what the other side said last is older
        QCOMPARE(run.state, RunState::Running);
        run.setWritten(RunState::Stopped);
        QCOMPARE(run.state, RunState::Stopped);
    }
    void aCopyWhoseRunGoesOnThereIsNotStopped()
    {
        RunEntry run = copied("Starting", RunState::Stopped); // its folder here is older
        QCOMPARE(run.state, RunState::Starting);
        RemoteRun there = *run.remote;
        there.unreachedSince = 5;
        run.setRemote(there);
        QVERIFY(run.isUnreached());
        run.setWritten(RunState::Completed);
        QCOMPARE(run.state, RunState::Completed);
    }
    void aLostCopyIsSubmittedAgainAndNotMarked()
    {
        const RunEntry run = copied("Lost", RunState::Running);
        QCOMPARE(run.state, RunState::Lost);
        QVERIFY(!isAllowed(RunAction::MarkStopped, run));
        const auto card = cardForRun(run, {});
        QVERIFY(card.has_value());
        QCOMPARE(card->buttons.front().text, QString("Submit again"));
        for (const auto& button : card->buttons)
            QVERIFY(button.action != "mark_stopped");
    }
    void aDamagedNoteOfItsPlaceIsSaid()
    {
        const QTemporaryDir home;
        const RunFolder folder = RunFolder::createAt(home.filePath("run").toStdString());
        RunStatus status;
        status.state = "Running";
        writeStatus(folder, status);
        writeFileAtomic(remoteFile(folder), "{\"login\": 7}");
        const RunEntry run = loadRunEntry(folder);
        QCOMPARE(run.state, RunState::Lost);
        QVERIFY2(run.problem.contains("remote.json is damaged"), qPrintable(run.problem));
        QVERIFY(!run.isAlive);
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
