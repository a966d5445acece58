#include "app/shell/view_tabs.h"

#include <QEvent>

#include "app/shell/icons.h"

namespace vergence {

ViewTabs::ViewTabs(RunListModel& runs, QWidget* parent) : QTabWidget(parent), m_runs(runs)
{
    setObjectName("viewTabs");
    setDocumentMode(true);
    setTabsClosable(true);
    setMovable(true);
    setElideMode(Qt::ElideMiddle);
    connect(this, &QTabWidget::tabCloseRequested, this, &ViewTabs::closeTab);
    connect(this, &QTabWidget::currentChanged, this, [this] {
        Q_EMIT currentRunChanged(current() == nullptr ? QString() : current()->runId());
    });
    connect(&runs, &RunListModel::runStateChanged, this, &ViewTabs::showState);
}

RunView* ViewTabs::open(const QString& runId)
{
    if (RunView* view = find(runId)) {
        setCurrentWidget(view);
        return view;
    }
    if (m_runs.session(runId) == nullptr)
        return nullptr;
    auto* view = new RunView(m_runs, runId, this);
    const RunEntry* run = m_runs.find(runId);
    const int index = addTab(view, run->name);
    setTabToolTip(index, runId);
    Q_EMIT viewOpened(view);
    setCurrentIndex(index);
    showState(runId);
    return view;
}

RunView* ViewTabs::find(const QString& runId) const
{
    for (int i = 0; i < count(); ++i)
        if (auto* view = static_cast<RunView*>(widget(i)); view->runId() == runId)
            return view;
    return nullptr;
}

RunView* ViewTabs::current() const
{
    return static_cast<RunView*>(currentWidget());
}

void ViewTabs::closeRun(const QString& runId)
{
    if (RunView* view = find(runId))
        closeTab(indexOf(view));
}

void ViewTabs::changeEvent(QEvent* event)
{
    QTabWidget::changeEvent(event);
    for (int i = 0; event->type() == QEvent::PaletteChange && i < count(); ++i)
        showState(static_cast<RunView*>(widget(i))->runId());
}

void ViewTabs::closeTab(int index)
{
    auto* view = static_cast<RunView*>(widget(index));
    const QString id = view->runId();
    removeTab(index);
    delete view;
    Q_EMIT viewClosed(id);
}

void ViewTabs::showState(const QString& runId)
{
    RunView* view = find(runId);
    const RunEntry* run = m_runs.find(runId);
    if (view == nullptr || run == nullptr)
        return;
    setTabIcon(indexOf(view), tintedIcon(stateIcon(run->state), palette()));
    setTabText(indexOf(view), run->name);
}

} // namespace vergence
