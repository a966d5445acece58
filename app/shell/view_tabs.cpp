#include "app/shell/view_tabs.h"

#include <QEvent>
#include <QFileInfo>

#include "app/style/icons.h"

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
    connect(&runs, &RunListModel::runRenamed, this, &ViewTabs::showState);
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

MeshView* ViewTabs::openMesh(const QString& path)
{
    for (int i = 0; i < count(); ++i) {
        auto* view = qobject_cast<MeshView*>(widget(i));
        if (view == nullptr || view->path() != path)
            continue;
        view->reload();
        setCurrentWidget(view);
        return view;
    }
    auto* view = new MeshView(path, this);
    const int index = addTab(view, tintedIcon("mesh", palette()), QFileInfo(path).fileName());
    setTabToolTip(index, path);
    Q_EMIT meshOpened(view);
    setCurrentIndex(index);
    return view;
}

std::vector<RunView*> ViewTabs::runs() const
{
    std::vector<RunView*> views;
    for (int i = 0; i < count(); ++i)
        if (auto* view = qobject_cast<RunView*>(widget(i)))
            views.push_back(view);
    return views;
}

RunView* ViewTabs::find(const QString& runId) const
{
    for (RunView* view : runs())
        if (view->runId() == runId)
            return view;
    return nullptr;
}

RunView* ViewTabs::current() const
{
    return qobject_cast<RunView*>(currentWidget());
}

ViewPanel* ViewTabs::currentPanel() const
{
    if (auto* mesh = qobject_cast<MeshView*>(currentWidget()))
        return &mesh->panel();
    RunView* run = current();
    return run == nullptr ? nullptr : &run->panel();
}

void ViewTabs::closeRun(const QString& runId)
{
    if (RunView* view = find(runId))
        closeTab(indexOf(view));
}

void ViewTabs::changeEvent(QEvent* event)
{
    QTabWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange)
        return;
    for (int i = 0; i < count(); ++i) {
        if (auto* view = qobject_cast<RunView*>(widget(i)))
            showState(view->runId());
        else
            setTabIcon(i, tintedIcon("mesh", palette()));
    }
}

void ViewTabs::closeTab(int index)
{
    QWidget* view = widget(index);
    auto* run = qobject_cast<RunView*>(view);
    const QString id = run == nullptr ? QString() : run->runId();
    removeTab(index);
    delete view;
    if (!id.isEmpty())
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
