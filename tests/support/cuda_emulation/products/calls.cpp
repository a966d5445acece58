#include "tests/support/cuda_emulation/products/calls.h"

#include <utility>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation {

Refusal mistake(std::string why)
{
    return {CUBLAS_STATUS_INVALID_VALUE, std::move(why), true};
}

Refusal missing(const void* handle, const std::string& noun)
{
    Refusal refusal = mistake("no " + noun);
    refusal.isMistake = handle == nullptr;
    return refusal;
}

Refusal unsupported(std::string why)
{
    return {CUBLAS_STATUS_NOT_SUPPORTED, std::move(why), false};
}

Call::Call(const char* name) : m_lock(deviceLock()), m_name(name) {}

std::optional<cublasStatus_t> Call::injected() const
{
    if (const auto failure = injectedFailure(m_name))
        return static_cast<cublasStatus_t>(*failure);
    return std::nullopt;
}

cublasStatus_t Call::end(const Verdict& verdict) const
{
    if (!verdict)
        return CUBLAS_STATUS_SUCCESS;
    if (verdict->isMistake)
        report("product", m_name, verdict->why);
    return verdict->status;
}

} // namespace vergence::emulation
