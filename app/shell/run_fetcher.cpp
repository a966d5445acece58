#include "app/shell/run_fetcher.h"

#include "app/shell/command_call.h"
#include "app/shell/worker_commands.h"
#include "core/base/error.h"

namespace vergence {

RunFetcher::RunFetcher(RunListModel& runs, QString executable, QObject* parent)
    : QObject(parent),
      m_runs(runs),
      m_executable(std::move(executable))
{
}

void RunFetcher::fetch(const QString& id)
{
    call(id, {}, &RunFetcher::fetched);
}

void RunFetcher::bringHome(const QString& id)
{
    call(id, {"--home"}, &RunFetcher::cameHome);
}

void RunFetcher::call(const QString& id, const QStringList& further,
                      void (RunFetcher::*done)(const QString&))
{
    const RunEntry* run = m_runs.find(id);
    expects(run != nullptr && run->remote, "fetch: a copy of a run elsewhere");
    if (m_fetching.contains(id))
        return Q_EMIT refused(tr("%1 is being fetched already.").arg(run->name), id);
    m_fetching.insert(id);
    auto* call = new CommandCall(m_executable, this);
    connect(call, &CommandCall::answered, this,
            [this, call, id, done](const CommandAnswer& answer) {
                call->deleteLater();
                m_fetching.remove(id);
                answer.isGood() ? (this->*done)(id) : refused(answer.refusal, id);
            });
    call->start(fetchArguments(QString::fromStdString(run->folder.root.string())) + further);
}

} // namespace vergence
