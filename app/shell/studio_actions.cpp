#include "app/shell/studio_actions.h"

#include <QComboBox>
#include <QLabel>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QToolBar>
#include <QToolButton>

#include "app/style/icons.h"

namespace vergence {

QAction* StudioActions::add(const char* id, const QString& text, const char* icon,
                            const QKeySequence& keys, const QString& tip)
{
    auto* action = new QAction(text, this);
    action->setObjectName(QString("action/") + id);
    action->setProperty("iconName", QString(icon));
    action->setShortcut(keys);
    const QString shown = QString(text).remove('&').remove("…");
    const QString suffix =
        keys.isEmpty() ? QString() : " (" + keys.toString(QKeySequence::NativeText) + ")";
    action->setToolTip((tip.isEmpty() ? shown : tip) + suffix);
    action->setStatusTip(tip);
    m_all.push_back(action);
    return action;
}

StudioActions::StudioActions(QMainWindow& window) : QObject(&window)
{
    newRun = add("newRun", tr("&New run"), "new", Qt::CTRL | Qt::Key_N,
                 tr("Choose a preset in the setup"));
    open = add("open", tr("&Open run or configuration…"), "open", Qt::CTRL | Qt::Key_O, {});
    openRunsFolder = add("openRunsFolder", tr("Open another runs &folder…"), "",
                         Qt::CTRL | Qt::SHIFT | Qt::Key_O, {});
    quit = add("quit", tr("&Quit"), "", Qt::CTRL | Qt::Key_Q, tr("Close the window; runs go on"));
    undo = add("undo", tr("&Undo"), "", {}, tr("Undo the last change of the setup"));
    redo = add("redo", tr("&Redo"), "", {}, tr("Redo the last change of the setup"));
    find = add("find", tr("&Find"), "search", {}, tr("Find in the focused panel (Ctrl+F)"));
    preferences = add("preferences", tr("&Preferences…"), "", Qt::CTRL | Qt::Key_Comma, {});
    palette = add("palette", tr("&Search everything…"), "search", Qt::CTRL | Qt::Key_K,
                  tr("Search actions, presets, settings and runs"));
    start = add("start", tr("&Start"), "start", Qt::CTRL | Qt::Key_R,
                tr("Start a run with the present setup"));
    queue = add("queue", tr("Add to &queue"), "queue", Qt::CTRL | Qt::SHIFT | Qt::Key_R, {});
    sweep = add("sweep", tr("S&weep…"), "", {},
                tr("Add a run of the present setup for each of several values of a setting"));
    forecast =
        add("forecast", tr("&Forecast"), "", {},
            tr("Measure the first seconds of the present setup where it would work, and say how "
               "long it takes"));
    pause = add("pause", tr("&Pause"), "pause", Qt::CTRL | Qt::Key_Period,
                tr("Pause or resume the current run"));
    stop = add("stop", tr("S&top"), "stop", Qt::SHIFT | Qt::Key_F5,
               tr("Stop the current run after this step and keep its results"));
    checkpoint = add("checkpoint", tr("&Checkpoint"), "checkpoint",
                     Qt::CTRL | Qt::SHIFT | Qt::Key_K, tr("Save the state of the current run now"));
    resume = add("resume", tr("Resume from &checkpoint"), "", {}, {});
    resumeHere = add("resumeHere", tr("Resume &here"), "", {},
                     tr("Let a run of a target go on on this computer"));
    fetch = add("fetch", tr("&Fetch results"), "", {},
                tr("Bring what the current run has on the disk of its target"));
    extend = add("extend", tr("E&xtend…"), "", {}, tr("Let the current run go on for more steps"));
    explore = add("explore", tr("Ex&plore"), "eye", {},
                  tr("Serve the views of the current, finished run"));
    useConfig = add("useConfig", tr("&Use config"), "", {},
                    tr("Load the current run's configuration into the setup"));
    rename = add("rename", tr("Rena&me…"), "", Qt::Key_F2, tr("Give the current run a name"));
    restore = add("restore", tr("&Bring back what was archived"), "", {},
                  tr("Take the runs that were archived last out of the trash"));
    copyCommandLine = add("copyCommandLine", tr("Copy as command &line"), "copy", {},
                          tr("What to type in a terminal for this setup"));
    exportRun = add("export", tr("&Export…"), "export", Qt::CTRL | Qt::Key_E,
                    tr("Export results of the current run"));
    screenshot = add("screenshot", tr("S&creenshot"), "screenshot",
                     Qt::CTRL | Qt::SHIFT | Qt::Key_S, tr("Save a picture of the view"));
    fullScreen = add("fullScreen", tr("&Full screen"), "", Qt::Key_F11, {});
    fullScreen->setCheckable(true);
    resetLayout = add("resetLayout", tr("&Reset layout"), "", {}, {});
    startPage = add("startPage", tr("&Start page"), "", {}, {});
    nextProblem = add("nextProblem", tr("&Next problem"), "", Qt::Key_F8,
                      tr("In the log, or in Problems while it has the focus"));
    previousProblem =
        add("previousProblem", tr("&Previous problem"), "", Qt::SHIFT | Qt::Key_F8, {});
    nextPane =
        add("nextPane", tr("Ne&xt pane"), "", Qt::Key_F6, tr("Move the focus to the next panel"));
    previousPane = add("previousPane", tr("Pre&vious pane"), "", Qt::SHIFT | Qt::Key_F6, {});
    pluginManager = add("pluginManager", tr("Plugin &manager…"), "plugin", {}, {});
    targets =
        add("targets", tr("&Targets…"), "", {}, tr("Clusters and computers where runs may work"));
    keySheet = add("keySheet", tr("&Keyboard map"), "", Qt::Key_F1, {});
    about = add("about", tr("&About Vergence Studio"), "", {}, {});
    makeMenus(window);
    makeToolBar(window);
    tint(window.palette());
}

void StudioActions::makeMenus(QMainWindow& window)
{
    const auto menu = [&](const QString& title, std::initializer_list<QAction*> actions) {
        QMenu* made = window.menuBar()->addMenu(title);
        for (QAction* action : actions)
            action == nullptr ? static_cast<void>(made->addSeparator()) : made->addAction(action);
        return made;
    };
    menu(tr("&File"),
         {newRun, open, openRunsFolder, nullptr, exportRun, screenshot, nullptr, quit});
    menu(tr("&Edit"), {undo, redo, nullptr, find, palette, nullptr, preferences});
    m_view = menu(tr("&View"),
                  {startPage, fullScreen, resetLayout, nullptr, nextPane, previousPane, nullptr});
    menu(tr("&Run"),
         {start, queue, sweep, forecast, copyCommandLine, nullptr, pause, stop, checkpoint, nullptr,
          resume, resumeHere, fetch, extend, explore, useConfig, nullptr, rename, restore});
    menu(tr("&Plugins"), {pluginManager});
    menu(tr("&Tools"), {targets, nullptr, nextProblem, previousProblem});
    menu(tr("&Help"), {keySheet, about});
}

void StudioActions::makeToolBar(QMainWindow& window)
{
    QToolBar* bar = window.addToolBar(tr("Main toolbar"));
    bar->setObjectName("mainToolBar");
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    bar->setIconSize({18, 18});
    bar->addActions({newRun, start, pause, stop, checkpoint});
    bar->addSeparator();
    bar->addActions({exportRun, screenshot});
    bar->addSeparator();
    auto* label = new QLabel(tr("Layout: "), bar);
    layoutCombo = new QComboBox(bar);
    layoutCombo->setObjectName("layoutCombo");
    layoutCombo->setAccessibleName(tr("Layout of the window"));
    layoutCombo->setToolTip(tr("Arrangement of the panels"));
    bar->addWidget(label);
    bar->addWidget(layoutCombo);
    auto* spacer = new QWidget(bar);
    spacer->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(spacer);
    auto* search = new QToolButton(bar);
    search->setObjectName("searchButton");
    search->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    search->setText(tr("Search  %1").arg(palette->shortcut().toString(QKeySequence::NativeText)));
    search->setToolTip(palette->toolTip());
    search->setAccessibleName(palette->statusTip());
    search->setIcon(palette->icon());
    connect(palette, &QAction::changed, search,
            [this, search] { search->setIcon(palette->icon()); });
    connect(search, &QToolButton::clicked, palette, &QAction::trigger);
    bar->addWidget(search);
}

void StudioActions::addDockToggles(const std::vector<QAction*>& toggles)
{
    for (QAction* toggle : toggles) {
        m_view->addAction(toggle);
        m_all.push_back(toggle);
    }
}

QAction* StudioActions::byId(const QString& id) const
{
    for (QAction* action : m_all)
        if (action->objectName() == "action/" + id)
            return action;
    return nullptr;
}

void StudioActions::tint(const QPalette& colours)
{
    for (QAction* action : m_all) {
        const QString icon = action->property("iconName").toString();
        if (!icon.isEmpty())
            action->setIcon(tintedIcon(icon, colours));
    }
}

} // namespace vergence
