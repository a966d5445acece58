#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include <QString>
#include <QStringList>

#include "app/shell/sweep.h"

namespace vergence {

/// A run as it is asked for, before it has a folder.
struct RunDraft {
    QString plugin, preset;
    QStringList flags;  ///< `key=value` of what differs from the preset
    QString configFile; ///< instead of plugin and preset: a TOML file whose header names the plugin
    std::optional<SweepPlace> sweep = {}; ///< of a run that is one of several
    QString title() const;
};

/// The command line and worker: $VERGENCE_WORKER, or `vergence` beside this program.
QString workerExecutable();

// Arguments of `vergence`, as a person would type them.
QStringList runArguments(const RunDraft& draft, const QString& runFolder, int checkpointSeconds);
QStringList resumeArguments(const QString& runFolder, int checkpointSeconds);
/// `assignment` sets a new total, for instance "iterations=500".
QStringList extendArguments(const QString& runFolder, const QString& assignment,
                            int checkpointSeconds);
QStringList exploreArguments(const QString& runFolder);
/// `runsFolder` empty: that of the target.
QStringList submitArguments(const RunDraft& draft, const QString& target,
                            const QString& runsFolder);
/// `target` empty: this computer.
QStringList forecastArguments(const RunDraft& draft, const QString& target);
/// A run for each value of the setting that `drafts` differ in; see sweepDrafts().
QStringList submitSweepArguments(const std::vector<RunDraft>& drafts, const QString& target,
                                 const QString& runsFolder);
/// `assignment`: a new total, or empty.
QStringList resubmitArguments(const QString& runFolder, const QString& target,
                              const QString& assignment);
QStringList cancelArguments(const QStringList& runFolders);
/// What a copy of a run elsewhere lacks of its results.
QStringList fetchArguments(const QString& runFolder);
QStringList checkTargetArguments(const QString& target);
QStringList installArguments(const QString& target);
QStringList validateArguments(const QString& configFile);
QStringList validateArguments(const RunDraft& draft);

/// `--plugin-path` for each folder, to be appended to any of the above.
QStringList pluginArguments(const QStringList& pluginFolders);

/// One line for a terminal, quoted where needed.
QString commandLine(const QString& program, const QStringList& arguments);

/// `<parent>/2026-03-02T10-15-07Z-<plugin>-7c1e`, a name that is not taken. Makes nothing.
std::filesystem::path newRunPath(const QString& parent, const QString& plugin);

} // namespace vergence
