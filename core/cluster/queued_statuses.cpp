#include "core/cluster/queued_statuses.h"

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/run/run_state.h"

namespace vergence {

RunStatus waitingStatus(const RunStatus& before)
{
    RunStatus status;
    status.state = nameOf(RunState::Queued);
    status.plugin = before.plugin;
    status.preset = before.preset;
    status.device = before.device;
    status.step = before.step;
    status.total = before.total;
    status.rings = before.rings;
    return status;
}

QueuedStatuses::~QueuedStatuses()
{
    for (const Change& change : m_changes)
        restore(change);
}

void QueuedStatuses::change(const RunFolder& run)
{
    Change change{run, readFile(run.status()), prettyJson(waitingStatus(readStatus(run)).toJson())};
    if (change.after == change.before)
        return;
    writeFileAtomic(run.status(), change.after);
    m_changes.push_back(std::move(change));
}

void QueuedStatuses::restore(const Change& change) noexcept
{
    try {
        if (readFile(change.run.status()) == change.after)
            writeFileAtomic(change.run.status(), change.before);
    } catch (const Error& error) {
        log("cluster").warn("The run {} stays Queued: {}", change.run.id(), error.what());
    }
}

} // namespace vergence
