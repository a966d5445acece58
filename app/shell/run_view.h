#pragma once

#include <QTimer>
#include <QWidget>

#include "app/shell/error_card.h"
#include "app/shell/frame_pump.h"
#include "app/shell/plugin_info.h"
#include "app/shell/run_list_model.h"
#include "app/viewport/view_panel.h"

class QLabel;
class QVBoxLayout;

namespace vergence {

class RunStages;
class SuccessBar;

/// One tab: cards and bars above, the streams of one run below.
class RunView : public QWidget {
    Q_OBJECT
public:
    RunView(RunListModel& runs, const QString& runId, QWidget* parent = nullptr);

    const QString& runId() const { return m_id; }
    ViewPanel& panel() { return *m_panel; }
    FramePump& pump() { return *m_pump; }
    /// Streams of the plugin, and what its series are called.
    void setPlugin(const PluginInfo& plugin);
    void addCard(const CardContent& content);
    void clearCards();

Q_SIGNALS:
    /// "resume", "continue", "log", "use_config", "mark_stopped", "charts", "plugins", "folder",
    /// "export", "again", "compare"
    void actionRequested(const QString& runId, const QString& action);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void takeState(RunState state);
    void showMessage();
    void showAge();
    void showRecorded();
    void showStages();
    QStringList lastLogLines() const;

    RunListModel& m_runs;
    QString m_id;
    std::vector<MetricDecl> m_metrics;
    RunSession& m_session;
    QVBoxLayout* m_cards;
    SuccessBar* m_success;
    RunStages* m_stages;
    QLabel* m_age; ///< of a picture that is older than the run
    ViewPanel* m_panel;
    FramePump* m_pump;
    QString m_shownCause; ///< of the card on screen
    QTimer m_artifactsSoon;
    bool m_sawLive = false;
};

} // namespace vergence
