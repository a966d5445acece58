// What the window does with runs when somebody asks for it.

#include <QClipboard>
#include <QDesktopServices>
#include <QDir>
#include <QGuiApplication>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QUrl>

#include "app/shell/error_catalogue.h"
#include "app/shell/main_window.h"
#include "app/shell/plugin_manager.h"
#include "app/shell/target_choice.h"
#include "app/viewport/mesh/mesh_files.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/run/run_failure.h"

namespace vergence {

namespace {

constexpr int kMessageMs = 8000;

} // namespace

void MainWindow::say(const QString& sentence)
{
    statusBar()->showMessage(sentence, kMessageMs);
    log("shell").info("{}", sentence.toStdString());
}

void MainWindow::refuse(const CardContent& card, const QString& runId)
{
    log("shell").warn("{} {}", card.whatHappened.toStdString(), card.why.toStdString());
    if (RunView* view = m_tabs->find(runId)) {
        m_tabs->setCurrentWidget(view);
        return view->addCard(card);
    }
    m_setup->refuse(card);
    m_docks->reveal("setupDock");
}

void MainWindow::note(Problem problem)
{
    const RunEntry* run = m_runs.find(problem.runId);
    if (!problem.runId.isEmpty())
        problem.runName = run == nullptr ? problem.runId : run->name;
    problem.when = QDateTime::currentDateTime();
    m_problems.addRunProblem(problem);
    say(problem.sentence);
}

RunClient* MainWindow::clientOf(const QString& id)
{
    RunSession* session = m_runs.session(id);
    return session == nullptr ? nullptr : &session->client();
}

QString MainWindow::launch(const std::function<QString()>& start)
{
    try {
        return start();
    } catch (const std::exception& error) {
        note({IssueSeverity::Error, "E-START", QString::fromUtf8(error.what()), {}, {}, {}, {}});
        m_docks->reveal("problemsDock");
        return {};
    }
}

void MainWindow::startDemo(const QString& plugin)
{
    const auto demos = m_catalog.demoPlugins();
    if (plugin.isEmpty() && demos.empty()) {
        say(tr("No plugin with a demo is ready."));
        return;
    }
    releaseForm();
    m_docks->apply("Train");
    const QString chosen = plugin.isEmpty() ? demos.front()->id() : plugin;
    // Laying out docks, building the form, opening the view and freezing the form are an event
    // each: together they stop a window without a GPU for a tenth of a second.
    QTimer::singleShot(0, this, [this, chosen] {
        const PluginInfo* info = m_catalog.find(chosen);
        m_setup->choose(chosen, info ? QString::fromStdString(info->descriptor.demo) : "demo");
        QTimer::singleShot(0, this, &MainWindow::startHere);
    });
}

bool MainWindow::hasRightDraft()
{
    if (m_setup->plugin().isEmpty())
        return false;
    m_setup->form().commitPending();
    if (!hasErrors(m_setup->form().issues()))
        return true;
    say(tr("The setup has errors; Problems lists them."));
    m_docks->reveal("problemsDock");
    return false;
}

QString MainWindow::startDraft()
{
    if (m_setup->place().target().isEmpty())
        return startHere();
    if (hasRightDraft())
        submit({m_setup->draft()});
    return {};
}

QString MainWindow::startHere()
{
    if (!hasRightDraft())
        return {};
    const RunDraft draft = m_setup->draft();
    const QString id = launch([&] { return m_starter.start(draft); });
    if (!id.isEmpty())
        followNew(id, true);
    return id;
}

void MainWindow::followNew(const QString& id, bool fromForm)
{
    m_runs.setCharted(id, true);
    m_tabs->open(id);
    showCentre();
    if (fromForm)
        m_formRun = id; // its settings are there
    setCurrent(id);
    if (fromForm)
        freezeForm(id);
}

/// A run that goes on but was started elsewhere: its settings, so that live ones can be moved. Not
/// where somebody drafts another run.
void MainWindow::followInForm()
{
    const RunEntry* run = m_runs.find(m_current);
    const bool isFree = m_formRun.isEmpty() && !m_setup->form().isPresetModified();
    if (!isFree || run == nullptr || !isLive(run->state) ||
        m_catalog.find(run->plugin) == nullptr ||
        !std::filesystem::exists(run->folder.config())) // as long as it starts
        return;
    const QString id = run->id, name = run->name, plugin = run->plugin;
    const QString shown = launch([&]() -> QString {
        return hasErrors(m_setup->loadToml(readFile(run->folder.config()), name, plugin))
                   ? QString()
                   : id;
    });
    if (!shown.isEmpty())
        freezeForm(id);
}

void MainWindow::freezeForm(const QString& id)
{
    m_formRun = id;
    m_validator.cancel();
    m_setup->strip().setStage(StageStrip::Stage::Run);
    QTimer::singleShot(0, this, [this, id] {
        const RunEntry* run = m_runs.find(id);
        if (m_formRun == id && run != nullptr)
            m_setup->form().setFrozen(
                true, tr("%1 is going on; only live settings can be changed. New run (Ctrl+N) "
                         "frees the form.")
                          .arg(run->name));
        closeChoices();
        showLiveSettings();
    });
}

/// The run may have other live settings than those it began with.
void MainWindow::showLiveSettings()
{
    const RunEntry* run = m_runs.find(m_formRun);
    if (run != nullptr && run->session != nullptr && isLive(run->state))
        m_setup->form().showLive(run->session->client().liveSettings());
}

void MainWindow::closeChoices()
{
    const RunEntry* run = m_runs.find(m_formRun);
    const bool isOpen = run != nullptr && run->session != nullptr && isLive(run->state);
    m_setup->form().setClosedChoices(isOpen ? run->session->client().closedChoices()
                                            : std::vector<ClosedChoice>());
}

void MainWindow::releaseForm()
{
    if (m_formRun.isEmpty())
        return;
    const RunEntry* run = m_runs.find(m_formRun);
    if (run == nullptr || isLive(run->state))
        m_setup->strip().setStage(StageStrip::Stage::Setup);
    m_formRun.clear();
    m_setup->form().setFrozen(false);
    closeChoices();
}

void MainWindow::openRun(const QString& id, bool explores)
{
    RunView* view = m_tabs->open(id);
    if (view == nullptr)
        return;
    showCentre();
    setCurrent(id);
    m_runs.setCharted(id, true);
    const RunEntry* run = m_runs.find(id);
    if (explores && isAllowed(RunAction::Explore, *run) && !run->session->client().isConnected())
        perform(RunAction::Explore, {id});
}

void MainWindow::openPath(const QString& path)
{
    try {
        if (QFileInfo(path).isDir()) {
            if (!isRunFolder(path))
                return takeFolder(path);
            const RunFolder folder = RunFolder::open(QDir(path).absolutePath().toStdString());
            openRun(m_runs.addFolder(folder), true);
            return;
        }
        if (path.endsWith(".zip", Qt::CaseInsensitive))
            return openBundleFile(path);
        const MeshFileKind kind = meshFileKind(path.toStdString());
        const PluginInfo* plugin = m_catalog.opening(path);
        const bool isForNobody = kind == MeshFileKind::PlyWithoutFaces && plugin == nullptr;
        if (kind == MeshFileKind::Mesh || isForNobody) // the view says what it is, if no mesh
            return openMesh(path);
        if (plugin != nullptr)
            return openWith(*plugin, path);
        openConfig(path);
    } catch (const Error& error) {
        refuse(cardForRefusal(problemIdOf(error.exitCode()), QString::fromUtf8(error.what())));
    }
}

void MainWindow::openConfig(const QString& path)
{
    const QString name = QFileInfo(path).fileName();
    const std::string toml = readFile(path.toStdString());
    if (!m_catalog.isComplete()) {
        m_options.files << path;
        return say(tr("%1 is looked at as soon as the plugins are known.").arg(name));
    }
    if (takeConfig(toml, name))
        say(tr("%1 is loaded.").arg(name));
}

bool MainWindow::takeConfig(const std::string& toml, const QString& name, const QString& plugin)
{
    const auto issues = m_setup->issuesIn(toml, name, plugin);
    if (hasErrors(issues)) {
        refuse(cardForConfig(name, issues));
        return false;
    }
    releaseForm();
    m_setup->loadToml(toml, name, plugin);
    m_problems.setDraftIssues(m_setup->form().issues());
    m_docks->reveal("setupDock");
    return true;
}

/// The window shows the file itself; no run is needed.
void MainWindow::openMesh(const QString& path)
{
    m_tabs->openMesh(QFileInfo(path).absoluteFilePath());
    showCentre();
}

/// A run of the plugin shows the file.
void MainWindow::openWith(const PluginInfo& plugin, const QString& path)
{
    const OpenedFile& kind = *plugin.opened(path);
    const QString value = QFileInfo(path).absoluteFilePath();
    const RunDraft draft{plugin.id(),
                         QString::fromStdString(kind.preset),
                         {QString::fromStdString(kind.key) + '=' + value},
                         {}};
    const QString id = launch([&] { return m_starter.start(draft); });
    if (!id.isEmpty())
        followNew(id, false);
}

void MainWindow::perform(RunAction action, const QStringList& ids)
{
    const QString id = ids.isEmpty() ? QString() : ids.front();
    const RunEntry* run = m_runs.find(id);
    if (run == nullptr || !isAllowed(action, *run))
        return;
    switch (action) {
    case RunAction::Open:
        return openRun(id, true);
    case RunAction::Rename:
    case RunAction::Tag:
        m_docks->reveal("runsDock");
        return m_runsPanel->edit(id, action == RunAction::Rename ? RunListModel::Name
                                                                 : RunListModel::Tags);
    case RunAction::UseConfig:
        return useConfig(id);
    case RunAction::Pause:
        return clientOf(id)->pause();
    case RunAction::Resume:
        if (run->state == RunState::Paused)
            return clientOf(id)->resume();
        if (run->isSubmitted())
            return submitAgain(id);
        [[fallthrough]];
    case RunAction::ResumeHere:
        return run->remote ? bringHome(id) : resumeHere(id);
    case RunAction::Fetch:
        return fetchResults(id);
    case RunAction::Stop:
        return stopRuns(ids);
    case RunAction::Kill:
        return clientOf(id)->kill();
    case RunAction::Extend:
        return extendRun(id);
    case RunAction::Explore:
        launch([&] {
            m_starter.explore(id);
            return id;
        });
        m_tabs->open(id);
        return showCentre();
    case RunAction::Export:
        return exportRun(id);
    case RunAction::ShowFolder:
        QDesktopServices::openUrl(
            QUrl::fromLocalFile(QString::fromStdString(run->folder.root.string())));
        return;
    case RunAction::CopyCommand:
        return copyCommandOf(id);
    case RunAction::MarkStopped:
        return markStopped(id);
    case RunAction::Trash:
        return moveToTrash(ids);
    }
}

void MainWindow::resumeHere(const QString& id)
{
    launch([&] {
        m_starter.resume(id);
        return id;
    });
    followNew(id, false);
}

void MainWindow::act(const QString& id, const QString& action)
{
    if (action == "resume")
        perform(RunAction::Resume, {id});
    else if (action == "continue" && clientOf(id) != nullptr)
        clientOf(id)->resume();
    else if (action == "log")
        m_docks->reveal("logDock");
    else if (action == "charts")
        m_docks->reveal("chartsDock");
    else if (action == "problems")
        m_docks->reveal("problemsDock");
    else if (action == "use_config" || action == "again" || action == "fix")
        perform(RunAction::UseConfig, {id});
    else if (action == "mark_stopped")
        markStopped(id);
    else if (action == "fetch")
        perform(RunAction::Fetch, {id});
    else if (action == "targets")
        openTargets();
    else if (action == "runs_folder")
        chooseRunsFolder();
    else if (action == "start_again")
        startDraft();
    else if (action == "folder")
        perform(RunAction::ShowFolder, {id});
    else if (action == "export")
        exportRun(id);
    else if (action == "compare")
        compareWithStart(id);
    else if (action == "copy_draft") {
        m_setup->form().commitPending();
        const QString target = m_setup->place().target();
        QGuiApplication::clipboard()->setText(
            target.isEmpty() ? m_starter.commandLineOf(m_setup->draft())
                             : m_submitter.commandLineOf(m_setup->draft(), target));
    } else if (action == "plugins") {
        auto* manager = new PluginManager(m_catalog, this);
        manager->setAttribute(Qt::WA_DeleteOnClose);
        manager->show();
    }
}

void MainWindow::useConfig(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    launch([&]() -> QString {
        if (takeConfig(readFile(run->folder.config()), run->name, run->plugin))
            m_setup->strip().setStage(StageStrip::Stage::Setup);
        return id;
    });
}

void MainWindow::markStopped(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    if (run == nullptr || !isAllowed(RunAction::MarkStopped, *run))
        return;
    launch([&] {
        RunStatus status = readStatus(run->folder);
        status.state = nameOf(RunState::Stopped);
        writeStatus(run->folder, status);
        if (run->session != nullptr)
            run->session->client().attach();
        m_runs.reload(id);
        return id;
    });
    if (RunView* view = m_tabs->find(id))
        view->clearCards();
}

void MainWindow::compareWithStart(const QString& id)
{
    RunView* view = m_tabs->open(id);
    if (view != nullptr && !view->pump().compareWithStart())
        refuse(cardForRefusal("E-VIEW", tr("No picture from the start of %1 was seen in this "
                                           "window.")
                                            .arg(m_runs.find(id)->name)),
               id);
}

void MainWindow::setLiveValue(const QString& key, const QString& tomlValue)
{
    const RunEntry* run = m_runs.find(m_formRun.isEmpty() ? m_current : m_formRun);
    if (run != nullptr && isLive(run->state))
        clientOf(run->id)->setLive(key.toStdString(), tomlValue.toStdString());
}

} // namespace vergence
