#include <memory>

#include <cuda_runtime.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/backend.h"
#include "cuda/backend/cuda_device.h"

namespace vergence {

namespace {

class CudaBackend final : public DeviceBackend {
public:
    std::vector<std::shared_ptr<Device>> devices(std::string& reason) override
    {
        int count = 0;
        const cudaError_t error = cudaGetDeviceCount(&count);
        if (error != cudaSuccess || count == 0) {
            cudaGetLastError();
            reason =
                error == cudaErrorInsufficientDriver ? "No NVIDIA driver for CUDA was found."
                : error == cudaErrorNoDevice || count == 0
                    ? "No NVIDIA GPU was found."
                    : std::string("The NVIDIA driver reports: ") + cudaGetErrorString(error) + ".";
            return {};
        }
        std::vector<std::shared_ptr<Device>> found;
        for (int i = 0; i < count; ++i) {
            try {
                found.push_back(std::make_shared<CudaDevice>(i));
            } catch (const Error& failure) {
                log("cuda").warn("CUDA device {}: {}", i, failure.what());
                reason = failure.what();
            }
        }
        return found;
    }
};

} // namespace

} // namespace vergence

extern "C" __attribute__((visibility("default"))) vergence::DeviceBackend* vergenceDeviceBackend()
{
    static vergence::CudaBackend backend;
    return &backend;
}
