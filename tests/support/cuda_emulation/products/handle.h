#pragma once

#include "tests/support/cuda_emulation/products/calls.h"

namespace vergence::emulation {

/// Refuses a handle that is not live, or of another device than the current one.
Verdict verdictOn(cublasLtHandle_t handle, const Call& call);

} // namespace vergence::emulation
