#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/artifact/checkpoint.h"
#include "core/run/run_context.h"
#include "core/view/view_input.h"
#include "plugins/live_diffusion/session/networks.h"

namespace vergence::live {

/// One thing that a run does: training, streaming, measuring … A part is begun when the one before
/// is done; it leaves its results in the run's folder.
class Part {
public:
    virtual ~Part() = default;

    /// Called once before the first step.
    virtual void begin(RunContext& context) = 0;
    /// False once it is done. Where the run is asked to stop meanwhile it returns true with
    /// unchanged progress, and wasInterrupted(). So it does where there was only waiting.
    bool step(RunContext& context);
    /// Steps that are left, as far as is known.
    virtual std::int64_t stepsLeft() const = 0;
    /// Writes results; also after a stop, with what there is.
    virtual void finish(RunContext& context) = 0;

    /// Parts that are cheap to repeat keep nothing: they begin anew after a resume and, being
    /// deterministic, come to the same results.
    virtual void save(RunContext&, Checkpoint&) {}
    virtual void load(RunContext&, const Checkpoint&) {}
    virtual void view(RunContext&, const ViewInput&) {}
    bool wasInterrupted() const { return m_wasInterrupted; }

protected:
    bool m_wasInterrupted = false;

private:
    /// The step itself; long work asks stopHere(). What has not been done when Stopped is thrown
    /// must not count.
    virtual bool advance(RunContext& context) = 0;
};

/// Files of weights among the results, for those who go on later.
inline constexpr const char* kTrainedWeights = "weights/model.safetensors";
inline constexpr const char* kDistilledWeights = "weights/distilled.safetensors";

/// `networks` outlives it.
std::unique_ptr<Part> makePart(PartKind kind, Networks& networks);

} // namespace vergence::live
