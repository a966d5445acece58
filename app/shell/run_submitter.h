#pragma once

#include <functional>
#include <vector>

#include <QObject>

#include "app/shell/command_call.h"
#include "app/shell/run_list_model.h"
#include "app/shell/worker_commands.h"

namespace vergence {

class StudioSettings;

/// What a target has taken, as one job.
struct SubmittedRuns {
    QString target, job;
    std::vector<RunFolder> folders;
};

/// Puts runs into the queue of a target and takes them out of it, by `vergence submit` and
/// `vergence cancel`. One submission at a time.
class RunSubmitter : public QObject {
    Q_OBJECT
public:
    RunSubmitter(RunListModel& runs, StudioSettings& settings, QString executable,
                 QStringList pluginFolders, QObject* parent = nullptr);
    ~RunSubmitter() override; ///< waits for what is under way

    /// Several drafts are those of a sweep. Throws InputError where there is no such target.
    void submit(const QString& target, const std::vector<RunDraft>& drafts);
    /// Submits an ended run again, to the target that it had. `assignment` sets a new total.
    void resume(const QString& id, const QString& assignment = {});
    void cancel(const QStringList& ids);
    /// What a person would type for this draft.
    QString commandLineOf(const RunDraft& draft, const QString& target) const;
    bool isSubmitting() const { return m_isSubmitting; }

Q_SIGNALS:
    void submittingChanged();
    void submitted(const vergence::SubmittedRuns& runs);
    void cancelled(const QStringList& ids);
    /// `id`: of the run that should go on or be cancelled; empty for new ones.
    void refused(const QString& sentence, const QString& id);

private:
    using Done = std::function<void(const CommandAnswer&)>;
    void call(const QStringList& arguments, Done done);
    void begin(const QStringList& arguments, const QString& id);

    RunListModel& m_runs;
    StudioSettings& m_settings;
    QString m_executable;
    QStringList m_pluginFolders;
    bool m_isSubmitting = false;
};

} // namespace vergence
