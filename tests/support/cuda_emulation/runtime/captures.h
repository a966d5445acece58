#pragma once

#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation {

/// The capture can only end with an error from here on.
void invalidate(Recording& recording, const char* reason);

/// Steps of `more` that are not among `steps` are added.
void joinSteps(std::vector<std::size_t>& steps, const std::vector<std::size_t>& more);

cudaError_t beginCapture(Stream& stream, cudaStreamCaptureMode mode);
/// The steps, or the reason there are none; no stream is captured any more, unless `stream` is not
/// where or `thread` not whence the capture may be ended.
cudaError_t endCapture(Stream& stream, std::shared_ptr<const Recording>& recording);

} // namespace vergence::emulation
