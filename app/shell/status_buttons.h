#pragma once

#include <QWidget>

#include "app/shell/run_list_model.h"
#include "core/metrics/system_sampler.h"

class QProgressBar;
class QStatusBar;
class QToolButton;

namespace vergence {

/// The buttons in the status bar (`statusRun`, `statusRate`, `statusDevice`, `statusPreview`,
/// `statusBell`); each opens the matching dock.
class StatusButtons : public QObject {
    Q_OBJECT
public:
    explicit StatusButtons(QStatusBar& bar);

    void showRun(const RunEntry* run, int liveCount); ///< null: nothing is selected
    void showDevices(const SystemReading& reading);
    void showPreview(const QString& transport);
    void showProblems(int count);

Q_SIGNALS:
    void dockRequested(const QString& dock);

private:
    QToolButton* add(const char* name, const QString& tip, const QString& dock);

    QToolButton *m_run, *m_rate, *m_device, *m_preview, *m_bell;
    QProgressBar* m_progress;
};

} // namespace vergence
