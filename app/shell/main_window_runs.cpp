// What the window does with runs when somebody asks for it.

#include <QClipboard>
#include <QDesktopServices>
#include <QDir>
#include <QFileDialog>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMessageBox>
#include <QPushButton>
#include <QStackedWidget>
#include <QStatusBar>
#include <QUrl>

#include "app/export/export_dialog.h"
#include "app/forms/diff_dialog.h"
#include "app/shell/error_catalogue.h"
#include "app/shell/extension.h"
#include "app/shell/main_window.h"
#include "app/shell/plugin_manager.h"
#include "app/shell/screenshot.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace vergence {

namespace {

constexpr int kMessageMs = 8000;
constexpr int kPaletteRuns = 200;

}  // namespace

void MainWindow::say(const QString& sentence)
{
    statusBar()->showMessage(sentence, kMessageMs);
    log("shell").info("{}", sentence.toStdString());
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
        const QString sentence = QString::fromUtf8(error.what());
        m_problems.addRunProblem({IssueSeverity::Error, "E-START", sentence, {}, {}, {}, QDateTime::currentDateTime()});
        say(sentence);
        m_docks->reveal("problemsDock");
        return {};
    }
}

void MainWindow::startDemo()
{
    const PluginInfo* plugin = m_catalog.demoPlugin();
    if (plugin == nullptr) {
        say(tr("No plugin with a demo is ready."));
        return;
    }
    releaseForm();
    m_docks->apply("Train");
    m_setup->choose(plugin->id(), "demo");
    startDraft();
}

QString MainWindow::startDraft()
{
    if (m_setup->plugin().isEmpty())
        return {};
    if (hasErrors(m_setup->form().issues())) {
        say(tr("The setup has errors; Problems lists them."));
        m_docks->reveal("problemsDock");
        return {};
    }
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
    setCurrent(id);
    if (fromForm)
        freezeForm(id);
}

void MainWindow::freezeForm(const QString& id)
{
    m_formRun = id;
    m_validator.cancel();
    m_setup->strip().setStage(StageStrip::Stage::Run);
    m_setup->form().setFrozen(true, tr("%1 is going on; only live settings can be changed. New run (Ctrl+N) frees the form.")
                                        .arg(m_runs.find(id)->name));
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
            const RunFolder folder = RunFolder::open(QDir(path).absolutePath().toStdString());
            openRun(m_runs.addFolder(folder), true);
            return;
        }
        releaseForm();
        const QString name = QFileInfo(path).fileName();
        const auto issues = m_setup->loadToml(readFile(path.toStdString()), name);
        m_docks->reveal("setupDock");
        m_problems.setDraftIssues(issues);
        say(hasErrors(issues) ? tr("%1 has errors; Problems lists them.").arg(name) : tr("%1 is loaded.").arg(name));
    } catch (const Error& error) {
        launch([&]() -> QString { throw error; });
    }
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
    case RunAction::UseConfig:
        return useConfig(id);
    case RunAction::Pause:
        return clientOf(id)->pause();
    case RunAction::Resume:
        if (run->state == RunState::Paused)
            return clientOf(id)->resume();
        launch([&] { m_starter.resume(id); return id; });
        return followNew(id, false);
    case RunAction::Stop:
        return clientOf(id)->stop();
    case RunAction::Kill:
        return clientOf(id)->kill();
    case RunAction::Extend:
        return extendRun(id);
    case RunAction::Explore:
        launch([&] { m_starter.explore(id); return id; });
        m_tabs->open(id);
        return showCentre();
    case RunAction::Export:
        return exportRun(id);
    case RunAction::ShowFolder:
        QDesktopServices::openUrl(QUrl::fromLocalFile(QString::fromStdString(run->folder.root.string())));
        return;
    case RunAction::CopyCommand:
        return copyCommandOf(id);
    case RunAction::MarkStopped:
        return markStopped(id);
    case RunAction::Trash:
        return moveToTrash(ids);
    }
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
    else if (action == "folder")
        perform(RunAction::ShowFolder, {id});
    else if (action == "export")
        exportRun(id);
    else if (action == "compare")
        compareWithStart(id);
    else if (action == "copy_draft")
        QGuiApplication::clipboard()->setText(m_starter.commandLineOf(m_setup->draft()));
    else if (action == "plugins") {
        auto* manager = new PluginManager(m_catalog, this);
        manager->setAttribute(Qt::WA_DeleteOnClose);
        manager->show();
    }
}

void MainWindow::useConfig(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    releaseForm();
    const QString plugin = run->plugin, name = run->name;
    launch([&]() -> QString {
        m_problems.setDraftIssues(m_setup->loadToml(readFile(run->folder.config()), name, plugin));
        return id;
    });
    m_setup->strip().setStage(StageStrip::Stage::Setup);
    m_docks->reveal("setupDock");
}

void MainWindow::extendRun(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    const PluginInfo* plugin = m_catalog.find(run->plugin);
    const QString key = plugin == nullptr ? QString() : stepsKey(*plugin->schema, run->folder, run->total);
    if (key.isEmpty()) {
        say(tr("Which setting of %1 is the number of steps is not known; use its config and resume with a larger one.").arg(run->name));
        return;
    }
    auto* dialog = new QInputDialog(this);
    dialog->setObjectName("extendDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Extend %1").arg(run->name));
    dialog->setLabelText(tr("Further steps after step %L1 (%2):").arg(run->total).arg(key));
    dialog->setInputMode(QInputDialog::IntInput);
    dialog->setIntRange(1, 1'000'000'000);
    dialog->setIntValue(static_cast<int>(std::max<std::int64_t>(1, run->total / 2)));
    const std::int64_t total = run->total;
    connect(dialog, &QInputDialog::intValueSelected, this, [this, id, key, total](int further) {
        launch([&] {
            m_starter.extend(id, QString("%1=%2").arg(key).arg(total + further));
            return id;
        });
        followNew(id, false);
    });
    dialog->show();
}

void MainWindow::moveToTrash(const QStringList& ids)
{
    const auto answer = QMessageBox::question(
        this, tr("Archive to trash"),
        tr("Move %n run folder(s) to the trash of the desktop?", nullptr, static_cast<int>(ids.size())));
    if (answer != QMessageBox::Yes)
        return;
    for (const QString& id : ids) {
        const RunEntry* run = m_runs.find(id);
        if (run == nullptr || !isAllowed(RunAction::Trash, *run))
            continue;
        const QString path = QString::fromStdString(run->folder.root.string());
        m_tabs->closeRun(id);
        if (m_current == id)
            setCurrent({});
        if (QFile::moveToTrash(path))
            m_runs.removeRow(id);
        else
            say(tr("%1 cannot be moved to the trash.").arg(path));
    }
}

void MainWindow::markStopped(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    if (run == nullptr || run->state != RunState::Lost)
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

void MainWindow::copyCommandOf(const QString& id)
{
    launch([&] {
        QStringList words;
        for (const auto& word : readManifest(m_runs.find(id)->folder).value("command", nlohmann::json::array()))
            words << QString::fromStdString(word.get<std::string>());
        if (!words.isEmpty())
            QGuiApplication::clipboard()->setText(commandLine(QFileInfo(words.front()).fileName(), words.mid(1)));
        return id;
    });
}

void MainWindow::exportRun(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    if (run == nullptr)
        return;
    m_setup->strip().setStage(StageStrip::Stage::Export);
    RunView* view = m_tabs->find(id);
    auto* dialog = new ExportDialog(run->folder, view == nullptr ? QImage() : view->panel().grabView(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ExportDialog::exported, this, [this](const QString& path) { say(tr("Exported: %1").arg(path)); });
    connect(dialog, &ExportDialog::failed, this, [this, id](const QString& problem, const QString& sentence) {
        const RunEntry* failed = m_runs.find(id);
        m_problems.addRunProblem({IssueSeverity::Error, problem, sentence, {}, id, failed == nullptr ? id : failed->name,
                                  QDateTime::currentDateTime()});
        say(sentence);
    });
    dialog->show();
}

void MainWindow::takeScreenshot()
{
    RunView* view = m_tabs->current();
    if (view == nullptr)
        return;
    launch([&] {
        const QString path = saveScreenshot(view->panel().grabView(), m_runs.find(view->runId())->folder);
        say(tr("Screenshot: %1").arg(path));
        return path;
    });
}

void MainWindow::compareWithRun()
{
    const RunEntry* run = m_runs.find(m_current);
    if (run == nullptr) {
        say(tr("Select a run first; the setup is then compared with its configuration."));
        return;
    }
    launch([&] {
        auto* dialog = new DiffDialog(tr("This draft"), run->name, this);
        dialog->setRows(m_setup->form().differencesTo(readFile(run->folder.config())));
        dialog->show();
        return m_current;
    });
}

void MainWindow::savePreset(const QString& name, const QString& toml)
{
    launch([&] {
        saveUserPreset(m_setup->plugin(), name, toml.toStdString());
        m_setup->reloadPresets(name);
        say(tr("The preset “%1” is saved.").arg(name));
        return name;
    });
}

void MainWindow::setLiveValue(const QString& key, const QString& tomlValue)
{
    const RunEntry* run = m_runs.find(m_formRun.isEmpty() ? m_current : m_formRun);
    if (run != nullptr && isLive(run->state))
        clientOf(run->id)->setLive(key.toStdString(), tomlValue.toStdString());
}

void MainWindow::openDialog()
{
    auto* dialog = new QFileDialog(this, tr("Open a configuration, or the status.json of a run"), m_runs.folder());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters({tr("Configurations and runs (*.toml status.json)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        openPath(QFileInfo(path).fileName() == "status.json" ? QFileInfo(path).absolutePath() : path);
    });
    dialog->show();
}

void MainWindow::findInFocus()
{
    QWidget* focus = focusWidget();
    if (m_log->isAncestorOf(focus))
        m_log->focusFilter();
    else if (m_runsPanel->isAncestorOf(focus))
        m_runsPanel->focusFilter();
    else
        openPalette();
}

void MainWindow::openPalette()
{
    std::vector<PaletteEntry> entries;
    for (QAction* action : m_actions->all())
        if (action->isEnabled() && action != m_actions->palette)
            entries.push_back({QString(action->text()).remove('&').remove("…"),
                               action->shortcut().toString(QKeySequence::NativeText), [action] { action->trigger(); }});
    for (const PluginInfo& plugin : m_catalog.plugins()) {
        if (!plugin.isUsable())
            continue;
        for (const FormPreset& preset : plugin.presets)
            entries.push_back({tr("Preset: %1 %2").arg(plugin.title(), preset.title.isEmpty() ? preset.name : preset.title),
                               preset.summary, [this, id = plugin.id(), name = preset.name] {
                                   releaseForm();
                                   m_setup->choose(id, name);
                                   m_docks->reveal("setupDock");
                               }});
    }
    if (const PluginInfo* plugin = m_catalog.find(m_setup->plugin()))
        for (const Field& field : plugin->schema->fields())
            entries.push_back({tr("Setting: %1").arg(QString::fromStdString(field.title.empty() ? field.key : field.title)),
                               QString::fromStdString(field.key), [this, key = QString::fromStdString(field.key)] {
                                   m_docks->reveal("setupDock");
                                   m_setup->form().focusField(key);
                               }});
    for (int row = 0; row < std::min(kPaletteRuns, m_runs.rowCount()); ++row) {
        const RunEntry& run = m_runs.entry(row);
        entries.push_back({tr("Run: %1").arg(run.name), stateText(run), [this, id = run.id] { openRun(id, true); }});
    }
    auto* palette = new CommandPalette(std::move(entries), this);
    palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, 60)));
    palette->show();
}

}  // namespace vergence
