#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/interop/drawing_device.h"
#include "cuda/interop/registered_texture.h"

namespace vergence {

namespace {

constexpr int kSide = 64;

/// Device memory for the length of a test.
class TestImage {
public:
    explicit TestImage(const std::vector<unsigned char>& pixels)
    {
        checkInterop(cudaMalloc(&m_memory, pixels.size()), "Allocating a test image");
        const cudaError_t error =
            cudaMemcpy(m_memory, pixels.data(), pixels.size(), cudaMemcpyHostToDevice);
        if (error != cudaSuccess)
            cudaFree(m_memory);
        checkInterop(error, "Filling a test image");
    }
    ~TestImage() { cudaFree(m_memory); }
    TestImage(const TestImage&) = delete;
    TestImage& operator=(const TestImage&) = delete;

    const std::byte* data() const { return static_cast<const std::byte*>(m_memory); }

private:
    void* m_memory = nullptr;
};

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
    {
        const TestImage image(pattern);
        RegisteredTexture registered(texture, GL_TEXTURE_2D);
        registered.write(image.data(), kSide * 4, kSide, 1, nullptr);
        checkInterop(cudaDeviceSynchronize(), "Waiting for the GPU");
    }
    glBindTexture(GL_TEXTURE_2D, texture);
    glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, back.data());
    glDeleteTextures(1, &texture);
    if (back != pattern)
        throw DeviceError("A picture copied from CUDA to OpenGL came back changed.");
}

} // namespace

} // namespace vergence

/// Tries interop with the OpenGL context that is current, on the GPU `wantedUuid` (empty: any).
/// True when it works, with the UUID of the GPU in `answer` (of `size` bytes); otherwise `answer`
/// says why not. Meant for a child process: a broken driver may crash it.
extern "C" __attribute__((visibility("default"))) bool vergenceInteropProbe(const char* wantedUuid,
                                                                            char* answer, int size)
{
    try {
        const auto* vendor = reinterpret_cast<const char*>(glGetString(GL_VENDOR));
        if (!vendor || !std::strstr(vendor, "NVIDIA"))
            throw vergence::DeviceError(std::string("OpenGL is drawn by ") +
                                        (vendor ? vendor : "nobody") + ", not by NVIDIA.");
        const vergence::DrawingDevice device =
            vergence::drawingDevice(wantedUuid ? wantedUuid : "");
        vergence::checkInterop(cudaSetDevice(device.index), "Choosing a GPU");
        vergence::copyAndCompare();
        std::snprintf(answer, static_cast<std::size_t>(size), "%s", device.uuid.c_str());
        return true;
    } catch (const vergence::Error& failure) {
        std::snprintf(answer, static_cast<std::size_t>(size), "%s", failure.what());
        return false;
    }
}
