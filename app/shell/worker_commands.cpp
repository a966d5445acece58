#include "app/shell/worker_commands.h"

#include <QCoreApplication>
#include <QDir>
#include <QRandomGenerator>

#include "core/base/clock.h"
#include "core/base/shell_word.h"

namespace vergence {

namespace {

constexpr int kLingerSeconds = 30; ///< after the last viewer has left

QStringList draftArguments(const RunDraft& draft)
{
    QStringList arguments{draft.configFile.isEmpty() ? draft.plugin : draft.configFile};
    if (draft.configFile.isEmpty() && !draft.preset.isEmpty())
        arguments << "--preset" << draft.preset;
    for (const QString& flag : draft.flags)
        arguments << "--set" << flag;
    return arguments;
}

/// What every run of the window is told, new or resumed. The worker goes on answering the viewer
/// for a while, so that the views of a fresh result can be explored.
QStringList habits(int checkpointSeconds)
{
    return {"--checkpoint-every", QString::number(checkpointSeconds), "--linger",
            QString::number(kLingerSeconds)};
}

} // namespace

QString RunDraft::title() const
{
    if (!configFile.isEmpty())
        return QFileInfo(configFile).completeBaseName();
    return preset.isEmpty() ? plugin : plugin + " · " + preset;
}

QString workerExecutable()
{
    const QString named = qEnvironmentVariable("VERGENCE_WORKER");
    return named.isEmpty() ? QDir(QCoreApplication::applicationDirPath()).filePath("vergence")
                           : named;
}

QStringList runArguments(const RunDraft& draft, const QString& runFolder, int checkpointSeconds)
{
    return QStringList{"run"} + draftArguments(draft) + habits(checkpointSeconds) +
           QStringList{"--run-dir", runFolder};
}

QStringList resumeArguments(const QString& runFolder, int checkpointSeconds)
{
    return QStringList{"run", runFolder, "--resume"} + habits(checkpointSeconds);
}

QStringList extendArguments(const QString& runFolder, const QString& assignment,
                            int checkpointSeconds)
{
    return resumeArguments(runFolder, checkpointSeconds) << "--set" << assignment;
}

QStringList exploreArguments(const QString& runFolder)
{
    return {"view", runFolder};
}

QStringList submitArguments(const RunDraft& draft, const QString& target, const QString& runsFolder)
{
    QStringList arguments = QStringList{"submit"} + draftArguments(draft);
    arguments << "--target" << target;
    if (!runsFolder.isEmpty())
        arguments << "--runs-dir" << runsFolder;
    return arguments;
}

QStringList forecastArguments(const RunDraft& draft, const QString& target)
{
    QStringList arguments = QStringList{"forecast"} + draftArguments(draft);
    if (!target.isEmpty())
        arguments << "--target" << target;
    return arguments;
}

QStringList submitSweepArguments(const std::vector<RunDraft>& drafts, const QString& target,
                                 const QString& runsFolder)
{
    RunDraft common = drafts.front();
    const QString key = common.sweep->key;
    QStringList values;
    for (const RunDraft& draft : drafts)
        values << draft.sweep->value;
    common.flags.removeIf([&](const QString& flag) { return flag.startsWith(key + '='); });
    return submitArguments(common, target, runsFolder) << "--sweep" << key + '=' + values.join(',');
}

QStringList resubmitArguments(const QString& runFolder, const QString& target,
                              const QString& assignment)
{
    QStringList arguments{"submit", runFolder, "--target", target};
    if (!assignment.isEmpty())
        arguments << "--set" << assignment;
    return arguments;
}

QStringList cancelArguments(const QStringList& runFolders)
{
    return QStringList{"cancel"} + runFolders;
}

QStringList fetchArguments(const QString& runFolder)
{
    return {"fetch", runFolder};
}

QStringList checkTargetArguments(const QString& target)
{
    return {"targets", "check", target, "--json"};
}

QStringList installArguments(const QString& target)
{
    return {"targets", "install", target};
}

QStringList validateArguments(const QString& configFile)
{
    return {"validate", configFile, "--json"};
}

QStringList validateArguments(const RunDraft& draft)
{
    return QStringList{"validate"} + draftArguments(draft) + QStringList{"--json"};
}

QStringList pluginArguments(const QStringList& pluginFolders)
{
    QStringList arguments;
    for (const QString& folder : pluginFolders)
        arguments << "--plugin-path" << folder;
    return arguments;
}

QString commandLine(const QString& program, const QStringList& arguments)
{
    QStringList words;
    for (const QString& word : QStringList{program} + arguments)
        words << QString::fromStdString(shellWord(word.toStdString()));
    return words.join(' ');
}

std::filesystem::path newRunPath(const QString& parent, const QString& plugin)
{
    const std::filesystem::path folder = parent.toStdString();
    while (true) {
        const QString name =
            QString("%1-%2-%3")
                .arg(QString::fromStdString(utcNowForPath()), plugin)
                .arg(QRandomGenerator::global()->bounded(0x10000), 4, 16, QChar('0'));
        if (!std::filesystem::exists(folder / name.toStdString()))
            return folder / name.toStdString();
    }
}

} // namespace vergence
