#pragma once

#include <memory>
#include <string>

#include "core/view/frame.h"

namespace vergence {

/// Brings frames into OpenGL textures. All calls on the thread of the GL context, with it current.
/// The window has one that goes through host memory; the module `libvergence-cuda-interop.so`
/// exports one that copies device to device
/// (`extern "C" vergence::FrameUploader* vergenceFrameUploader()`), used only after its probe in a
/// child process succeeded.
class FrameUploader {
public:
    virtual ~FrameUploader();
    virtual std::string name() const = 0; ///< "shared memory", "GPU interop"
    /// Uploads into `texture` (GL_TEXTURE_2D, or GL_TEXTURE_2D_ARRAY for layers > 1), allocating as
    /// needed. Throws DeviceError; the caller then falls back to host memory for the rest of the
    /// session.
    virtual void upload(const Frame& frame, unsigned texture) = 0;
    virtual void release() = 0; ///< frees GL resources; the context is still current
};

} // namespace vergence
