#include "app/shell/run_submitter.h"

#include <nlohmann/json.hpp>

#include "app/shell/studio_settings.h"
#include "core/base/error.h"
#include "core/cluster/target.h"

namespace vergence {

namespace {

constexpr int kEndMs = 60'000; ///< a submission that was cut in two would be a job without a run

/// The folder here that new runs of a target go to, or copies of them; empty where the target
/// itself says.
QString runsFolderFor(const QString& name, const QString& ours)
{
    const Target target = readTarget(name.toStdString()).target;
    return target.folder.empty() || target.disk == Disk::Own ? ours : QString();
}

SubmittedRuns runsIn(const QByteArray& answer)
{
    const auto json = nlohmann::json::parse(answer.begin(), answer.end());
    SubmittedRuns runs;
    runs.target = QString::fromStdString(json.at("target").get<std::string>());
    runs.job = QString::fromStdString(json.at("job").get<std::string>());
    for (const auto& run : json.at("runs"))
        runs.folders.push_back(RunFolder{run.at("folder").get<std::string>()});
    return runs;
}

} // namespace

RunSubmitter::RunSubmitter(RunListModel& runs, StudioSettings& settings, QString executable,
                           QStringList pluginFolders, QObject* parent)
    : QObject(parent),
      m_runs(runs),
      m_settings(settings),
      m_executable(std::move(executable)),
      m_pluginFolders(std::move(pluginFolders))
{
}

RunSubmitter::~RunSubmitter()
{
    for (CommandCall* call : findChildren<CommandCall*>())
        call->finish(kEndMs);
}

void RunSubmitter::submit(const QString& target, const std::vector<RunDraft>& drafts)
{
    const QString folder = runsFolderFor(target, m_runs.folder());
    begin(drafts.size() == 1 ? submitArguments(drafts.front(), target, folder)
                             : submitSweepArguments(drafts, target, folder),
          {});
}

QString RunSubmitter::commandLineOf(const RunDraft& draft, const QString& target) const
{
    return commandLine("vergence", submitArguments(draft, target, m_runs.folder()) +
                                       pluginArguments(m_pluginFolders));
}

void RunSubmitter::resume(const QString& id, const QString& assignment)
{
    const RunEntry* run = m_runs.find(id);
    expects(run != nullptr && run->isSubmitted(), "resume: a run that was submitted");
    begin(resubmitArguments(QString::fromStdString(run->folder.root.string()), run->target(),
                            assignment),
          id);
}

void RunSubmitter::begin(const QStringList& arguments, const QString& id)
{
    if (m_isSubmitting)
        return Q_EMIT refused(tr("Another submission is under way. Try again in a moment."), id);
    m_isSubmitting = true;
    Q_EMIT submittingChanged();
    const QStringList habits{"--json", "--checkpoint-every",
                             QString::number(m_settings.checkpointSeconds())};
    call(arguments + habits + pluginArguments(m_pluginFolders),
         [this, id](const CommandAnswer& answer) {
             m_isSubmitting = false;
             Q_EMIT submittingChanged();
             if (!answer.isGood())
                 return Q_EMIT refused(answer.refusal, id);
             try {
                 Q_EMIT submitted(runsIn(answer.output));
             } catch (const nlohmann::json::exception&) {
                 Q_EMIT refused(tr("The answer of `vergence submit` is not understood."), id);
             }
         });
}

void RunSubmitter::cancel(const QStringList& ids)
{
    QStringList folders;
    for (const QString& id : ids) {
        const RunEntry* run = m_runs.find(id);
        expects(run != nullptr, "cancel: known runs");
        folders << QString::fromStdString(run->folder.root.string());
    }
    call(cancelArguments(folders), [this, ids](const CommandAnswer& answer) {
        answer.isGood() ? Q_EMIT cancelled(ids) : Q_EMIT refused(answer.refusal, ids.front());
    });
}

void RunSubmitter::call(const QStringList& arguments, Done done)
{
    auto* call = new CommandCall(m_executable, this);
    connect(call, &CommandCall::answered, this,
            [call, done = std::move(done)](const CommandAnswer& answer) {
                call->deleteLater();
                done(answer);
            });
    call->start(arguments);
}

} // namespace vergence
