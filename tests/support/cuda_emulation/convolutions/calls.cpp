#include "tests/support/cuda_emulation/convolutions/calls.h"

#include <utility>

#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation::convolutions {

namespace {

thread_local std::string lastSentence;

} // namespace

void demand(bool holds, cudnnStatus_t status, const std::string& why)
{
    if (!holds)
        throw Refusal{status, why, false};
}

void demand(bool holds, const std::string& why)
{
    demand(holds, CUDNN_STATUS_BAD_PARAM, why);
}

cudnnStatus_t injectedStatus(const char* function)
{
    const auto failure = injectedFailure(function);
    return failure ? static_cast<cudnnStatus_t>(*failure) : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t ended(const char* function, const Refusal& refusal)
{
    lastSentence = refusal.why;
    if (refusal.isMistake() && !refusal.isReported)
        report("convolution", function, refusal.why);
    return refusal.status;
}

std::string takeLastSentence()
{
    return std::exchange(lastSentence, {});
}

} // namespace vergence::emulation::convolutions
