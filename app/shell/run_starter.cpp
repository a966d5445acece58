#include "app/shell/run_starter.h"

#include <QDir>
#include <QFileInfo>
#include <QTimer>

#include "app/shell/studio_settings.h"
#include "core/base/error.h"

namespace vergence {

RunStarter::RunStarter(RunListModel& runs, StudioSettings& settings, QString executable,
                       QStringList pluginFolders, QObject* parent)
    : QObject(parent),
      m_runs(runs),
      m_settings(settings),
      m_executable(std::move(executable)),
      m_pluginFolders(std::move(pluginFolders))
{
}

QStringList RunStarter::arguments(const RunDraft& draft, const QString& runFolder) const
{
    return runArguments(draft, runFolder, m_settings.checkpointSeconds()) +
           pluginArguments(m_pluginFolders);
}

QString RunStarter::commandLineOf(const RunDraft& draft) const
{
    const QString folder = QDir(m_runs.folder()).filePath(draft.plugin);
    return commandLine("vergence", arguments(draft, folder));
}

QString RunStarter::start(const RunDraft& draft)
{
    const QString plugin = draft.plugin.isEmpty() ? draft.title() : draft.plugin;
    const RunFolder folder{newRunPath(m_runs.folder(), plugin)}; // the worker makes it
    const QString id = m_runs.addFolder(folder, plugin, draft.preset);
    launch(id, arguments(draft, QString::fromStdString(folder.root.string())));
    return id;
}

void RunStarter::resume(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    expects(run != nullptr, "resume: unknown run " + id.toStdString());
    launch(id, resumeArguments(QString::fromStdString(run->folder.root.string()),
                               m_settings.checkpointSeconds()) +
                   pluginArguments(m_pluginFolders));
}

void RunStarter::extend(const QString& id, const QString& assignment)
{
    const RunEntry* run = m_runs.find(id);
    expects(run != nullptr && assignment.contains('='), "extend: a known run and key=value");
    launch(id, extendArguments(QString::fromStdString(run->folder.root.string()), assignment,
                               m_settings.checkpointSeconds()) +
                   pluginArguments(m_pluginFolders));
}

void RunStarter::explore(const QString& id)
{
    const RunEntry* run = m_runs.find(id);
    expects(run != nullptr, "explore: unknown run " + id.toStdString());
    launch(id, exploreArguments(QString::fromStdString(run->folder.root.string())) +
                   pluginArguments(m_pluginFolders));
}

void RunStarter::launch(const QString& id, const QStringList& arguments)
{
    if (!QFileInfo(m_executable).isExecutable())
        throw Error("The worker " + m_executable.toStdString() +
                        " is missing. Install `vergence` beside this program, or name it in "
                        "VERGENCE_WORKER.",
                    ExitCode::PluginUnavailable);
    launchWhenFree(id, arguments, 50);
}

void RunStarter::launchWhenFree(const QString& id, const QStringList& arguments, int attempts)
{
    RunSession* session = m_runs.session(id);
    if (session == nullptr)
        return;
    RunClient& client = session->client();
    const bool isNew = !std::filesystem::exists(client.folder().status());
    try {
        if (isNew || !isWorkerAlive(readStatus(client.folder()))) {
            client.start(m_executable, arguments);
            return;
        }
    } catch (const ContractError&) {
        // A worker that only served the views of this run is still there; it makes way like any
        // other.
    }
    if (attempts == 0) {
        Q_EMIT startFailed(id, tr("The earlier worker of %1 does not end. Stop it first.").arg(id));
        return;
    }
    if (attempts % 10 == 0)
        client.stop();
    QTimer::singleShot(100, this, [this, id, arguments, attempts] {
        launchWhenFree(id, arguments, attempts - 1);
    });
}

} // namespace vergence
