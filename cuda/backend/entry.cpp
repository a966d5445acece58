#include <memory>

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/backend.h"
#include "cuda/backend/cuda_device.h"

namespace vergence {

namespace {

/// Why the runtime found no device, in a sentence. No driver and an old one are the same error; the
/// version that the driver supports tells them apart: 0 where there is none.
std::string whyNone(cudaError_t error)
{
    if (error == cudaSuccess || error == cudaErrorNoDevice)
        return "No NVIDIA GPU was found.";
    if (error != cudaErrorInsufficientDriver)
        return std::string("The NVIDIA driver reports: ") + cudaGetErrorString(error) + ".";
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        return "No NVIDIA driver for CUDA was found.";
    return fmt::format("The NVIDIA driver is too old: it supports {}, and this build needs {}. "
                       "Install a newer driver.",
                       cudaVersionText(driver), cudaVersionText(runtime));
}

class CudaBackend final : public DeviceBackend {
public:
    std::vector<std::shared_ptr<Device>> devices(std::string& reason) override
    {
        int count = 0;
        const cudaError_t error = cudaGetDeviceCount(&count);
        if (error != cudaSuccess || count == 0) {
            cudaGetLastError();
            reason = whyNone(error);
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
