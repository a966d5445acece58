#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/interop/registered_texture.h"

namespace vergence {

namespace {

constexpr int kSide = 64;

std::string uuidText(const cudaUUID_t& uuid)
{
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        char digits[3];
        std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += digits;
    }
    return text;
}

/// The CUDA device that draws the current context; throws where there is none or it is not
/// `wantedUuid`.
int drawingDevice(const std::string& wantedUuid)
{
    unsigned count = 0;
    int devices[8] = {};
    checkInterop(cudaGLGetDevices(&count, devices, 8, cudaGLDeviceListAll),
                 "Asking which GPU draws");
    for (unsigned i = 0; i < count; ++i) {
        cudaDeviceProp properties{};
        checkInterop(cudaGetDeviceProperties(&properties, devices[i]),
                     "Reading the properties of a GPU");
        if (wantedUuid.empty() || uuidText(properties.uuid) == wantedUuid)
            return devices[i];
    }
    throw DeviceError("The GPU that draws is not the one that computes.");
}

/// Copies a pattern through CUDA into a texture and reads it back through OpenGL.
void copyAndCompare()
{
    std::vector<unsigned char> pattern(kSide * kSide * 4), back(pattern.size());
    for (std::size_t i = 0; i < pattern.size(); ++i)
        pattern[i] = static_cast<unsigned char>(i * 37 % 251);
    GLuint texture = 0;
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, kSide, kSide, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    void* memory = nullptr;
    checkInterop(cudaMalloc(&memory, pattern.size()), "Allocating a test image");
    checkInterop(cudaMemcpy(memory, pattern.data(), pattern.size(), cudaMemcpyHostToDevice),
                 "Filling a test image");
    {
        RegisteredTexture registered(texture, GL_TEXTURE_2D);
        registered.write(static_cast<std::byte*>(memory), kSide * 4, kSide, 1, nullptr);
        checkInterop(cudaDeviceSynchronize(), "Waiting for the GPU");
    }
    cudaFree(memory);
    glBindTexture(GL_TEXTURE_2D, texture);
    glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, back.data());
    glDeleteTextures(1, &texture);
    if (back != pattern)
        throw DeviceError("A picture copied from CUDA to OpenGL came back changed.");
}

} // namespace

} // namespace vergence

/// Tries interop with the OpenGL context that is current. True when it works; otherwise `reason`
/// (of `size` bytes) says why not. Meant for a child process: a broken driver may crash it.
extern "C" __attribute__((visibility("default"))) bool vergenceInteropProbe(const char* wantedUuid,
                                                                            char* reason, int size)
{
    try {
        const auto* vendor = reinterpret_cast<const char*>(glGetString(GL_VENDOR));
        if (!vendor || !std::strstr(vendor, "NVIDIA"))
            throw vergence::DeviceError(std::string("OpenGL is drawn by ") +
                                        (vendor ? vendor : "nobody") + ", not by NVIDIA.");
        vergence::checkInterop(cudaSetDevice(vergence::drawingDevice(wantedUuid ? wantedUuid : "")),
                               "Choosing a GPU");
        vergence::copyAndCompare();
        return true;
    } catch (const vergence::Error& failure) {
        std::snprintf(reason, static_cast<std::size_t>(size), "%s", failure.what());
        return false;
    }
}
