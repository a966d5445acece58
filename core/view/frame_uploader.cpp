#include "core/view/frame_uploader.h"

namespace vergence {

FrameUploader::~FrameUploader() = default;

std::string FrameUploader::sharedDevice() const
{
    return {};
}

bool FrameUploader::isReady(const Frame&)
{
    return true;
}

void FrameUploader::forget(unsigned) {}

void FrameUploader::closeSources() {}

} // namespace vergence
