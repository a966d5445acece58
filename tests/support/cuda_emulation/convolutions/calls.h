#pragma once

#include <string>

#include <cudnn_backend.h>

namespace vergence::emulation::convolutions {

/// Thrown where a call cannot be done; its status is what the call returns.
struct Refusal {
    cudnnStatus_t status;
    std::string why;
    bool isReported = false; ///< as a finding, already

    /// Whether it is plainly a mistake of the caller, and so a finding. That the library cannot do
    /// something is an answer.
    bool isMistake() const
    {
        return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_BAD_PARAM ||
               status == CUDNN_STATUS_NOT_INITIALIZED;
    }
};

/// Throws unless `holds`.
void demand(bool holds, cudnnStatus_t status, const std::string& why);
void demand(bool holds, const std::string& why); ///< CUDNN_STATUS_BAD_PARAM

/// The status that the environment wants of this call, CUDNN_STATUS_SUCCESS if none.
cudnnStatus_t injectedStatus(const char* function);
/// Reports mistakes and remembers the sentence.
cudnnStatus_t ended(const char* function, const Refusal& refusal);

/// What cudnnGetLastErrorString() gives to the calling thread, once.
std::string takeLastSentence();

} // namespace vergence::emulation::convolutions
