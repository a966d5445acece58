#include "app/shell/run_view.h"

#include <QLabel>
#include <QVBoxLayout>

#include "app/shell/error_catalogue.h"
#include "app/shell/mesh_artifacts.h"
#include "app/shell/run_stages.h"
#include "app/shell/runs_panel.h"
#include "app/shell/success_bar.h"

namespace vergence {

namespace {

constexpr int kMostCards = 3; ///< more would push the view out of sight; Problems has them all
constexpr int kLogTail = 12;
constexpr int kArtifactsMs = 100; ///< hundreds of results may be named at once

QString causeOf(const RunEntry& run)
{
    return QString("%1 %2 %3").arg(run.problemId, run.problem).arg(run.exitCode.value_or(-1));
}

} // namespace

RunView::RunView(RunListModel& runs, const QString& runId, QWidget* parent)
    : QWidget(parent),
      m_runs(runs),
      m_id(runId),
      m_session(*runs.session(runId))
{
    m_success = new SuccessBar(this);
    m_stages = new RunStages(this);
    m_age = new QLabel(this);
    m_age->setObjectName("pictureAge");
    m_age->setContentsMargins(10, 2, 10, 2);
    m_age->hide();
    m_panel = new ViewPanel(this);
    m_pump = new FramePump(m_session.client(), *m_panel, this);
    m_cards = new QVBoxLayout;
    m_cards->setSpacing(4);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addLayout(m_cards);
    column->addWidget(m_success);
    column->addWidget(m_stages);
    column->addWidget(m_age);
    column->addWidget(m_panel, 1);
    connect(m_pump, &FramePump::frameShown, this, &RunView::showAge);
    const auto forward = [this](const QString& action) {
        return [this, action] { Q_EMIT actionRequested(m_id, action); };
    };
    connect(m_success, &SuccessBar::resumeRequested, this, forward("resume"));
    connect(m_success, &SuccessBar::compareRequested, this, forward("compare"));
    connect(m_success, &SuccessBar::exportRequested, this, forward("export"));
    connect(m_success, &SuccessBar::againRequested, this, forward("again"));
    connect(&m_runs, &RunListModel::runStateChanged, this,
            [this](const QString& id, RunState state) {
                if (id == m_id)
                    takeState(state);
            });
    connect(&m_session.client(), &RunClient::progressChanged, this, &RunView::showMessage);
    m_artifactsSoon.setSingleShot(true);
    m_artifactsSoon.setInterval(kArtifactsMs);
    connect(&m_artifactsSoon, &QTimer::timeout, this, [this] {
        m_panel->setMeshes(meshesOf(m_session.client().artifacts(), m_session.client().folder()));
        showRecorded();
        showStages(); // the tables of a finished run come with its artifacts
    });
    connect(&m_session.client(), &RunClient::artifactsChanged, this, [this] {
        if (!m_artifactsSoon.isActive())
            m_artifactsSoon.start();
    });
    connect(&m_session.client(), &RunClient::tableChanged, this, &RunView::showStages);
    connect(&m_runs, &RunListModel::runProgressed, this, [this](const QString& id) {
        // Cause and exit code may arrive a moment after the state they explain.
        const RunEntry* run = id == m_id ? m_runs.find(id) : nullptr;
        if (run != nullptr && run->hasEnded() && causeOf(*run) != m_shownCause)
            takeState(run->state);
        if (run != nullptr)
            showAge();
        if (run != nullptr && run->state == RunState::Queued)
            showMessage(); // its place in the queue
    });
    connect(&m_session, &RunSession::problemAdded, this, [this](const RunProblem& problem) {
        const RunEntry* run = m_runs.find(m_id);
        if (run == nullptr || !isLive(run->state))
            return; // the card of the state says it already
        if (const auto card = cardForProblem(problem.id, problem.sentence))
            addCard(*card);
    });
    takeState(m_runs.find(m_id)->state);
    m_artifactsSoon.start(); // after the streams
}

void RunView::showStages()
{
    const RunEntry* run = m_runs.find(m_id);
    m_stages->showStages(
        stagesOf(m_session.client().tables(), run != nullptr && isLive(run->state)));
}

void RunView::setPlugin(const PluginInfo& plugin)
{
    m_pump->setPluginStreams(plugin.streams);
    m_metrics = plugin.metrics;
}

void RunView::takeState(RunState state)
{
    const RunEntry* run = m_runs.find(m_id);
    if (run == nullptr)
        return;
    const bool isLiveNow = isLive(state);
    if (isLiveNow || state == RunState::Queued) {
        clearCards();
        m_success->hide();
        m_pump->showRecorded({});
    }
    const bool hasJustEnded =
        m_sawLive && (state == RunState::Completed || state == RunState::Stopped);
    const auto safe = state == RunState::Stopped ? newestCheckpointStep(run->folder) : std::nullopt;
    m_success->offerResume(safe);
    if (hasJustEnded || safe) // whoever meets a stopped run may let it go on
        m_success->showResult(successSentence(*run, m_session.client().metrics(), m_metrics),
                              m_pump->hasPictures());
    m_shownCause = causeOf(*run);
    if (const auto card = cardForRun(*run, lastLogLines())) {
        clearCards();
        addCard(*card);
    }
    m_sawLive = isLiveNow;
    showAge();
    showStages();
    showMessage();
}

/// A run without a checkpoint, as from a bundle, has the pictures that it wrote.
void RunView::showRecorded()
{
    const RunEntry* run = m_runs.find(m_id);
    const RunClient& client = m_session.client();
    if (run == nullptr || !run->hasEnded() || client.isConnected() ||
        isAllowed(RunAction::Explore, *run) || m_pump->framesShown() > 0)
        return;
    m_pump->showRecorded(recordedPictures(client.artifacts(), client.streams(), client.folder()));
    showMessage();
}

void RunView::showMessage()
{
    const RunEntry* run = m_runs.find(m_id);
    if (run == nullptr)
        return;
    if (run->state == RunState::Starting || run->state == RunState::Queued)
        m_panel->setMessage(stateText(*run));
    else if (isLive(run->state))
        m_panel->setMessage(tr("No picture yet. The charts show the numbers as they come."));
    else if (m_session.client().isConnected())
        m_panel->setMessage(tr("Loading the result. What the run did not make stays empty."));
    else if (isAllowed(RunAction::Explore, *run))
        m_panel->setMessage(tr("Nothing to show yet. Run → Explore opens the result of this run."));
    else if (run->remote)
        m_panel->setMessage(tr("This run has no pictures here. Run → Fetch results brings what it "
                               "has on %1.")
                                .arg(run->target()));
    else
        m_panel->setMessage(
            tr("This run has no pictures here, and no checkpoint to make them from. "
               "The charts show its numbers."));
}

/// A picture says when it is older than the run. While the run goes on the next one is on its way;
/// labs count the step of a picture from none or from one.
void RunView::showAge()
{
    const RunEntry* run = m_runs.find(m_id);
    const auto step = m_pump->shownStep();
    const bool isOnItsWay = run != nullptr && isLive(run->state) && m_pump->isFresh();
    const bool isOld = run != nullptr && step && *step + 1 < run->step && !isOnItsWay;
    m_age->setVisible(isOld);
    if (isOld)
        m_age->setText(tr("The picture is of step %L1; the run stands at step %L2.")
                           .arg(*step)
                           .arg(run->step));
}

QStringList RunView::lastLogLines() const
{
    QStringList lines;
    const LogModel& log = m_session.log();
    for (int row = std::max(0, log.rowCount() - kLogTail); row < log.rowCount(); ++row)
        lines << log.row(row).time.mid(11, 8) + " " + log.row(row).source + ": " +
                     log.row(row).text;
    return lines;
}

void RunView::addCard(const CardContent& content)
{
    for (int i = 0; i < m_cards->count(); ++i) {
        const auto* other = static_cast<ErrorCard*>(m_cards->itemAt(i)->widget());
        if (other->content().id == content.id &&
            other->content().whatHappened == content.whatHappened)
            return;
    }
    while (m_cards->count() >= kMostCards) {
        QWidget* oldest = m_cards->takeAt(m_cards->count() - 1)->widget();
        oldest->deleteLater();
    }
    auto* card = new ErrorCard(content, this);
    m_cards->insertWidget(0, card);
    connect(card, &ErrorCard::dismissed, card, &QWidget::deleteLater);
    connect(card, &ErrorCard::actionRequested, this,
            [this](const QString& action) { Q_EMIT actionRequested(m_id, action); });
}

void RunView::clearCards()
{
    while (QLayoutItem* item = m_cards->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater();
        delete item;
    }
}

void RunView::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    m_pump->setVisible(true);
}

void RunView::hideEvent(QHideEvent* event)
{
    QWidget::hideEvent(event);
    m_pump->setVisible(false);
}

} // namespace vergence
