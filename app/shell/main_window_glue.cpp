// How the parts of the window are connected; built in main_window.cpp.

#include <algorithm>
#include <cmath>

#include <QStackedWidget>
#include <QUndoStack>

#include "app/shell/error_catalogue.h"
#include "app/shell/main_window.h"
#include "app/shell/target_choice.h"

namespace vergence {

namespace {

std::vector<ChartTable> tablesOf(const RunClient& client)
{
    std::vector<ChartTable> tables;
    for (const nlohmann::json& json : client.tables()) {
        ChartTable table;
        table.id = QString::fromStdString(json.value("id", std::string()));
        table.title = QString::fromStdString(json.value("title", std::string()));
        for (const auto& column : json.value("columns", nlohmann::json::array()))
            table.columns << QString::fromStdString(column.is_string() ? column.get<std::string>()
                                                                       : column.dump());
        for (const auto& row : json.value("rows", nlohmann::json::array())) {
            std::vector<double>& values = table.rows.emplace_back();
            for (const auto& cell : row)
                values.push_back(cell.is_number() ? cell.get<double>() : std::nan(""));
        }
        // A table of words has no abscissa; the inspector shows it.
        const bool hasAbscissa =
            std::any_of(table.rows.begin(), table.rows.end(), [](const std::vector<double>& row) {
                return !row.empty() && std::isfinite(row.front());
            });
        if (hasAbscissa)
            tables.push_back(std::move(table));
    }
    return tables;
}

} // namespace

void MainWindow::connectSetup()
{
    ConfigForm& form = m_setup->form();
    connect(m_setup, &SetupPanel::pluginChosen, this, &MainWindow::validateDraft);
    connect(m_setup, &SetupPanel::problemsRequested, this,
            [this] { m_docks->reveal("problemsDock"); });
    connect(&form, &ConfigForm::edited, this, &MainWindow::validateDraft);
    connect(&form, &ConfigForm::startRequested, this, &MainWindow::startDraft);
    connect(&form, &ConfigForm::queueRequested, m_actions->queue, &QAction::trigger);
    connect(&form, &ConfigForm::liveChanged, this, &MainWindow::setLiveValue);
    connect(&form, &ConfigForm::savePresetRequested, this, &MainWindow::savePreset);
    connect(&form, &ConfigForm::compareRequested, this, &MainWindow::compareWithRun);
    connect(&form, &ConfigForm::importRequested, this, &MainWindow::openPath);
    connect(&m_validator, &DraftValidator::validated, this, &MainWindow::takeIssues);
    QUndoStack* history = form.undoStack();
    connect(m_actions->undo, &QAction::triggered, history, &QUndoStack::undo);
    connect(m_actions->redo, &QAction::triggered, history, &QUndoStack::redo);
    connect(history, &QUndoStack::canUndoChanged, this, &MainWindow::updateHistory);
    connect(history, &QUndoStack::canRedoChanged, this, &MainWindow::updateHistory);
    connect(&form, &ConfigForm::frozenChanged, this, &MainWindow::updateHistory);
    updateHistory();
}

/// What a run that goes on was started with is not undone; the actions are off meanwhile.
void MainWindow::updateHistory()
{
    const ConfigForm& form = m_setup->form();
    m_actions->undo->setEnabled(!form.isFrozen() && form.undoStack()->canUndo());
    m_actions->redo->setEnabled(!form.isFrozen() && form.undoStack()->canRedo());
}

void MainWindow::connectPanels()
{
    connect(m_start, &StartPage::demoRequested, this, &MainWindow::startDemo);
    connect(m_start, &StartPage::newRunRequested, m_actions->newRun, &QAction::trigger);
    connect(m_start, &StartPage::openRequested, this, &MainWindow::openDialog);
    connect(m_start, &StartPage::runRequested, this,
            [this](const QString& id) { openRun(id, true); });
    connect(m_start, &StartPage::pluginManagerRequested, m_actions->pluginManager,
            &QAction::trigger);
    connect(m_start, &StartPage::devicesRequested, this,
            [this] { m_docks->reveal("devicesDock"); });
    connect(m_inspector, &InspectorPanel::fetchRequested, this,
            [this](const QString& id) { perform(RunAction::Fetch, {id}); });
    connect(m_runsPanel, &RunsPanel::demoRequested, this, [this] { startDemo(); });
    connect(m_runsPanel, &RunsPanel::currentChanged, this, &MainWindow::setCurrent);
    connect(m_runsPanel, &RunsPanel::actionRequested, this,
            [this](const QStringList& ids, RunAction action) { perform(action, ids); });
    connect(m_status, &StatusButtons::dockRequested, m_docks, &DockLayout::reveal);
    connect(m_queuePanel, &QueuePanel::runActivated, this,
            [this](const QString& id) { openRun(id, true); });
    connect(m_queuePanel, &QueuePanel::sweepRequested, m_actions->sweep, &QAction::trigger);
    connect(m_queuePanel, &QueuePanel::failurePolicyChanged, this,
            [this](bool on) { m_settings.setContinuesQueueAfterFailure(on); });
    connect(&m_queue, &RunQueue::runStarted, this,
            [this](const QString& id) { followNew(id, false); });
    connect(&m_queue, &RunQueue::countChanged, this, [this] {
        const int waiting = m_queue.waitingCount();
        m_docks->setTitle("queueDock", waiting == 0 ? tr("Queue") : tr("Queue (%1)").arg(waiting));
    });
    connect(m_charts, &ChartsPanel::exported, this,
            [this](const QString& path) { say(tr("Exported: %1").arg(path)); });
    connect(m_charts, &ChartsPanel::exportFailed, this, [this](const QString& sentence) {
        note({IssueSeverity::Error, "E-EXPORT", sentence, {}, {}, {}, {}});
    });
    connect(m_log, &LogPanel::countsChanged, this, [this] {
        const int warnings = m_log->warningCount();
        m_docks->setTitle("logDock", warnings == 0 ? tr("Log") : tr("Log (%1)").arg(warnings));
    });
    connect(m_problemsPanel, &ProblemsPanel::fieldRequested, this, [this](const QString& key) {
        m_docks->reveal("setupDock");
        m_setup->form().focusField(key);
    });
    connect(m_problemsPanel, &ProblemsPanel::runRequested, this, [this](const QString& id) {
        openRun(id, false);
        m_docks->reveal("logDock");
    });
    connect(&m_problems, &ProblemList::countChanged, this, [this] {
        const int count = m_problems.rowCount();
        m_docks->setTitle("problemsDock",
                          count == 0 ? tr("Problems") : tr("Problems (%1)").arg(count));
        m_status->showProblems(count);
    });
}

void MainWindow::connectRuns()
{
    connect(&m_catalog, &ProbeCatalog::completed, this, &MainWindow::takeCatalog);
    connect(&m_runs, &RunListModel::sessionOpened, this, &MainWindow::takeSession);
    connect(&m_runs, &RunListModel::runStateChanged, this, &MainWindow::takeRunState);
    connect(&m_runs, &RunListModel::chartedChanged, this, &MainWindow::syncCharts);
    connect(&m_runs, &RunListModel::runRenamed, this, [this] {
        syncCharts();
        showCurrent();
    });
    connect(&m_runs, &RunListModel::labelsRefused, this,
            [this](const QString& id, const QString& sentence) {
                note({IssueSeverity::Warning, "E-OUTPUT", sentence, {}, id, {}, {}});
            });
    connect(&m_runs, &RunListModel::runProgressed, this, [this](const QString& id) {
        if (id == m_current)
            showCurrent();
    });
    connect(&m_runs, &RunListModel::scanFinished, this, [this] {
        showCurrent(); // other runs may be going on now
        if (m_restoredRuns)
            return;
        m_restoredRuns = true;
        std::vector<QString> live = m_runs.liveHere();
        if (const auto all = m_runs.liveIds(); live.empty() && !all.empty())
            live = {all.front()}; // a cluster may have many
        for (const QString& id : live)
            followNew(id, false);
    });
    // One that begins later, in a terminal or started by a window that is gone, is opened where it
    // is in nobody's way.
    connect(&m_runs, &RunListModel::foundAlive, this, [this](const QString& id) {
        if (m_restoredRuns && m_current.isEmpty())
            followNew(id, false);
        else if (m_restoredRuns && m_runs.find(id)->isSubmitted())
            m_runs.setCharted(id, true); // somebody waited for it
    });
    connect(&m_starter, &RunStarter::startFailed, this,
            [this](const QString& id, const QString& sentence) {
                refuse(cardForRefusal("E-START", sentence), id);
            });
    connect(m_tabs, &ViewTabs::currentRunChanged, this, [this](const QString& id) {
        if (!id.isEmpty())
            setCurrent(id);
        showCentre();
        updateActions();
        // The worker of a finished run leaves once nobody looks; whoever comes back gets another.
        RunView* view = m_tabs->current();
        const bool wasSeen = view != nullptr && view->pump().framesShown() > 0;
        if (wasSeen && !clientOf(id)->isConnected())
            perform(RunAction::Explore, {id});
    });
    connect(&m_previewPath, &PreviewPath::interopReady, this, [this] {
        for (RunView* view : m_tabs->runs())
            if (auto uploader = m_previewPath.makeUploader())
                view->panel().setUploader(std::move(uploader));
    });
    connect(&m_previewPath, &PreviewPath::interopGone, this, [this] {
        for (RunView* view : m_tabs->runs())
            if (!view->panel().sharedDevice().empty())
                view->panel().setUploader(nullptr);
    });
    connect(&m_previewPath, &PreviewPath::shadersWarm, this, [this] {
        for (ViewPanel* panel : m_tabs->findChildren<ViewPanel*>())
            panel->setHeldBack(false);
    });
    connect(m_tabs, &ViewTabs::viewOpened, this, [this](RunView* view) {
        view->panel().setHeldBack(m_previewPath.isWarming());
        connect(view, &RunView::actionRequested, this, &MainWindow::act);
        connect(&view->panel(), &ViewPanel::parameterDragged, this,
                [this](const QString& key, double value) {
                    setLiveValue(key, QString::number(value, 'g', 10));
                });
        if (auto uploader = m_previewPath.makeUploader())
            view->panel().setUploader(std::move(uploader));
        connect(&view->panel(), &ViewPanel::sharedDeviceChanged, this, [this, view] {
            if (view->panel().sharedDevice().empty()) // its uploader failed
                m_previewPath.giveUp();
        });
        connect(&view->panel(), &ViewPanel::problemFound, this,
                [this, view](const QString& sentence) { noteMesh(sentence, view->runId()); });
        describeView(*view);
    });
    connect(m_tabs, &ViewTabs::meshOpened, this, [this](MeshView* view) {
        view->panel().setHeldBack(m_previewPath.isWarming());
        connect(&view->panel(), &ViewPanel::problemFound, this,
                [this](const QString& sentence) { noteMesh(sentence, {}); });
    });
}

/// What a mesh lacks, or why it cannot be shown, is a problem that people can do something about.
void MainWindow::noteMesh(const QString& sentence, const QString& runId)
{
    note({IssueSeverity::Warning, "E-DATA", sentence, {}, runId, {}, {}});
}

void MainWindow::describeView(RunView& view)
{
    const RunEntry* run = m_runs.find(view.runId());
    if (const PluginInfo* info = run == nullptr ? nullptr : m_catalog.find(run->plugin))
        view.setPlugin(*info);
}

void MainWindow::takeCatalog()
{
    Headlines headlines;
    std::vector<MetricDecl> declarations;
    for (const PluginInfo& plugin : m_catalog.plugins()) {
        declarations.insert(declarations.end(), plugin.metrics.begin(), plugin.metrics.end());
        headlines[plugin.id()] = plugin.headlines();
    }
    m_charts->setDeclarations(declarations);
    syncCharts(); // with what the labs of charted runs declare
    m_runs.setHeadlines(std::move(headlines));
    for (RunView* view : m_tabs->runs())
        describeView(*view);
    for (const QString& file : std::exchange(m_options.files, {}))
        if (!isRunFolder(file))
            openPath(file);
    followInForm();
    updateActions();
}

void MainWindow::takeSession(const QString& id)
{
    RunSession& session = *m_runs.find(id)->session;
    connect(&session, &RunSession::problemAdded, this, [this, id](const RunProblem& problem) {
        const RunEntry* run = m_runs.find(id);
        m_problems.addRunProblem({IssueSeverity::Warning,
                                  problem.id,
                                  problem.sentence,
                                  {},
                                  id,
                                  run == nullptr ? id : run->name,
                                  problem.when});
    });
    connect(&session.client(), &RunClient::metricsAppended, m_charts, &ChartsPanel::refresh);
    // At once: a chart that is drawn before would look at series that are gone.
    connect(&session.client(), &RunClient::metricsRestarted, this, &MainWindow::syncCharts);
    connect(&session.client(), &RunClient::choicesClosed, this, [this, id] {
        if (id == m_formRun)
            closeChoices();
    });
    connect(&session.client(), &RunClient::liveSettingsTold, this, [this, id] {
        if (id == m_formRun)
            showLiveSettings();
    });
    connect(&session.client(), &RunClient::liveSettingRefused, this,
            [this, id](const QString& key) {
                const RunEntry* run = m_runs.find(id);
                if (id != m_formRun || run == nullptr)
                    return;
                const auto& told = run->session->client().liveSettings();
                if (const auto kept = told.find(key.toStdString()); kept != told.end())
                    m_setup->form().showLive({*kept});
            });
    connect(&session.client(), &RunClient::tableChanged, this, [this, id] {
        if (id == m_current)
            syncCharts();
    });
    connect(&session.client(), &RunClient::requestWaiting, this, [this](const QString& request) {
        if (request != "watch") // the window makes it itself, again and again
            say(tr("Waiting for the worker: %1 …").arg(request));
    });
    connect(&session.client(), &RunClient::requestAcknowledged, this,
            [this](const QString& request, double milliseconds) {
                static const QStringList pressed{"pause", "resume", "stop", "checkpoint"};
                if (pressed.contains(request)) // others are made by the window itself
                    say(tr("The worker has heard: %1 (after %2 ms).")
                            .arg(request)
                            .arg(milliseconds, 0, 'f', 0));
            });
    if (id == m_current) // it was chosen before it was followed
        showSession();
}

void MainWindow::takeRunState(const QString& id, RunState state)
{
    const RunEntry* run = m_runs.find(id);
    if (run == nullptr)
        return;
    const bool isBad = state == RunState::Failed || state == RunState::Crashed;
    if (isBad) {
        if (const auto card = cardForRun(*run, {}))
            m_problems.addRunProblem({IssueSeverity::Error,
                                      card->id,
                                      run->problem.isEmpty() ? card->whatHappened : run->problem,
                                      {},
                                      id,
                                      run->name,
                                      QDateTime::currentDateTime()});
    }
    if (id == m_formRun && isFinal(state)) {
        m_setup->strip().setStage(isBad ? StageStrip::Stage::Setup : StageStrip::Stage::Look);
        releaseForm();
    }
    showCurrent();
}

void MainWindow::setCurrent(const QString& id)
{
    if (!id.isEmpty() && id == m_current)
        return;
    m_current = m_runs.find(id) == nullptr ? QString() : id;
    showSession();
    m_runsPanel->select(m_current);
    showCurrent();
    followInForm();
}

void MainWindow::showSession()
{
    const RunEntry* run = m_runs.find(m_current);
    RunSession* session = run == nullptr ? nullptr : run->session;
    m_log->setLog(session == nullptr ? nullptr : &session->log(),
                  run == nullptr ? QString() : QString::fromStdString(run->folder.log().string()));
    m_inspector->setRun(m_current);
    syncCharts();
}

void MainWindow::showCurrent()
{
    const RunEntry* run = m_runs.find(m_current);
    QStringList live;
    for (const QString& id : m_runs.liveHere())
        live << m_runs.find(id)->name;
    m_status->showRun(run, static_cast<int>(m_runs.liveIds().size()));
    m_devices->setUsers(live.join(", "));
    RunView* view = m_tabs->current();
    m_status->showPreview(view == nullptr ? QString() : view->panel().transportName());
    setWindowTitle(run == nullptr ? tr("Vergence Studio")
                                  : tr("%1 – %2 – Vergence Studio").arg(run->name, run->plugin));
    updateActions();
}

void MainWindow::showCentre()
{
    m_centre->setCurrentIndex(m_tabs->count() == 0 ? 0 : 1);
}

void MainWindow::updateActions()
{
    const RunEntry* run = m_runs.find(m_current);
    const auto allowed = [run](RunAction action) {
        return run != nullptr && isAllowed(action, *run);
    };
    const bool canResume = allowed(RunAction::Resume);
    StudioActions& a = *m_actions;
    const bool canStart = !m_setup->plugin().isEmpty();
    const QString busy = m_submitter.isSubmitting() ? tr("A submission is under way.") : QString();
    const QString otherQueue =
        m_setup->place().target().isEmpty()
            ? QString()
            : tr("Runs for this computer wait here; the target has a queue of its own.");
    m_setup->form().setBlocked(busy, otherQueue);
    a.start->setEnabled(canStart && busy.isEmpty());
    a.queue->setEnabled(canStart && otherQueue.isEmpty());
    a.sweep->setEnabled(canStart);
    a.forecast->setEnabled(canStart && m_forecast == nullptr);
    a.copyCommandLine->setEnabled(canStart);
    a.pause->setText(canResume ? tr("Resume") : tr("&Pause"));
    a.pause->setEnabled(canResume || allowed(RunAction::Pause));
    a.stop->setEnabled(allowed(RunAction::Stop));
    a.checkpoint->setEnabled(run != nullptr &&
                             next(run->state, RunEvent::CheckpointRequested).has_value());
    a.exportRun->setEnabled(allowed(RunAction::Export));
    a.screenshot->setEnabled(m_tabs->currentPanel() != nullptr);
    const bool hasEnded = run != nullptr && run->isLoaded && run->hasEnded();
    a.resume->setText(run != nullptr && run->isSubmitted() ? tr("Resume")
                                                           : tr("Resume from &checkpoint"));
    a.resume->setEnabled(hasEnded && canResume);
    a.resumeHere->setEnabled(allowed(RunAction::ResumeHere));
    a.fetch->setEnabled(allowed(RunAction::Fetch));
    a.extend->setEnabled(allowed(RunAction::Extend));
    a.explore->setEnabled(allowed(RunAction::Explore));
    a.useConfig->setEnabled(allowed(RunAction::UseConfig));
    a.rename->setEnabled(allowed(RunAction::Rename));
    a.restore->setEnabled(!m_archived.empty());
}

std::vector<MetricDecl> MainWindow::metricsOf(const QString& plugin) const
{
    const PluginInfo* info = m_catalog.find(plugin);
    return info == nullptr ? std::vector<MetricDecl>() : info->metrics;
}

void MainWindow::syncCharts()
{
    std::vector<ChartedRun> charted;
    for (const QString& id : m_runs.chartedIds()) {
        const RunEntry* run = m_runs.find(id);
        if (run->session != nullptr)
            charted.push_back({id, run->name, run->colour, &run->session->client().metrics(),
                               metricsOf(run->plugin)});
    }
    m_charts->setRuns(charted);
    const RunEntry* run = m_runs.find(m_current);
    m_charts->setTables(run == nullptr || run->session == nullptr
                            ? std::vector<ChartTable>()
                            : tablesOf(run->session->client()));
    m_charts->refresh();
}

void MainWindow::validateDraft()
{
    m_problems.setDraftIssues(m_setup->form().issues());
    if (m_formRun.isEmpty() && !m_setup->plugin().isEmpty())
        m_validator.validateSoon(m_setup->tomlWithHeader());
    updateActions();
}

void MainWindow::takeIssues(const std::vector<ConfigIssue>& issues, const DataReport& report)
{
    ConfigForm& form = m_setup->form();
    form.setExternalIssues({});
    const std::vector<ConfigIssue> local = form.issues();
    std::vector<ConfigIssue> further;
    std::vector<ConfigIssue> all = issues;
    for (ConfigIssue issue : report.issues) {
        issue.sentence = issue.text(); // with the file and the line
        issue.place = {};
        all.push_back(std::move(issue));
    }
    for (const ConfigIssue& issue : all) {
        const bool isKnown =
            std::any_of(local.begin(), local.end(), [&issue](const ConfigIssue& other) {
                return other.rule == issue.rule && other.key == issue.key;
            });
        if (!isKnown)
            further.push_back(issue);
    }
    form.setExternalIssues(further);
    m_setup->showData(report);
    m_problems.setDraftIssues(form.issues());
}

void MainWindow::applyAppearance()
{
    m_theme.apply(m_settings.theme(), m_settings.textPercent());
    m_charts->setDarkPalette(m_theme.isDark());
    m_actions->tint(palette());
}

} // namespace vergence
