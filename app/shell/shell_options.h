#pragma once

#include <optional>
#include <string>

#include <QString>
#include <QStringList>

namespace vergence {

/// What the command line of the window says.
struct ShellOptions {
    QString runsFolder;         ///< --runs-dir; empty: the settings' folder
    QStringList pluginFolders;  ///< --plugin-path, repeatable
    bool isSafeMode = false;    ///< --safe-mode: opens no plugin
    QString settingsFolder;     ///< --settings-dir; empty: configHome()
    bool isClean = false;       ///< --clean: neither reads nor writes settings
    bool hasWatchdog = false;   ///< --watchdog: prints the longest block of the window at exit
    bool probesInterop = false; ///< --probe-interop: no window, see preview_path.h
    bool warmsShaders = false;  ///< --warm-shaders: no window, see gl_warmup.h
    QStringList files;          ///< configuration files and run folders to open
};

/// Fills `options`; a value is the exit code of a program that has nothing more to do (--help,
/// wrong usage).
std::optional<int> parseShellOptions(int argc, char** argv, ShellOptions& options);

/// Whether a window can be shown at all: a display is named, or Qt is told which platform to use.
bool hasDisplay();
/// The display or platform that Qt will ask, for messages: ":99".
std::string displayName();

} // namespace vergence
