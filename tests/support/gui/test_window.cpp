// vergence-test-window PLUGIN TOML LAYOUT: the window, with a run of PLUGIN started from its form.
// Prints the id of the run and stays until it is ended. The environment names the folders.

#include <cstdio>

#include "tests/support/gui/gui_harness.h"

int main(int argc, char** argv)
{
    QCoreApplication::setApplicationName("vergence");
    QCoreApplication::setAttribute(Qt::AA_ShareOpenGLContexts);
    QApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.size() != 4)
        return 2;
    vergence::GuiHarness gui;
    if (!gui.waitForPlugins())
        return 1;
    gui.window().docks().apply(arguments[3]);
    const QString run = gui.start(arguments[1], arguments[2]);
    if (run.isEmpty())
        return 1;
    std::printf("%s\n", qPrintable(run));
    std::fflush(stdout);
    return QApplication::exec();
}
