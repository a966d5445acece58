#pragma once

#include <memory>
#include <string>

#include "core/view/frame.h"

namespace vergence {

/// Brings frames into OpenGL textures. All calls on the thread of the GL context, with it current.
/// The window has one that goes through host memory; the module `libvergence-cuda-interop.so`
/// exports one that copies device to device (`extern "C" vergence::FrameUploader*
/// vergenceFrameUploader(const char* deviceUuid)`), used only after its probe in a child process
/// succeeded.
class FrameUploader {
public:
    virtual ~FrameUploader();
    virtual std::string name() const = 0; ///< "shared memory", "GPU interop"
    /// UUID of the GPU whose device memory it opens (Frame::shared); empty for one that takes host
    /// pixels.
    virtual std::string sharedDevice() const;
    /// False while the run has not finished writing these pixels: upload a moment later, so that
    /// nobody waits for a device. Throws DeviceError where they cannot be opened.
    virtual bool isReady(const Frame& frame);
    /// Uploads into `texture` (GL_TEXTURE_2D, or GL_TEXTURE_2D_ARRAY for layers > 1), allocating as
    /// needed. All frames of a texture have the same size, layers and format. Throws DeviceError;
    /// the caller then falls back to host memory for the rest of the session.
    virtual void upload(const Frame& frame, unsigned texture) = 0;
    /// `texture` will be deleted, or written by somebody else from now on.
    virtual void forget(unsigned texture);
    /// The run that published has ended: closes what was opened of it. Textures keep their
    /// pictures.
    virtual void closeSources();
    virtual void release() = 0; ///< frees GL resources; the context is still current
};

} // namespace vergence
