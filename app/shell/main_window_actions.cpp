// What the actions of the window do; built in main_window.cpp.

#include <QComboBox>
#include <QMessageBox>
#include <QShortcut>
#include <QStackedWidget>

#include "app/shell/key_sheet.h"
#include "app/shell/main_window.h"
#include "app/shell/preferences_dialog.h"

namespace vergence {

void MainWindow::connectActions()
{
    StudioActions& a = *m_actions;
    const auto on = [this](QAction* action, auto slot) {
        connect(action, &QAction::triggered, this, slot);
    };
    const auto onRun = [this, on](QAction* action, RunAction what) {
        on(action, [this, what] { perform(what, {m_current}); });
    };
    on(a.newRun, [this] {
        releaseForm();
        m_docks->reveal("setupDock");
    });
    on(a.open, [this] { openDialog(); });
    on(a.openRunsFolder, [this] {
        PreferencesDialog dialog(m_settings, this);
        connect(&dialog, &PreferencesDialog::runsFolderChanged, &m_runs, &RunListModel::setFolder);
        dialog.exec();
    });
    on(a.quit, [this] { close(); });
    on(a.find, [this] { findInFocus(); });
    on(a.palette, [this] { openPalette(); });
    on(a.start, [this] { startDraft(); });
    on(a.queue, [this] {
        m_setup->form().commitPending();
        if (!hasErrors(m_setup->form().issues()) && !m_setup->plugin().isEmpty())
            m_queue.add(m_setup->draft());
        else
            m_docks->reveal("problemsDock");
    });
    on(a.sweep, [this] { openSweep(); });
    on(a.forecast, [this] { forecastDraft(); });
    on(a.copyCommandLine, [this] { act({}, "copy_draft"); });
    on(a.pause, [this] {
        const RunEntry* run = m_runs.find(m_current);
        perform(run != nullptr && isAllowed(RunAction::Resume, *run) ? RunAction::Resume
                                                                     : RunAction::Pause,
                {m_current});
    });
    onRun(a.stop, RunAction::Stop);
    on(a.checkpoint, [this] {
        if (RunClient* client = clientOf(m_current))
            client->checkpoint();
    });
    onRun(a.resume, RunAction::Resume);
    onRun(a.resumeHere, RunAction::ResumeHere);
    onRun(a.fetch, RunAction::Fetch);
    on(a.targets, [this] { openTargets(); });
    onRun(a.extend, RunAction::Extend);
    onRun(a.explore, RunAction::Explore);
    onRun(a.useConfig, RunAction::UseConfig);
    onRun(a.rename, RunAction::Rename);
    on(a.restore, [this] { restoreArchived(); });
    onRun(a.exportRun, RunAction::Export);
    on(a.screenshot, [this] { takeScreenshot(); });
    on(a.fullScreen, [this](bool full) { full ? showFullScreen() : showNormal(); });
    on(a.resetLayout, [this] { m_docks->apply(m_docks->current()); });
    on(a.startPage, [this] { m_centre->setCurrentWidget(m_start); });
    on(a.nextPane, [this] { goToPane(1); });
    on(a.previousPane, [this] { goToPane(-1); });
    on(a.nextProblem, [this] {
        if (m_problemsPanel->isAncestorOf(focusWidget()) || !m_log->jumpToProblem(true))
            m_problemsPanel->jumpToNext(true);
    });
    on(a.previousProblem, [this] {
        if (m_problemsPanel->isAncestorOf(focusWidget()) || !m_log->jumpToProblem(false))
            m_problemsPanel->jumpToNext(false);
    });
    on(a.pluginManager, [this] { act({}, "plugins"); });
    on(a.keySheet, [this] { (new KeySheet(m_actions->all(), this))->show(); });
    on(a.about, [this] {
        QMessageBox::about(
            this, tr("About Vergence Studio"),
            tr("<b>Vergence Studio %1</b><br>A desktop studio for GPU research on light and vision."
               "<br>Licence: GPL-3.0-or-later.")
                .arg(VERGENCE_VERSION));
    });
    on(a.preferences, [this] {
        auto* dialog = new PreferencesDialog(m_settings, this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        connect(dialog, &PreferencesDialog::appearanceChanged, this, &MainWindow::applyAppearance);
        connect(dialog, &PreferencesDialog::runsFolderChanged, &m_runs, &RunListModel::setFolder);
        connect(dialog, &PreferencesDialog::previewPathChanged, this,
                [this] { m_previewPath.choose(m_settings.previewPath()); });
        dialog->show();
    });
    connect(a.layoutCombo, &QComboBox::textActivated, m_docks, &DockLayout::apply);
    connect(m_docks, &DockLayout::layoutApplied, a.layoutCombo, &QComboBox::setCurrentText);
    const char* const panes[] = {"runsDock", "setupDock", nullptr,       "chartsDock",
                                 "logDock",  "queueDock", "devicesDock", "problemsDock"};
    for (int i = 0; i < 8; ++i) {
        auto* shortcut =
            new QShortcut(QKeySequence(static_cast<int>(Qt::CTRL) | (Qt::Key_1 + i)), this);
        connect(shortcut, &QShortcut::activated, this, [this, name = panes[i]] {
            name == nullptr ? focusCentre() : m_docks->reveal(name);
        });
    }
}

} // namespace vergence
