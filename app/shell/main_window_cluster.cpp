// Runs that work on targets: where a run starts, what becomes of it there, what of it comes here.

#include <QMessageBox>
#include <QStatusBar>

#include "app/shell/error_catalogue.h"
#include "app/shell/main_window.h"
#include "app/shell/target_choice.h"
#include "app/shell/targets_dialog.h"
#include "core/base/log.h"
#include "core/cluster/target.h"

namespace vergence {

void MainWindow::connectCluster()
{
    TargetChoice& place = m_setup->place();
    place.choose(m_settings.target());
    takeTargets();
    connect(&place, &TargetChoice::targetChosen, this, [this](const QString& target) {
        m_settings.setTarget(target);
        updateActions();
    });
    connect(m_setup, &SetupPanel::targetsRequested, this, &MainWindow::openTargets);
    connect(&m_submitter, &RunSubmitter::submittingChanged, this, &MainWindow::updateActions);
    connect(&m_submitter, &RunSubmitter::submitted, this, &MainWindow::takeSubmitted);
    connect(&m_submitter, &RunSubmitter::refused, this,
            [this](const QString& sentence, const QString& id) {
                statusBar()->clearMessage();
                refuse(cardForCluster(sentence), id);
            });
    connect(&m_submitter, &RunSubmitter::cancelled, this, [this](const QStringList& ids) {
        statusBar()->clearMessage();
        for (const QString& id : ids)
            m_runs.lookAgain(id);
        m_jobs.askSoon();
    });
    connect(&m_jobs, &JobWatch::queueSilent, this, [this](const QString&, const QString& sentence) {
        note({IssueSeverity::Warning, "E-QUEUE", sentence, {}, {}, tr("Targets"), {}});
    });
    connect(&m_jobs, &JobWatch::queueAnswers, this, [this](const QString& login) {
        say(login.isEmpty() ? tr("The queue answers again.")
                            : tr("The queue of %1 answers again.").arg(login));
    });
}

void MainWindow::connectRemotes()
{
    const auto refused = [this](const QString& sentence, const QString& id) {
        statusBar()->clearMessage();
        m_remotes.takeBack(id);
        refuse(cardForCluster(sentence), id);
    };
    connect(&m_fetcher, &RunFetcher::refused, this, refused);
    connect(&m_fetcher, &RunFetcher::fetched, this, [this](const QString& id) {
        m_runs.lookAgain(id);
        if (const RunEntry* run = m_runs.find(id))
            say(tr("The results of %1 are here.").arg(run->name));
    });
    connect(&m_fetcher, &RunFetcher::cameHome, this, [this](const QString& id) {
        statusBar()->clearMessage();
        m_runs.lookAgain(id);
        m_remotes.takeBack(id);
        if (m_runs.find(id) != nullptr)
            resumeHere(id);
    });
    connect(&m_remotes, &RemoteWatch::linkSilent, this, [this](const QString& sentence) {
        note({IssueSeverity::Warning, "E-LINK", sentence, {}, {}, tr("Targets"), {}});
    });
    connect(&m_remotes, &RemoteWatch::linkAnswers, this,
            [this](const QString& targets) { say(tr("%1 answers again.").arg(targets)); });
}

void MainWindow::fetchResults(const QString& id)
{
    const RunEntry& run = *m_runs.find(id);
    statusBar()->showMessage(tr("Fetching the results of %1 from %2…").arg(run.name, run.target()));
    m_fetcher.fetch(id);
}

void MainWindow::bringHome(const QString& id)
{
    const RunEntry& run = *m_runs.find(id);
    statusBar()->showMessage(tr("Bringing %1 from %2…").arg(run.name, run.target()));
    m_remotes.leave(id);
    m_fetcher.bringHome(id);
}

/// The worker runs for a while; the window goes on.
void MainWindow::forecastDraft()
{
    if (!hasRightDraft())
        return;
    const QString target = m_setup->place().target();
    m_forecast = new CommandCall(m_executable, this);
    connect(m_forecast, &CommandCall::answered, this, &MainWindow::takeForecast);
    updateActions();
    statusBar()->showMessage(
        target.isEmpty()
            ? tr("Measuring the first 20 s of a run of this setup…")
            : tr("Measuring the first 20 s of a run of this setup on %1…").arg(target));
    m_forecast->start(forecastArguments(m_setup->draft(), target) +
                      pluginArguments(m_options.pluginFolders));
}

void MainWindow::takeForecast(const CommandAnswer& answer)
{
    m_forecast->deleteLater();
    m_forecast = nullptr;
    statusBar()->clearMessage();
    updateActions();
    if (!answer.isGood())
        return refuse(m_setup->place().target().isEmpty()
                          ? cardForRefusal("E-START", answer.refusal)
                          : cardForCluster(answer.refusal));
    auto* box = new QMessageBox(QMessageBox::Information, tr("Forecast"),
                                QString::fromUtf8(answer.output).trimmed(), QMessageBox::Ok, this);
    box->setObjectName("forecastBox");
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

void MainWindow::submit(const std::vector<RunDraft>& drafts)
{
    const QString target = m_setup->place().target();
    m_setup->clearRefusal();
    statusBar()->showMessage(tr("Submitting to %1…").arg(target));
    try {
        m_submitter.submit(target, drafts);
    } catch (const Error& error) {
        statusBar()->clearMessage();
        refuse(cardForCluster(QString::fromUtf8(error.what())));
    }
}

void MainWindow::submitAgain(const QString& id, const QString& assignment)
{
    const QString target = m_runs.find(id)->target();
    statusBar()->showMessage(tr("Submitting to %1…").arg(target));
    m_submitter.resume(id, assignment);
}

void MainWindow::takeSubmitted(const SubmittedRuns& runs)
{
    const auto count = runs.folders.size();
    QString firstId;
    if (count > 0) {
        firstId = m_runs.addFolder(runs.folders.front());
        m_runs.lookAgain(firstId); // it may be listed since before its job was known
        followNew(firstId, false);
    }
    if (count > 1)
        m_runs.rescan();
    m_jobs.askSoon();
    const RunEntry* run = count == 0 ? nullptr : m_runs.find(firstId);
    const QString job = run != nullptr && run->job && run->job->scheduler == Scheduler::Lanes
                            ? tr("Submitted to %1").arg(runs.target) // its jobs are no names
                            : tr("Submitted as job %1").arg(runs.job);
    say(count == 1 ? job + '.' : tr("%1: %2 runs.").arg(job).arg(count));
}

/// Runs that wait in a queue leave it; live ones end after their step.
void MainWindow::stopRuns(const QStringList& ids)
{
    QStringList queued;
    for (const QString& id : ids) {
        const RunEntry* run = m_runs.find(id);
        if (run == nullptr || !isAllowed(RunAction::Stop, *run))
            continue;
        if (run->state == RunState::Queued)
            queued << id;
        else
            clientOf(id)->stop();
    }
    if (queued.isEmpty())
        return;
    statusBar()->showMessage(
        tr("Taking %n run(s) out of the queue…", nullptr, static_cast<int>(queued.size())));
    m_submitter.cancel(queued);
}

void MainWindow::openTargets()
{
    if (auto* open = findChild<TargetsDialog*>())
        return open->raise();
    TargetChoice& place = m_setup->place();
    auto* dialog = new TargetsDialog(m_executable, place.target(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &TargetsDialog::targetsChanged, this, &MainWindow::takeTargets);
    connect(dialog, &TargetsDialog::targetRenamed, &place,
            [&place](const QString& from, const QString& to) {
                place.choose(place.target() == from ? to : place.target());
            });
    dialog->show();
}

void MainWindow::takeTargets()
{
    m_setup->place().reload();
    QStringList folders;
    for (const std::string& name : targetNames()) {
        try {
            if (const Target target = readTarget(name).target; target.disk == Disk::Shared)
                folders << QString::fromStdString(target.folder);
        } catch (const Error& error) {
            log("shell").warn("The target {} cannot be read. {}", name, error.what());
        }
    }
    folders.removeAll(QString());
    m_runs.setFurtherFolders(folders);
}

} // namespace vergence
