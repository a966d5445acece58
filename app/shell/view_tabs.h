#pragma once

#include <QTabWidget>

#include "app/shell/run_view.h"

namespace vergence {

/// The opened runs (`viewTabs`), one tab each. Closing a tab frees its view; the run goes on.
class ViewTabs : public QTabWidget {
    Q_OBJECT
public:
    explicit ViewTabs(RunListModel& runs, QWidget* parent = nullptr);

    RunView* open(const QString& runId); ///< the tab of the run, made where it is missing; null for
                                         ///< unknown ids
    RunView* find(const QString& runId) const;
    RunView* current() const;
    void closeRun(const QString& runId);

Q_SIGNALS:
    void viewOpened(vergence::RunView* view);
    void currentRunChanged(const QString& runId); ///< empty once the last tab is closed
    void viewClosed(const QString& runId);

protected:
    void changeEvent(QEvent* event) override;

private:
    void closeTab(int index);
    void showState(const QString& runId);

    RunListModel& m_runs;
};

} // namespace vergence
