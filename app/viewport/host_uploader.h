#pragma once

#include <memory>

#include "core/view/frame_uploader.h"

namespace vergence {

/// Uploads frames from host memory through a pixel buffer object, so that the copy does not wait
/// for drawing in progress. All calls on the GUI thread with a GL 3.3 core context current.
class HostUploader : public FrameUploader {
public:
    HostUploader();
    ~HostUploader() override;

    std::string
    name() const override; ///< "shared memory", or "software GL" once it saw a software renderer
    void upload(const Frame& frame, unsigned texture) override;
    void release() override;

private:
    struct Buffer;
    std::unique_ptr<Buffer> m_buffer;
    bool m_isSoftware = false;
};

} // namespace vergence
