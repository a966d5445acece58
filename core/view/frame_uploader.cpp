#include "core/view/frame_uploader.h"

namespace vergence {

FrameUploader::~FrameUploader() = default;

} // namespace vergence
