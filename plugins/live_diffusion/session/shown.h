#pragma once

#include <vector>

#include "core/artifact/checkpoint.h"
#include "core/run/run_context.h"
#include "core/view/frame.h"

namespace vergence::live {

/// The newest picture of every stream, kept with a checkpoint so that a run that is opened again
/// shows what it showed.
class Shown {
public:
    static void save(RunContext& context, Checkpoint& checkpoint);
    /// Throws InputError for a damaged checkpoint.
    void load(const Checkpoint& checkpoint);
    /// Publishes what was loaded, once.
    void publish(RunContext& context);
    static bool isTensor(const std::string& name); ///< of a checkpoint: one of ours

private:
    std::vector<Frame> m_frames;
};

} // namespace vergence::live
