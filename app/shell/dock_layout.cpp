#include "app/shell/dock_layout.h"

#include <algorithm>

#include <QAction>
#include <QDockWidget>
#include <QMainWindow>

#include "core/base/error.h"

namespace vergence {

namespace {

/// Raised when docks are added or renamed; older states are then not restored.
constexpr int kStateVersion = 1;

/// Which docks a layout shows; the first of each area is on top of its tabs. Sizes are shares of
/// the window.
struct Arrangement {
    QStringList shown;
    double left, right, bottom;
};

Arrangement arrangementOf(const QString& layout)
{
    if (layout == QLatin1String("Setup"))
        return {{"runsDock", "setupDock", "inspectorDock", "problemsDock", "queueDock"},
                0.2,
                0.34,
                0.2};
    if (layout == QLatin1String("Inspect"))
        return {{"runsDock", "inspectorDock", "setupDock"}, 0.2, 0.26, 0.2};
    if (layout == QLatin1String("Compare"))
        return {{"runsDock", "chartsDock", "logDock"}, 0.24, 0.2, 0.5};
    if (layout == QLatin1String("Present"))
        return {{}, 0.2, 0.2, 0.2};
    return {{"runsDock", "setupDock", "inspectorDock", "chartsDock", "logDock", "queueDock",
             "devicesDock", "problemsDock"},
            0.2,
            0.27,
            0.33};
}

} // namespace

void focusInto(QWidget& pane)
{
    for (QWidget* at = pane.nextInFocusChain(); at != &pane; at = at->nextInFocusChain()) {
        const bool takesFocus = (at->focusPolicy() & Qt::TabFocus) != 0;
        if (pane.isAncestorOf(at) && takesFocus && at->isEnabled() && at->isVisibleTo(&pane))
            return at->setFocus(Qt::ShortcutFocusReason);
    }
    pane.setFocus(Qt::ShortcutFocusReason);
}

DockLayout::DockLayout(QMainWindow& window) : QObject(&window), m_window(window)
{
    window.setDockOptions(QMainWindow::AllowTabbedDocks | QMainWindow::AllowNestedDocks |
                          QMainWindow::GroupedDragging);
    window.setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    window.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
}

QDockWidget* DockLayout::add(const QString& objectName, const QString& title, QWidget* content,
                             Qt::DockWidgetArea area)
{
    auto* dock = new QDockWidget(title, &m_window);
    dock->setObjectName(objectName);
    dock->setWidget(content);
    m_docks.push_back({objectName, dock, area});
    dock->toggleViewAction()->setObjectName("action/" + objectName);
    return dock;
}

QDockWidget* DockLayout::dock(const QString& objectName) const
{
    const auto found =
        std::find_if(m_docks.begin(), m_docks.end(),
                     [&objectName](const Placed& placed) { return placed.name == objectName; });
    expects(found != m_docks.end(), "dock: unknown name " + objectName.toStdString());
    return found->dock;
}

void DockLayout::setTitle(const QString& objectName, const QString& title)
{
    dock(objectName)->setWindowTitle(title);
}

void DockLayout::reveal(const QString& objectName)
{
    QDockWidget* shown = dock(objectName);
    shown->show();
    shown->raise();
    focusInto(*shown->widget());
}

QStringList DockLayout::visiblePanes() const
{
    QStringList names;
    for (const Qt::DockWidgetArea area :
         {Qt::LeftDockWidgetArea, Qt::NoDockWidgetArea, Qt::RightDockWidgetArea,
          Qt::TopDockWidgetArea, Qt::BottomDockWidgetArea}) {
        if (area == Qt::NoDockWidgetArea)
            names << QString();
        for (const Placed& placed : m_docks)
            if (area != Qt::NoDockWidgetArea && m_window.dockWidgetArea(placed.dock) == area &&
                !placed.dock->visibleRegion().isEmpty())
                names << placed.name;
    }
    return names;
}

QString DockLayout::paneOf(const QWidget* widget) const
{
    for (const Placed& placed : m_docks)
        if (widget != nullptr && placed.dock->isAncestorOf(widget))
            return placed.name;
    return {};
}

void DockLayout::placeAll()
{
    std::map<Qt::DockWidgetArea, QDockWidget*> firstOf;
    for (const Placed& placed : m_docks) {
        placed.dock->setFloating(false);
        m_window.addDockWidget(placed.area, placed.dock);
        if (QDockWidget*& first = firstOf[placed.area]; first == nullptr)
            first = placed.dock;
        else
            m_window.tabifyDockWidget(first, placed.dock);
    }
}

void DockLayout::apply(const QString& layout)
{
    m_current = names().contains(layout) ? layout : QString("Train");
    const Arrangement arrangement = arrangementOf(m_current);
    placeAll();
    for (const Placed& placed : m_docks)
        placed.dock->setVisible(arrangement.shown.contains(placed.name));
    for (auto name = arrangement.shown.crbegin(); name != arrangement.shown.crend(); ++name)
        dock(*name)->raise();
    const int width = m_window.width(), height = m_window.height();
    QList<QDockWidget*> sides, bottoms;
    QList<int> widths, heights;
    for (const Placed& placed : m_docks) {
        if (!arrangement.shown.contains(placed.name))
            continue;
        if (placed.area == Qt::BottomDockWidgetArea) {
            bottoms << placed.dock;
            heights << static_cast<int>(height * arrangement.bottom);
        } else {
            sides << placed.dock;
            widths << static_cast<int>(width * (placed.area == Qt::LeftDockWidgetArea
                                                    ? arrangement.left
                                                    : arrangement.right));
        }
    }
    m_window.resizeDocks(sides, widths, Qt::Horizontal);
    m_window.resizeDocks(bottoms, heights, Qt::Vertical);
    Q_EMIT layoutApplied(m_current);
}

QStringList DockLayout::names()
{
    return {"Setup", "Train", "Inspect", "Compare", "Present"};
}

bool DockLayout::restore(const QByteArray& state, const QString& layout)
{
    placeAll();
    if (state.isEmpty() || !m_window.restoreState(state, kStateVersion)) {
        apply(layout);
        return false;
    }
    m_current = names().contains(layout) ? layout : QString("Train");
    Q_EMIT layoutApplied(m_current);
    return true;
}

QByteArray DockLayout::save() const
{
    return m_window.saveState(kStateVersion);
}

std::vector<QAction*> DockLayout::toggles() const
{
    std::vector<QAction*> actions;
    for (const Placed& placed : m_docks)
        actions.push_back(placed.dock->toggleViewAction());
    return actions;
}

} // namespace vergence
