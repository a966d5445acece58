#pragma once

#include <cstdint>
#include <memory>

#include "core/artifact/checkpoint.h"
#include "core/run/run_context.h"
#include "core/view/view_input.h"

namespace vergence {

/// Interrupted: step() returned early because of stopRequested(); the state is as before the call
/// and the step does not count.
enum class StepOutcome { Continue, Done, Interrupted };

/// One experiment. Owns model and data, knows no thread: every call comes from the run thread, one
/// at a time. Failures are thrown (core/base/error.h); a loss that is not finite throws
/// NumericsError with step and series. An OutputError for a full disk pauses the run; the same call
/// is then repeated, so step(), save() and finish() write files before they change the state, or
/// last.
///
/// A stop is heard within 2 s wherever it comes: prepare(), load(), step() and finish() poll
/// context.stopRequested() and return early.
class Run {
public:
    virtual ~Run();

    /// Loads data, allocates, declares view controls. Reports phases through the context. After a
    /// stop nothing else is called.
    virtual void prepare(RunContext& context) = 0;
    /// One step; polls context.stopRequested() at least every 100 ms and may then return
    /// Interrupted with unchanged progress.
    virtual StepOutcome step(RunContext& context) = 0;
    /// Steps in all, or 0 where unknown. Asked after prepare() and after every step.
    virtual std::int64_t totalSteps() const = 0;
    /// Everything needed to continue exactly.
    virtual void save(RunContext& context, Checkpoint& checkpoint) = 0;
    /// Called after prepare(). After a stop nothing else is called.
    virtual void load(RunContext& context, const Checkpoint& checkpoint) = 0;
    /// Writes the last results. Called once after the last step; also after a stop, so that results
    /// so far exist, as far as they are quick to make: stopRequested() holds then. Where a stop
    /// comes meanwhile, a resumed run calls it again from the checkpoint of the last step.
    virtual void finish(RunContext& context) = 0;
    /// The viewer moved something: re-render what depends on it and publish. Called between steps,
    /// while paused and while a finished run is being explored.
    virtual void view(RunContext& context, const ViewInput& input);
};

} // namespace vergence
