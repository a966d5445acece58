#pragma once

#include <memory>

#include "plugins/live_diffusion/onnx/onnx_model.h"
#include "plugins/live_diffusion/tensorrt/engine_cache.h"
#include "plugins/live_diffusion/tensorrt/tensorrt_module.h"

namespace vergence::live {

struct CachedEngine {
    std::unique_ptr<TensorRtEngine> engine; ///< never null
    std::size_t tuningPeakBytes = 0;        ///< 0 where nothing had to be built
};

/// The engine of a network: from the cache where one fits, else built and kept there. Throws as
/// TensorRtModule::build() does, and OutputError where the cache cannot be written.
CachedEngine cachedEngine(TensorRtModule& module, Device& device, const OnnxModel& model,
                          const EngineCache& cache);

} // namespace vergence::live
