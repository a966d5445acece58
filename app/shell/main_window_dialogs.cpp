// Dialogs, files and the clipboard: what the window asks and writes for people.

#include <algorithm>
#include <utility>

#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMessageBox>
#include <QStackedWidget>

#include "app/export/export_dialog.h"
#include "app/shell/extension.h"
#include "app/shell/main_window.h"
#include "app/shell/screenshot.h"
#include "app/shell/sweep_dialog.h"
#include "app/shell/target_choice.h"
#include "core/artifact/bundle.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"

namespace vergence {

namespace {

constexpr int kPaletteRuns = 200;

/// What a menu calls an action, without marks.
QString plainText(const QAction& action)
{
    return QString(action.text()).remove('&').remove("…");
}

} // namespace

void MainWindow::extendRun(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    const PluginInfo* plugin = m_catalog.find(run->plugin);
    const QString key =
        plugin == nullptr ? QString() : stepsKey(*plugin->schema, run->folder, run->total);
    if (key.isEmpty()) {
        say(tr("Which setting of %1 is the number of steps is not known; use its config and resume "
               "with a larger one.")
                .arg(run->name));
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
        const QString assignment = QString("%1=%2").arg(key).arg(total + further);
        if (const RunEntry* known = m_runs.find(id); known != nullptr && known->isSubmitted())
            return submitAgain(id, assignment);
        launch([&] {
            m_starter.extend(id, assignment);
            return id;
        });
        followNew(id, false);
    });
    dialog->show();
}

void MainWindow::openSweep()
{
    const PluginInfo* plugin = m_catalog.find(m_setup->plugin());
    if (plugin == nullptr || !hasRightDraft())
        return;
    const RunDraft draft = m_setup->draft();
    std::vector<double> seconds;
    for (int row = 0; row < m_runs.rowCount(); ++row) {
        const RunEntry& run = m_runs.entry(row);
        if (run.state == RunState::Completed && run.seconds && run.plugin == draft.plugin &&
            run.preset == draft.preset)
            seconds.push_back(*run.seconds);
    }
    auto* dialog = new SweepDialog(*plugin->schema, draft, std::move(seconds), this);
    dialog->setCheck(m_executable, pluginArguments(m_options.pluginFolders));
    dialog->setTarget(m_setup->place().target());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &SweepDialog::runsWanted, this, [this](const std::vector<RunDraft>& drafts) {
        if (!m_setup->place().target().isEmpty())
            return submit(drafts);
        m_docks->reveal("queueDock");
        for (const RunDraft& one : drafts)
            m_queue.add(one);
    });
    dialog->show();
}

void MainWindow::chooseRunsFolder()
{
    auto* dialog = new QFileDialog(this, tr("Folder for runs"), QDir::homePath());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        m_settings.setRunsFolder(path);
        m_runs.setFolder(path);
        say(tr("Runs that start from now on are kept in %1.").arg(path));
    });
    dialog->show();
}

void MainWindow::moveToTrash(const QStringList& ids)
{
    const QString question =
        ids.size() == 1 ? tr("Move the run folder %1 to the trash of the desktop?").arg(ids.front())
                        : tr("Move %1 run folders to the trash of the desktop?").arg(ids.size());
    const bool hasCopies = std::ranges::any_of(ids, [this](const QString& id) {
        const RunEntry* run = m_runs.find(id);
        return run != nullptr && run->remote;
    });
    const QString rest =
        hasCopies ? ' ' + tr("What is on the disk of a target stays there.") : QString();
    const auto answer = QMessageBox::question(
        this, tr("Archive to trash"),
        question + rest + ' ' + tr("Run → %1 undoes it.").arg(plainText(*m_actions->restore)));
    if (answer != QMessageBox::Yes)
        return;
    m_archived.clear();
    for (const QString& id : ids) {
        const RunEntry* run = m_runs.find(id);
        if (run == nullptr || !isAllowed(RunAction::Trash, *run))
            continue;
        const QString path = QString::fromStdString(run->folder.root.string());
        m_tabs->closeRun(id);
        if (m_current == id)
            setCurrent({});
        QString inTrash;
        if (!QFile::moveToTrash(path, &inTrash)) {
            say(tr("%1 cannot be moved to the trash.").arg(path));
            continue;
        }
        m_archived.push_back({path, inTrash});
        m_runs.removeRow(id);
    }
    updateActions();
}

/// As the desktop's own "restore" would: the folder goes back, and the note of where it was goes.
void MainWindow::restoreArchived()
{
    for (const ArchivedRun& run : std::exchange(m_archived, {})) {
        const QFileInfo inTrash(run.inTrash);
        if (!QDir().rename(run.inTrash, run.folder)) {
            say(tr("%1 cannot be brought back; it is in %2.").arg(run.folder, run.inTrash));
            continue;
        }
        QFile::remove(inTrash.dir().filePath("../info/" + inTrash.fileName() + ".trashinfo"));
        m_runs.addFolder(RunFolder{run.folder.toStdString()});
        say(tr("%1 is back.").arg(run.folder));
    }
    m_runs.rescan();
    updateActions();
}

void MainWindow::copyCommandOf(const QString& id)
{
    launch([&] {
        QStringList words;
        for (const auto& word :
             readManifest(m_runs.find(id)->folder).value("command", nlohmann::json::array()))
            words << QString::fromStdString(word.get<std::string>());
        if (!words.isEmpty())
            QGuiApplication::clipboard()->setText(
                commandLine(QFileInfo(words.front()).fileName(), words.mid(1)));
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
    const bool hasPicture = view != nullptr && view->pump().framesShown() > 0;
    auto* dialog =
        new ExportDialog(run->folder, hasPicture ? view->panel().grabView() : QImage(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setDestination(m_settings.exportFolder());
    const QString own = QString::fromStdString(run->folder.exports().string());
    connect(dialog, &ExportDialog::exported, this, [this, own](const QString& path) {
        const QString folder = QFileInfo(path).absolutePath();
        m_settings.setExportFolder(folder == own ? QString() : folder);
        say(tr("Exported: %1").arg(path));
    });
    connect(dialog, &ExportDialog::failed, this,
            [this, id](const QString& problem, const QString& sentence) {
                note({IssueSeverity::Error, problem, sentence, {}, id, {}, {}});
            });
    dialog->show();
}

void MainWindow::takeScreenshot()
{
    ViewPanel* panel = m_tabs->currentPanel();
    if (panel == nullptr)
        return;
    const RunView* view = m_tabs->current();
    launch([&] {
        const RunEntry* run = view == nullptr ? nullptr : m_runs.find(view->runId());
        const QString path =
            saveScreenshot(panel->grabView(), run == nullptr ? nullptr : &run->folder);
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
        if (!m_setup->form().compareWith(readFile(run->folder.config()), run->name))
            say(tr("The configuration of %1 cannot be read.").arg(run->name));
        return m_current;
    });
}

void MainWindow::savePreset(const QString& name, const QString& toml)
{
    const PluginInfo* plugin = m_catalog.find(m_setup->plugin());
    if (plugin == nullptr)
        return;
    launch([&] {
        const FormPreset* same = plugin->preset(name);
        const bool isShipped = same != nullptr && !same->isUserPreset;
        const QString stored = saveUserPreset(*plugin, name, toml.toStdString());
        m_setup->reloadPresets(stored);
        say(isShipped
                ? tr("“%1” comes with the lab; the preset is saved as “%2”.").arg(name, stored)
                : tr("The preset “%1” is saved.").arg(stored));
        return stored;
    });
}

void MainWindow::openDialog()
{
    auto* dialog = new QFileDialog(
        this, tr("Open a configuration, a bundle, a mesh, or the status.json of a run"),
        m_runs.folder());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    QStringList filters{tr("Configurations, bundles and runs (*.toml *.zip status.json)"),
                        tr("Meshes (*.glb *.obj *.ply)")};
    for (const PluginInfo& plugin : m_catalog.plugins()) {
        QStringList patterns;
        for (const OpenedFile& kind : plugin.descriptor.opens)
            patterns << "*." + QString::fromStdString(kind.suffix);
        if (plugin.isUsable() && !patterns.isEmpty())
            filters << QString("%1 (%2)").arg(plugin.title(), patterns.join(' '));
    }
    dialog->setNameFilters(filters << tr("All files (*)"));
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        openPath(QFileInfo(path).fileName() == "status.json" ? QFileInfo(path).absolutePath()
                                                             : path);
    });
    dialog->show();
}

void MainWindow::openBundleFile(const QString& path)
{
    say(tr("Unpacking %1 …").arg(QFileInfo(path).fileName()));
    m_unpacking = std::jthread([this, path, parent = m_runs.folder().toStdString()] {
        std::optional<RunFolder> folder;
        std::string fault;
        try {
            std::filesystem::create_directories(parent);
            folder = openBundle(path.toStdString(), parent);
        } catch (const std::exception& error) {
            fault = error.what();
        }
        QMetaObject::invokeMethod(this, [this, folder, fault] {
            launch([&] {
                if (!folder)
                    throw InputError(fault);
                const QString id = m_runs.addFolder(*folder);
                openRun(id, false);
                return id;
            });
        });
    });
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

void MainWindow::goToPane(int offset)
{
    const QStringList panes = m_docks->visiblePanes();
    const auto now = panes.indexOf(m_docks->paneOf(focusWidget()));
    const auto next = (std::max<qsizetype>(now, 0) + offset + panes.size()) % panes.size();
    if (panes[next].isEmpty())
        focusCentre();
    else
        m_docks->reveal(panes[next]);
}

void MainWindow::focusCentre()
{
    QWidget* view = m_centre->currentWidget() == m_tabs ? m_tabs->currentWidget() : nullptr;
    for (const char* canvas : {"viewport", "softwareView"})
        if (QWidget* shown = view == nullptr ? nullptr : view->findChild<QWidget*>(canvas);
            shown != nullptr && shown->isVisible())
            return shown->setFocus(Qt::ShortcutFocusReason);
    focusInto(*m_centre->currentWidget());
}

void MainWindow::openPalette()
{
    std::vector<PaletteEntry> entries;
    for (QAction* action : m_actions->all())
        if (action->isEnabled() && action != m_actions->palette)
            entries.push_back({plainText(*action),
                               action->shortcut().toString(QKeySequence::NativeText),
                               [action] { action->trigger(); }});
    for (const PluginInfo& plugin : m_catalog.plugins()) {
        if (!plugin.isUsable())
            continue;
        for (const FormPreset& preset : plugin.presets)
            entries.push_back(
                {tr("Preset: %1 %2")
                     .arg(plugin.title(), preset.title.isEmpty() ? preset.name : preset.title),
                 preset.summary, [this, id = plugin.id(), name = preset.name] {
                     releaseForm();
                     m_setup->choose(id, name);
                     m_docks->reveal("setupDock");
                 }});
    }
    if (const PluginInfo* plugin = m_catalog.find(m_setup->plugin()))
        for (const Field& field : plugin->schema->fields())
            entries.push_back(
                {tr("Setting: %1")
                     .arg(QString::fromStdString(field.title.empty() ? field.key : field.title)),
                 QString::fromStdString(field.key),
                 [this, key = QString::fromStdString(field.key)] {
                     m_docks->reveal("setupDock");
                     m_setup->form().focusField(key);
                 }});
    for (int row = 0; row < std::min(kPaletteRuns, m_runs.rowCount()); ++row) {
        const RunEntry& run = m_runs.entry(row);
        entries.push_back({tr("Run: %1").arg(run.name), stateText(run),
                           [this, id = run.id] { openRun(id, true); }});
    }
    auto* palette = new CommandPalette(std::move(entries), this);
    palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, 60)));
    palette->show();
}

} // namespace vergence
