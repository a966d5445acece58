#pragma once

#include <vector>

#include <QAction>
#include <QObject>

class QComboBox;
class QMainWindow;
class QMenu;

namespace vergence {

/// Every action of the window, once: menus, toolbar, palette and key sheet show the same objects.
/// Object names are `action/<id>`.
class StudioActions : public QObject {
    Q_OBJECT
public:
    explicit StudioActions(QMainWindow& window);

    QAction *newRun, *open, *quit;
    QAction *undo, *redo, *find, *preferences, *palette;
    QAction *start, *queue, *sweep, *forecast, *pause, *stop, *checkpoint, *resume, *resumeHere,
        *fetch, *extend, *explore, *useConfig, *rename, *restore;
    QAction *exportRun, *screenshot;
    QAction *fullScreen, *resetLayout, *startPage, *nextPane, *previousPane;
    QAction *nextProblem, *previousProblem;
    QAction *pluginManager, *targets, *copyCommandLine, *openRunsFolder;
    QAction *keySheet, *about;
    QComboBox* layoutCombo;

    const std::vector<QAction*>& all() const { return m_all; }
    QAction* byId(const QString& id) const;
    /// Adds the docks' own toggles to the menu View, with Ctrl+1 … for the first ones.
    void addDockToggles(const std::vector<QAction*>& toggles);
    /// New icons after a change of the palette.
    void tint(const QPalette& colours);

private:
    QAction* add(const char* id, const QString& text, const char* icon, const QKeySequence& keys,
                 const QString& tip);
    void makeMenus(QMainWindow& window);
    void makeToolBar(QMainWindow& window);

    std::vector<QAction*> m_all;
    QMenu* m_view = nullptr;
};

} // namespace vergence
