#pragma once

#include <memory>

#include <QAction>
#include <QApplication>
#include <QTemporaryDir>
#include <QTest>

#include "app/shell/error_card.h"
#include "app/shell/main_window.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

namespace vergence {

/// The real window in this process, with private folders for everything it may write.
class GuiHarness {
public:
    /// Points HOME and the XDG folders below `folder`; call before QApplication is made.
    static void useFolder(const QString& folder);
    static QString folder();

    explicit GuiHarness(ShellOptions options = optionsWithTestPlugins());
    ~GuiHarness();
    static ShellOptions optionsWithTestPlugins();

    MainWindow& window() { return *m_window; }
    /// Closes the window and opens another one, as a restart of the program would.
    void restart();

    QAction* findAction(const QString& id) const;
    template <class T>
    T* find(const QString& name) const
    {
        return m_window->findChild<T*>(name);
    }
    /// Presses the button of this name; fails the test where there is none.
    void click(const QString& name) const;
    /// Replaces the text of the setting `key`; Enter commits it.
    void type(const QString& key, const QString& text, bool commits = true) const;
    QString textOf(const QString& label) const; ///< of the QLabel of this name
    ErrorCard* card() const;                    ///< the first visible one, or null
    static int visibleDialogs();
    /// Numbers of the series `name` of a run that the window has; none before the first.
    std::vector<double> valuesOf(const QString& run, const std::string& name);

    bool waitForPlugins();
    /// Bears with a run as long as it moves: `milliseconds` are those without a new state, step or
    /// phase.
    bool waitState(const QString& run, RunState state, int milliseconds = test::kGuardMilliseconds);
    /// Starts `plugin` with the values of `toml` from the form; id of the run.
    QString start(const QString& plugin, const QString& toml);
    /// Saves a picture of the screen where VERGENCE_SHOTS names a folder; VERGENCE_SHOTS_THEME
    /// chooses "light" or "dark".
    void shoot(const QString& name);
    /// Ends every live run and waits for the workers.
    void endRuns();

private:
    void open();

    ShellOptions m_options;
    std::unique_ptr<MainWindow> m_window;
};

/// Processes whose environment names `text`: what a program that was given private folders left
/// running.
std::vector<int> processesWith(const QString& text);

} // namespace vergence

/// Like VERGENCE_WINDOW_TEST, with private folders that exist before QApplication does.
#define VERGENCE_GUI_TEST(Class)                                                                   \
    VERGENCE_REGISTER_TEST(Class, const QTemporaryDir folder;                                      \
                           vergence::GuiHarness::useFolder(folder.path());                         \
                           QCoreApplication::setApplicationName("vergence");                       \
                           QCoreApplication::setAttribute(Qt::AA_ShareOpenGLContexts);             \
                           QApplication application(argc, argv))
