#pragma once

#include <QObject>

#include "app/shell/run_list_model.h"
#include "app/shell/worker_commands.h"

namespace vergence {

class StudioSettings;

/// Starts workers for new runs and for those that go on. Every function throws Error where the
/// worker or the folder is missing; what the worker itself meets comes through the run's client.
class RunStarter : public QObject {
    Q_OBJECT
public:
    RunStarter(RunListModel& runs, StudioSettings& settings, QString executable,
               QStringList pluginFolders, QObject* parent = nullptr);

    QString start(const RunDraft& draft); ///< id of the new run
    void resume(const QString& id);
    /// `assignment` sets the new total, for instance "iterations=500".
    void extend(const QString& id, const QString& assignment);
    /// Serves the views of a finished run until nobody watches.
    void explore(const QString& id);
    /// What a person would type for this draft.
    QString commandLineOf(const RunDraft& draft) const;
    QStringList arguments(const RunDraft& draft, const QString& runFolder) const;

Q_SIGNALS:
    /// A worker that should have made way for this one did not end.
    void startFailed(const QString& id, const QString& sentence);

private:
    void launch(const QString& id, const QStringList& arguments);
    void launchWhenFree(const QString& id, const QStringList& arguments, int attempts);

    RunListModel& m_runs;
    StudioSettings& m_settings;
    QString m_executable;
    QStringList m_pluginFolders;
};

} // namespace vergence
