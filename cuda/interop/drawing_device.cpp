#include "cuda/interop/drawing_device.h"

#include <array>
#include <cstdio>

#include <GL/gl.h>
#include <cuda_gl_interop.h>

#include "cuda/interop/check.h"

namespace vergence {

namespace {

std::string uuidText(const cudaUUID_t& uuid)
{
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x",
                      static_cast<unsigned char>(uuid.bytes[i]));
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += digits.data();
    }
    return text;
}

} // namespace

DrawingDevice drawingDevice(const std::string& wantedUuid)
{
    constexpr unsigned kMost = 16;
    unsigned count = 0;
    std::array<int, kMost> devices{};
    checkInterop(cudaGLGetDevices(&count, devices.data(), kMost, cudaGLDeviceListAll),
                 "Asking which GPU draws");
    for (unsigned i = 0; i < count && i < kMost; ++i) {
        cudaDeviceProp properties{};
        checkInterop(cudaGetDeviceProperties(&properties, devices[i]),
                     "Reading the properties of a GPU");
        const std::string uuid = uuidText(properties.uuid);
        if (wantedUuid.empty() || uuid == wantedUuid)
            return {devices[i], uuid};
    }
    throw DeviceError("The GPU that draws is not the one that computes.");
}

} // namespace vergence
