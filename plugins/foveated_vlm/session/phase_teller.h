#pragma once

#include <string>

#include "core/compute/view.h"
#include "core/run/run_context.h"

namespace vergence::fvlm {

/// Tells how far something is that a run does between two steps, seldom enough for its log.
class PhaseTeller {
public:
    explicit PhaseTeller(RunContext& context) : m_context(context) {}

    /// "testing, 12 of 64 clips, 40 s left": that `done` of `all` clips are. The first is told at
    /// once, others every few seconds.
    void tell(const std::string& what, Index done, Index all);
    /// It is over.
    void end() { m_context.phase(1, 1, {}); }

private:
    RunContext& m_context;
    std::string m_what;
    double m_begunAt = 0, m_toldAt = 0; ///< s
};

/// "testing, 12 of 64 clips, 40 s left" after `seconds`; without the rest while there is little to
/// judge it by.
std::string phaseText(const std::string& what, Index done, Index all, double seconds);

} // namespace vergence::fvlm
