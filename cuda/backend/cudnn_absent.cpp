#include "cuda/backend/cudnn_conv.h"

namespace vergence {

std::unique_ptr<CudnnConvolutions> CudnnConvolutions::open(const DeviceInfo&, std::string& reason)
{
    reason = "This module was built without cuDNN.";
    return nullptr;
}

} // namespace vergence
