#include "app/shell/status_buttons.h"

#include <initializer_list>

#include <QHBoxLayout>
#include <QProgressBar>
#include <QStatusBar>
#include <QToolButton>

namespace vergence {

namespace {

/// "  on n1, job 1234_7 (gpu)" of a run that does not work on this computer.
QString whereText(const RunEntry& run)
{
    QStringList words;
    const bool saysSoItself = run.state == RunState::Starting || run.isUnreached();
    if (run.isElsewhere() && isLive(run.state) && !saysSoItself)
        words << StatusButtons::tr("on %1").arg(run.host);
    const bool isThere = run.state == RunState::Queued || run.isElsewhere();
    if (isThere && !jobText(run).isEmpty())
        words << StatusButtons::tr("job %1").arg(jobText(run));
    else if (isThere && run.isSubmitted())
        words << StatusButtons::tr("target %1").arg(run.target());
    return words.isEmpty() ? QString() : "  " + words.join(", ");
}

QString progressText(const RunEntry& run)
{
    if (!isLive(run.state) || run.state == RunState::Starting)
        return run.name + ": " + stateText(run);
    QString text = StatusButtons::tr("%1: step %L2").arg(run.name).arg(run.step);
    if (run.total > 0)
        text += StatusButtons::tr("/%L1  %2 %").arg(run.total).arg(100 * run.step / run.total);
    if (run.state != RunState::Running || run.isUnreached())
        text += "  " + stateText(run);
    const double left = run.session == nullptr ? -1 : run.session->secondsLeft();
    return left < 0 ? text : text + StatusButtons::tr("  ~%1 left").arg(durationText(left));
}

QString runText(const RunEntry& run)
{
    return progressText(run) + whereText(run);
}

} // namespace

StatusButtons::StatusButtons(QStatusBar& bar) : QObject(&bar)
{
    auto* current = new QWidget(&bar); // goes as a whole while the bar shows a message
    auto* row = new QHBoxLayout(current);
    row->setContentsMargins(0, 0, 0, 0);
    m_run = add("statusRun", tr("The current run; opens the list of runs"), "runsDock");
    m_progress = new QProgressBar(current);
    m_progress->setMaximumWidth(160);
    m_progress->setRange(0, 1000);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Progress of the current run"));
    m_rate = add("statusRate", tr("Steps per second; opens the charts"), "chartsDock");
    for (QWidget* part : std::initializer_list<QWidget*>{m_run, m_progress, m_rate})
        row->addWidget(part);
    bar.addWidget(current);
    m_device = add("statusDevice", tr("Devices of this computer"), "devicesDock");
    m_preview = add("statusPreview", tr("How pictures reach the view; opens the inspector"),
                    "inspectorDock");
    m_bell = add("statusBell", tr("Problems"), "problemsDock");
    for (QWidget* part : {m_device, m_preview, m_bell})
        bar.addPermanentWidget(part);
    showRun(nullptr, 0);
    m_device->setText(tr("Devices"));
    m_preview->setText(tr("Preview: none"));
    showProblems(0);
}

QToolButton* StatusButtons::add(const char* name, const QString& tip, const QString& dock)
{
    auto* button = new QToolButton;
    button->setObjectName(name);
    button->setAutoRaise(true);
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    connect(button, &QToolButton::clicked, this, [this, dock] { Q_EMIT dockRequested(dock); });
    return button;
}

void StatusButtons::showRun(const RunEntry* run, int liveCount)
{
    const bool showsProgress = run != nullptr && isLive(run->state);
    QString text = run == nullptr ? tr("No run selected") : runText(*run);
    if (liveCount > 1)
        text += tr("  (%1 runs going on)").arg(liveCount);
    m_run->setText(text);
    // Without a known total there is no bar: one that only moves would repaint 30 times a second.
    const bool knowsTotal = showsProgress && run->total > 0;
    m_progress->setVisible(knowsTotal);
    if (knowsTotal)
        m_progress->setValue(static_cast<int>(1000 * run->step / run->total));
    const double rate =
        showsProgress && run->session != nullptr ? run->session->stepsPerSecond() : 0;
    m_rate->setVisible(rate > 0);
    m_rate->setText(tr("%1 it/s").arg(rate, 0, 'g', 3));
}

void StatusButtons::showDevices(const SystemReading& reading)
{
    m_device->setText(reading.gpus.empty()
                          ? tr("GPU: none (CPU %1 %)").arg(qRound(reading.systemCpuPercent))
                          : tr("GPU: %1").arg(QString::fromStdString(reading.gpus.front().name)));
}

void StatusButtons::showPreview(const QString& transport)
{
    m_preview->setText(tr("Preview: %1").arg(transport.isEmpty() ? tr("none") : transport));
}

void StatusButtons::showProblems(int count)
{
    m_bell->setText(count == 1 ? tr("1 problem") : tr("%1 problems").arg(count));
}

} // namespace vergence
