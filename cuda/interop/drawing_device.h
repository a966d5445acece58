#pragma once

#include <string>

namespace vergence {

/// The GPU that draws the current OpenGL context, as CUDA counts it.
struct DrawingDevice {
    int index = 0;
    std::string uuid; ///< "GPU-…"
};

/// Throws DeviceError where CUDA cannot reach the GPU that draws, or it is not `wantedUuid` (empty:
/// any).
DrawingDevice drawingDevice(const std::string& wantedUuid);

} // namespace vergence
