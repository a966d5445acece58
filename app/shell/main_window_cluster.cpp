// Runs that work on clusters: where a run starts, what becomes of it in the queue.

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
        note({IssueSeverity::Warning, "E-QUEUE", sentence, {}, {}, {}, {}});
    });
    connect(&m_jobs, &JobWatch::queueAnswers, this, [this](const QString& login) {
        say(login.isEmpty() ? tr("The queue answers again.")
                            : tr("The queue of %1 answers again.").arg(login));
    });
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
    const QString target = QString::fromStdString(m_runs.find(id)->job->target);
    statusBar()->showMessage(tr("Submitting to %1…").arg(target));
    m_submitter.resume(id, assignment);
}

void MainWindow::takeSubmitted(const SubmittedRuns& runs)
{
    const auto count = runs.folders.size();
    if (count > 0) {
        const QString first = m_runs.addFolder(runs.folders.front());
        m_runs.lookAgain(first); // it may be listed since before its job was known
        followNew(first, false);
    }
    if (count > 1)
        m_runs.rescan();
    m_jobs.askSoon();
    say(count == 1 ? tr("Submitted as job %1.").arg(runs.job)
                   : tr("Submitted as job %1: %2 runs.").arg(runs.job).arg(count));
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
            folders << QString::fromStdString(readTarget(name).target.folder);
        } catch (const Error& error) {
            log("shell").warn("The target {} cannot be read. {}", name, error.what());
        }
    }
    folders.removeAll(QString());
    m_runs.setFurtherFolders(folders);
}

} // namespace vergence
