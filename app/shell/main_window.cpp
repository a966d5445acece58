#include "app/shell/main_window.h"

#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QLineEdit>
#include <QScreen>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QUndoStack>

#include "app/style/icons.h"
#include "app/shell/paint_pacer.h"
#include "app/viewport/gl_warmup.h"

namespace vergence {

namespace {

PluginSearch searchOf(const ShellOptions& options)
{
    PluginSearch search;
    for (const QString& folder : options.pluginFolders)
        search.extraFolders.push_back(folder.toStdString());
    search.safeMode = options.isSafeMode;
    return search;
}

} // namespace

MainWindow::MainWindow(const ShellOptions& options, Theme& theme, QWidget* parent)
    : QMainWindow(parent),
      m_settings(options.settingsFolder, options.isClean),
      m_theme(theme),
      m_options(options),
      m_executable(workerExecutable()),
      m_catalog(searchOf(options), m_executable),
      m_starter(m_runs, m_settings, m_executable, options.pluginFolders),
      m_queue(m_runs, m_starter, QDir(m_settings.folder()).filePath("queue.json")),
      m_submitter(m_runs, m_settings, m_executable, options.pluginFolders),
      m_fetcher(m_runs, m_executable),
      m_jobs(m_runs),
      m_remotes(m_runs,
                [this](const QString& id) {
                    const RunView* view = m_tabs->find(id);
                    return view != nullptr && view->isVisible();
                }),
      m_validator(m_executable, pluginArguments(options.pluginFolders))
{
    setObjectName("mainWindow");
    setAcceptDrops(true);
    setMinimumSize(960, 600);
    resize(1280, 800);
    m_theme.apply(m_settings.theme(), m_settings.textPercent());
    setWindowIcon(tintedIcon("vergence", QColor("#1f66b8")));
    new PaintPacer(*this);
    m_actions = new StudioActions(*this);
    m_docks = new DockLayout(*this);
    m_status = new StatusButtons(*statusBar());
    makeCentre();
    makeDocks();
    connectActions();
    connectSetup();
    connectPanels();
    connectRuns();
    connectCluster();
    connectRemotes();
    restoreWindow();
    setCurrent({});
}

MainWindow::~MainWindow()
{
    // Views and charts look at sessions that m_runs owns; they go first.
    m_charts->setRuns({});
    m_log->setLog(nullptr, {});
    m_tabs->disconnect(this);
    delete m_tabs;
    m_runs.disconnect(this);
    m_catalog.disconnect(this);
    // A line of the form commits when it loses the focus, and its history is cleared when it goes.
    m_setup->form().disconnect(this);
    m_setup->form().undoStack()->disconnect(this);
}

void MainWindow::makeCentre()
{
    m_centre = new QStackedWidget(this);
    m_centre->setObjectName("centralStack");
    m_start = new StartPage(m_catalog, m_runs, m_centre);
    m_tabs = new ViewTabs(m_runs, m_centre);
    m_centre->addWidget(m_start);
    m_centre->addWidget(m_tabs);
    setCentralWidget(m_centre);
    reserveGlSurface(*this);
}

void MainWindow::makeDocks()
{
    m_runsPanel = new RunsPanel(m_runs, this);
    m_setup = new SetupPanel(m_catalog, this);
    m_inspector = new InspectorPanel(m_runs, this);
    m_charts = new ChartsPanel(this);
    m_log = new LogPanel(this);
    m_queuePanel = new QueuePanel(m_queue, m_settings.continuesQueueAfterFailure(), this);
    m_devices = new DevicesPanel(this);
    m_problemsPanel = new ProblemsPanel(m_problems, this);
    m_docks->add("runsDock", tr("Runs"), m_runsPanel, Qt::LeftDockWidgetArea);
    m_docks->add("setupDock", tr("Setup"), m_setup, Qt::RightDockWidgetArea);
    m_docks->add("inspectorDock", tr("Inspector"), m_inspector, Qt::RightDockWidgetArea);
    m_docks->add("chartsDock", tr("Charts"), m_charts, Qt::BottomDockWidgetArea);
    m_docks->add("logDock", tr("Log"), m_log, Qt::BottomDockWidgetArea);
    m_docks->add("queueDock", tr("Queue"), m_queuePanel, Qt::BottomDockWidgetArea);
    m_docks->add("devicesDock", tr("Devices"), m_devices, Qt::BottomDockWidgetArea);
    m_docks->add("problemsDock", tr("Problems"), m_problemsPanel, Qt::BottomDockWidgetArea);
    for (QDockWidget* dock : findChildren<QDockWidget*>()) {
        dock->setAcceptDrops(true);
        dock->installEventFilter(this);
    }
    for (QLineEdit* line : findChildren<QLineEdit*>()) // would take a file for its name
        line->setAcceptDrops(false);
    m_actions->addDockToggles(m_docks->toggles());
    m_actions->layoutCombo->addItems(DockLayout::names());
}

void MainWindow::restoreWindow()
{
    const QSize frame(8, 40); // of the window manager, about
    if (!restoreGeometry(m_settings.geometry()))
        resize(QSize(1280, 800).boundedTo(screen()->availableSize() - frame));
    m_docks->restore(m_settings.windowState(), m_settings.layout());
    applyAppearance();
}

bool MainWindow::event(QEvent* event)
{
    const bool handled = QMainWindow::event(event);
    if (event->type() == QEvent::Paint && !m_wasPainted) {
        m_wasPainted = true;
        QTimer::singleShot(0, this, &MainWindow::beginBackgroundWork);
    }
    return handled;
}

void MainWindow::beginBackgroundWork()
{
    if (m_settings.windowState().isEmpty())
        m_docks->apply(m_settings.layout()); // sizes are known only now
    m_monitor = std::make_unique<SystemMonitor>();
    connect(m_monitor.get(), &SystemMonitor::sampled, this, [this](const SystemReading& reading) {
        m_reading = reading;
        m_devices->showReading(reading);
        m_status->showDevices(reading);
        m_start->setComputer(computerText(reading));
    });
    m_runs.setFolder(m_options.runsFolder.isEmpty() ? m_settings.runsFolder()
                                                    : m_options.runsFolder);
    m_catalog.scan();
    m_previewPath.choose(m_settings.previewPath());
    m_previewPath.warmShaders();
    for (const QString& file : m_options.files)
        if (isRunFolder(file))
            openPath(file);
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    m_settings.saveWindow(saveGeometry(), m_docks->save(), m_docks->current());
    QMainWindow::closeEvent(event);
}

void MainWindow::changeEvent(QEvent* event)
{
    QMainWindow::changeEvent(event);
    if (event->type() != QEvent::PaletteChange || m_charts == nullptr)
        return;
    m_actions->tint(palette());
    m_charts->setDarkPalette(isDark(palette()));
}

} // namespace vergence
