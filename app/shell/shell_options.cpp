#include "app/shell/shell_options.h"

#include <CLI/CLI.hpp>

#include "core/base/error.h"

namespace vergence {

namespace {

QStringList toQt(const std::vector<std::string>& texts)
{
    QStringList list;
    for (const std::string& text : texts)
        list << QString::fromStdString(text);
    return list;
}

} // namespace

std::optional<int> parseShellOptions(int argc, char** argv, ShellOptions& options)
{
    CLI::App app("Vergence Studio: configure, launch and watch GPU research runs.",
                 "vergence-studio");
    std::string runs, settings;
    std::vector<std::string> plugins, files;
    app.set_version_flag("--version,-V", std::string("vergence-studio ") + VERGENCE_VERSION);
    app.add_option("--runs-dir", runs, "Folder that holds the run folders")->type_name("DIR");
    app.add_option("--plugin-path", plugins, "Further folder with plugins; may be repeated")
        ->type_name("DIR")
        ->allow_extra_args(false); // files may follow
    app.add_flag("--safe-mode", options.isSafeMode, "Open no plugin");
    app.add_option("--settings-dir", settings, "Folder of settings.ini")->type_name("DIR");
    app.add_flag("--clean", options.isClean, "Start with default settings and keep none");
    app.add_flag("--watchdog", options.hasWatchdog,
                 "Log blocks of the window over 50 ms; print the longest at exit");
    // For the window itself, which asks a child process.
    app.add_flag("--probe-interop", options.probesInterop)->group("");
    app.add_flag("--warm-shaders", options.warmsShaders)->group("");
    app.add_option("files", files, "Configuration files and run folders to open");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::Usage);
    }
    options.runsFolder = QString::fromStdString(runs);
    options.settingsFolder = QString::fromStdString(settings);
    options.pluginFolders = toQt(plugins);
    options.files = toQt(files);
    return std::nullopt;
}

bool hasDisplay()
{
    return qEnvironmentVariableIsSet("QT_QPA_PLATFORM") ||
           !qEnvironmentVariableIsEmpty("DISPLAY") ||
           !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
}

std::string displayName()
{
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
        if (!qEnvironmentVariableIsEmpty(name))
            return qgetenv(name).toStdString();
    }
    return {};
}

} // namespace vergence
