#pragma once

#include <QSortFilterProxyModel>
#include <QWidget>

#include "app/shell/run_list_model.h"

class QLabel;
class QLineEdit;
class QTreeView;

namespace vergence {

/// What can be asked of a run in the list.
enum class RunAction {
    Open,
    Rename,
    Tag,
    UseConfig,
    Pause,
    Resume,
    ResumeHere, ///< on this computer, a run that was submitted to a target
    Fetch,      ///< what the run has on the disk of its target
    Stop,
    Kill,
    Extend,
    Explore,
    Export,
    ShowFolder,
    CopyCommand,
    MarkStopped,
    Trash
};
/// Whether the run's state allows it.
bool isAllowed(RunAction action, const RunEntry& run);

/// The list of runs (`runsView`) with its filter (`runsFilter`) and context menu.
class RunsPanel : public QWidget {
    Q_OBJECT
public:
    explicit RunsPanel(RunListModel& runs, QWidget* parent = nullptr);
    QString currentId() const;
    QStringList selectedIds() const;
    void select(const QString& id);
    /// Opens the editor of a run's name or tags; what is typed outlives changes of the list.
    void edit(const QString& id, RunListModel::Column column);
    void focusFilter();

Q_SIGNALS:
    void currentChanged(const QString& id);
    void actionRequested(const QStringList& ids, vergence::RunAction action);
    void demoRequested();

private:
    void makeView();
    void showMenu(const QPoint& position);
    void showState();

    RunListModel& m_runs;
    QSortFilterProxyModel m_filter;
    QLineEdit* m_pattern;
    QLabel* m_empty;
    QTreeView* m_view;
};

} // namespace vergence
