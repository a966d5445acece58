#pragma once

#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/cluster/cancel_runs.h"
#include "core/cluster/slurm.h"
#include "core/cluster/studio_there.h"

namespace vergence {

/// Runs that the `vergence` of a target's login puts into its queue or its lanes.
struct RemoteSubmission {
    std::vector<RunFolder> runs;        ///< of this computer, or copies of runs there
    std::vector<std::string> arguments; ///< further ones of `vergence submit`
};

/// The link broke after the runs had been handed over: nobody here knows whether they are in the
/// queue there. Those here stay, and follow. Exit code 6.
class AnswerLost : public InputError {
public:
    using InputError::InputError;
    ~AnswerLost() override;
};

/// With a disk of its own: sends the folders there, unless they are there already, and makes those
/// here copies that follow them. Then `vergence submit` there does the rest, and refuses what it
/// would refuse. Where it refuses, nothing is left there of runs that were new to it, and those
/// here stay as they were. Throws InputError where the login does not answer, AnswerLost, and Error
/// with the refusal and its exit code.
std::vector<Job> submitThere(const Target& target, const StudioThere& studio,
                             const RemoteSubmission& submission);

/// cancelRuns() for copies of runs elsewhere, asked of the `vergence` there.
std::vector<Cancellation> cancelThere(const std::vector<RunFolder>& runs);

/// As `vergence cancel --json` says it.
constexpr auto namesOf(Cancellation)
{
    return std::array{EnumName{Cancellation::LeftQueue, "left_queue"},
                      EnumName{Cancellation::Stops, "stops"},
                      EnumName{Cancellation::HasEnded, "has_ended"},
                      EnumName{Cancellation::HasNoJob, "has_no_job"}};
}

} // namespace vergence
