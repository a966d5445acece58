#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "tests/support/cuda_emulation/products/cublas_lt_api.h"

namespace vergence::emulation {

/// Why a call fails.
struct Refusal {
    cublasStatus_t status;
    std::string why;
    bool isMistake; ///< plainly one of the caller, and not reported yet
};

/// Null where nothing is wrong.
using Verdict = std::optional<Refusal>;

Refusal mistake(std::string why);     ///< CUBLAS_STATUS_INVALID_VALUE
Refusal unsupported(std::string why); ///< CUBLAS_STATUS_NOT_SUPPORTED
/// For a handle of nothing that lives: CUBLAS_STATUS_INVALID_VALUE. Handles reports stale ones.
Refusal missing(const void* handle, const std::string& noun);

/// One call of the library. Others wait until it returns.
class Call {
public:
    explicit Call(const char* name);

    const char* name() const { return m_name; }
    /// The status that the environment wants of this call.
    std::optional<cublasStatus_t> injected() const;
    /// The status of the verdict; reports mistakes.
    cublasStatus_t end(const Verdict& verdict) const;

private:
    std::lock_guard<std::recursive_mutex> m_lock;
    const char* m_name;
};

} // namespace vergence::emulation
