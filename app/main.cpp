#include <cstdio>
#include <cstdlib>
#include <memory>

#include <QApplication>
#include <QImageReader>
#include <QSurfaceFormat>

#include "app/shell/main_window.h"
#include "app/shell/preview_path.h"
#include "app/shell/watchdog.h"
#include "core/base/error.h"
#include "core/run/signal_watch.h"

namespace {

void prepareQt()
{
    QCoreApplication::setApplicationName("vergence");
    QCoreApplication::setAttribute(Qt::AA_ShareOpenGLContexts);
    QGuiApplication::setDesktopFileName("org.vergence.Studio");
    QSurfaceFormat format = QSurfaceFormat::defaultFormat();
    format.setVersion(3, 3);
    format.setProfile(QSurfaceFormat::CoreProfile);
    QSurfaceFormat::setDefaultFormat(format);
}

/// Qt ends a program that finds no display by abort(), after advice to install it anew.
void explainMissingDisplay(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    if (type == QtFatalMsg) {
        std::fprintf(stderr,
                     "vergence-studio: the display %s cannot be reached; use `vergence` in a "
                     "terminal, or set DISPLAY.\n",
                     vergence::displayName().c_str());
        std::_Exit(static_cast<int>(vergence::ExitCode::NoDevice));
    }
    if (type == QtCriticalMsg)
        std::fprintf(stderr, "%s\n", qPrintable(message));
}

int showWindow(QApplication& application, const vergence::ShellOptions& options)
{
    QImageReader::setAllocationLimit(1024); // MiB; planes of large displays go beyond Qt's default
    vergence::Theme theme(application);
    vergence::MainWindow window(options, theme);
    std::unique_ptr<vergence::Watchdog> watchdog;
    if (options.hasWatchdog)
        watchdog = std::make_unique<vergence::Watchdog>();
    // Ends like a closed window, so that the layout is kept; runs go on either way.
    vergence::SignalWatch signals;
    QObject::connect(&signals, &vergence::SignalWatch::interrupted, &window, &QWidget::close);
    window.show();
    const int code = QApplication::exec();
    if (watchdog)
        std::printf("%s\n", watchdog->report().constData());
    return code;
}

} // namespace

int main(int argc, char** argv)
{
    vergence::ShellOptions options;
    if (const auto code = vergence::parseShellOptions(argc, argv, options))
        return *code;
    if (!vergence::hasDisplay()) {
        std::fprintf(stderr, "vergence-studio: no display was found; use `vergence` in a terminal, "
                             "or set DISPLAY.\n");
        return static_cast<int>(vergence::ExitCode::NoDevice);
    }
    prepareQt();
    try {
        const QtMessageHandler usual = qInstallMessageHandler(explainMissingDisplay);
        QApplication application(argc, argv);
        qInstallMessageHandler(usual);
        if (options.probesInterop)
            return vergence::probeInterop();
        if (options.warmsShaders)
            return vergence::warmShaders();
        return showWindow(application, options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "vergence-studio: %s\n", error.what());
        return static_cast<int>(vergence::ExitCode::RunFailed);
    }
}
