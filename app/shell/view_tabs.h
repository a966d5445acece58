#pragma once

#include <QTabWidget>

#include "app/shell/mesh_view.h"
#include "app/shell/run_view.h"

namespace vergence {

/// The opened runs and mesh files (`viewTabs`), one tab each. Closing a tab frees its view; a run
/// goes on.
class ViewTabs : public QTabWidget {
    Q_OBJECT
public:
    explicit ViewTabs(RunListModel& runs, QWidget* parent = nullptr);

    RunView* open(const QString& runId); ///< the tab of the run, made where it is missing; null for
                                         ///< unknown ids
    MeshView* openMesh(const QString& path); ///< the tab of the file, read again where it changed
    RunView* find(const QString& runId) const;
    RunView* current() const;        ///< null while a mesh file is in front
    ViewPanel* currentPanel() const; ///< of whatever is in front
    std::vector<RunView*> runs() const;
    void closeRun(const QString& runId);

Q_SIGNALS:
    void viewOpened(vergence::RunView* view);
    void meshOpened(vergence::MeshView* view);
    void currentRunChanged(const QString& runId); ///< empty where no run is in front
    void viewClosed(const QString& runId);

protected:
    void changeEvent(QEvent* event) override;

private:
    void closeTab(int index);
    void showState(const QString& runId);

    RunListModel& m_runs;
};

} // namespace vergence
