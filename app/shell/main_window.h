#pragma once

#include <map>
#include <thread>

#include <QMainWindow>

#include "app/charts/charts_panel.h"
#include "app/shell/command_palette.h"
#include "app/shell/devices_panel.h"
#include "app/shell/dock_layout.h"
#include "app/shell/draft_validator.h"
#include "app/shell/inspector_panel.h"
#include "app/shell/job_watch.h"
#include "app/shell/log_panel.h"
#include "app/shell/preview_path.h"
#include "app/shell/problems_panel.h"
#include "app/shell/queue_panel.h"
#include "app/shell/remote_watch.h"
#include "app/shell/run_fetcher.h"
#include "app/shell/run_submitter.h"
#include "app/shell/runs_panel.h"
#include "app/shell/setup_panel.h"
#include "app/shell/shell_options.h"
#include "app/shell/start_page.h"
#include "app/shell/status_buttons.h"
#include "app/shell/studio_actions.h"
#include "app/shell/studio_settings.h"
#include "app/shell/system_monitor.h"
#include "app/style/theme.h"
#include "app/shell/view_tabs.h"

class QStackedWidget;

namespace vergence {

/// A run folder that was moved to the trash of the desktop.
struct ArchivedRun {
    QString folder, inTrash;
};

/// The window (`mainWindow`): builds the parts and connects them. Runs are worker processes; the
/// window only follows them.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    MainWindow(const ShellOptions& options, Theme& theme, QWidget* parent = nullptr);
    ~MainWindow() override;

    RunListModel& runs() { return m_runs; }
    ProbeCatalog& catalog() { return m_catalog; }
    RunQueue& queue() { return m_queue; }
    StudioActions& actions() { return *m_actions; }
    SetupPanel& setup() { return *m_setup; }
    ProblemList& problems() { return m_problems; }
    DockLayout& docks() { return *m_docks; }
    ViewTabs& views() { return *m_tabs; }
    /// The run that actions, log, inspector and status bar are about; empty for none.
    QString currentRun() const { return m_current; }

    void startDemo(const QString& plugin = {}); ///< empty: the first that has a demo
    /// Starts what the setup holds, unless it has errors; id of the run, empty where nothing was
    /// started, or where it goes to the chosen cluster.
    QString startDraft();
    /// Shows a run in a tab. `explores`: a finished one is served by a worker, so that its controls
    /// work.
    void openRun(const QString& id, bool explores);
    /// A run folder, a folder of data, an exported bundle, a mesh, a file that a lab opens or a
    /// configuration file.
    void openPath(const QString& path);
    void perform(RunAction action, const QStringList& ids);

protected:
    bool event(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    // main_window.cpp: building
    void makeCentre();
    void makeDocks();
    void beginBackgroundWork();
    void restoreWindow();

    // main_window_actions.cpp, main_window_glue.cpp: connections between the parts
    void connectActions();
    void connectSetup();
    void connectPanels();
    void connectRuns();
    void connectCluster();
    void describeView(RunView& view);
    void takeCatalog();
    void takeSession(const QString& id);
    void takeRunState(const QString& id, RunState state);
    void setCurrent(const QString& id);
    void showSession(); ///< of the current run: log, inspector and charts
    void showCurrent();
    void showCentre();
    void updateActions();
    void updateHistory();
    std::vector<MetricDecl> metricsOf(const QString& plugin) const;
    void syncCharts();
    void noteMesh(const QString& sentence, const QString& runId);
    /// What cannot be done is a card: above the run that it is about, else above the setup.
    void refuse(const CardContent& card, const QString& runId = {});
    void note(Problem problem); ///< lists it and says it; fills in the name of its run and the time
    void validateDraft();
    void takeIssues(const std::vector<ConfigIssue>& issues, const DataReport& report);
    void applyAppearance();

    // main_window_cluster.cpp: runs of targets
    void connectRemotes();
    void fetchResults(const QString& id);
    void bringHome(const QString& id); ///< and let it go on here
    void forecastDraft();
    void takeForecast(const CommandAnswer& answer);
    void submit(const std::vector<RunDraft>& drafts); ///< to the chosen target
    void submitAgain(const QString& id, const QString& assignment = {});
    void takeSubmitted(const SubmittedRuns& runs);
    void stopRuns(const QStringList& ids);
    void openTargets();
    void takeTargets(); ///< they have changed

    // main_window_runs.cpp, main_window_dialogs.cpp, main_window_data.cpp: what is done with runs
    QString launch(const std::function<QString()>& start);
    bool hasRightDraft(); ///< takes over what is typed; says what is wrong
    QString startHere();
    void followNew(const QString& id, bool fromForm);
    void freezeForm(const QString& id);
    void followInForm();
    void releaseForm();
    void act(const QString& id, const QString& action);
    void resumeHere(const QString& id);
    void useConfig(const QString& id);
    void extendRun(const QString& id);
    void moveToTrash(const QStringList& ids);
    void restoreArchived();
    void chooseRunsFolder();
    void markStopped(const QString& id);
    void copyCommandOf(const QString& id);
    void exportRun(const QString& id);
    void takeScreenshot();
    void compareWithRun();
    void compareWithStart(const QString& id);
    void savePreset(const QString& name, const QString& toml);
    void closeChoices(); ///< of the run whose settings the form shows
    void showLiveSettings();
    void setLiveValue(const QString& key, const QString& tomlValue);
    void openPalette();
    void openSweep();
    void openDialog();
    void openConfig(const QString& path);
    /// The setup becomes that of the text; false where it has errors, which are a card then.
    bool takeConfig(const std::string& toml, const QString& name, const QString& plugin = {});
    void openWith(const PluginInfo& plugin, const QString& path);
    void takeFolder(const QString& path);
    void setUpWith(const FolderTaker& taker, const QString& path);
    void openBundleFile(const QString& path);
    void openMesh(const QString& path);
    void findInFocus();
    void goToPane(int offset);
    void focusCentre();
    void say(const QString& sentence);
    RunClient* clientOf(const QString& id);

    StudioSettings m_settings;
    Theme& m_theme;
    ShellOptions m_options;
    QString m_executable;
    RunListModel m_runs;
    ProbeCatalog m_catalog;
    RunStarter m_starter;
    RunQueue m_queue;
    RunSubmitter m_submitter;
    RunFetcher m_fetcher;
    CommandCall* m_forecast = nullptr; ///< while it measures
    JobWatch m_jobs;
    RemoteWatch m_remotes;
    ProblemList m_problems;
    DraftValidator m_validator;
    PreviewPath m_previewPath;
    std::unique_ptr<SystemMonitor> m_monitor;
    SystemReading m_reading;

    StudioActions* m_actions = nullptr;
    DockLayout* m_docks = nullptr;
    StatusButtons* m_status = nullptr;
    QStackedWidget* m_centre = nullptr;
    StartPage* m_start = nullptr;
    ViewTabs* m_tabs = nullptr;
    RunsPanel* m_runsPanel = nullptr;
    SetupPanel* m_setup = nullptr;
    InspectorPanel* m_inspector = nullptr;
    ChartsPanel* m_charts = nullptr;
    LogPanel* m_log = nullptr;
    QueuePanel* m_queuePanel = nullptr;
    DevicesPanel* m_devices = nullptr;
    ProblemsPanel* m_problemsPanel = nullptr;
    QString m_current, m_formRun;
    std::vector<ArchivedRun> m_archived; ///< the last time
    bool m_wasPainted = false, m_restoredRuns = false;
    std::jthread m_unpacking; ///< last, so that it has ended before the others go
};

} // namespace vergence
