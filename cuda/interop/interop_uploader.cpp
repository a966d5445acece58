#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "core/view/frame_uploader.h"
#include "core/view/texture_format.h"
#include "cuda/interop/drawing_device.h"
#include "cuda/interop/registered_texture.h"
#include "cuda/interop/shared_memory_map.h"

namespace vergence {

namespace {

constexpr int kMostOldErrors = 32; ///< a lost context reports errors without end

static_assert(textureFormat(PixelFormat::Rgba8) ==
              TextureFormat{GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE});
static_assert(textureFormat(PixelFormat::Rgba16F) ==
              TextureFormat{GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT});
static_assert(textureFormat(PixelFormat::R32F) == TextureFormat{GL_R32F, GL_RED, GL_FLOAT});

/// Copies frames that lie in a run's device memory straight into textures of the window. Touches
/// CUDA for the first time with the first frame, when the GL context is current and tells which GPU
/// draws; never waits for the device.
class InteropUploader final : public FrameUploader {
public:
    explicit InteropUploader(std::string deviceUuid) : m_uuid(std::move(deviceUuid)) {}
    ~InteropUploader() override { close(); }
    InteropUploader(const InteropUploader&) = delete;
    InteropUploader& operator=(const InteropUploader&) = delete;

    std::string name() const override { return "GPU interop"; }
    std::string sharedDevice() const override { return m_uuid; }

    bool isReady(const Frame& frame) override
    {
        open();
        return m_shared.isWritten(pixelsOf(frame));
    }

    void upload(const Frame& frame, unsigned texture) override
    {
        open();
        const SharedPixels& shared = pixelsOf(frame);
        const FrameInfo& info = frame.info;
        RegisteredTexture& registered = registeredFor(texture, info);
        m_shared.waitFor(shared, m_stream);
        // Mapping and unmapping order the copy after drawing queued so far and before what follows.
        registered.write(m_shared.pixels(shared), bytesPerPixel(info.format) * info.width,
                         info.height, info.layers, m_stream);
    }

    void forget(unsigned texture) override
    {
        if (m_stream == nullptr)
            return;
        cudaSetDevice(m_device);
        m_textures.erase(texture);
    }

    void closeSources() override
    {
        if (m_stream == nullptr)
            return;
        cudaSetDevice(m_device);
        cudaStreamSynchronize(m_stream);
        m_shared.clear();
    }

    void release() override { close(); }

private:
    using Form = std::tuple<unsigned, unsigned, unsigned, PixelFormat>;

    static const SharedPixels& pixelsOf(const Frame& frame)
    {
        if (!frame.shared)
            throw DeviceError(
                "This frame does not lie in device memory; it must go through host memory.");
        return *frame.shared;
    }

    /// Makes the GPU that draws the current context current for CUDA on this thread.
    void open()
    {
        if (m_stream == nullptr)
            m_device = drawingDevice(m_uuid).index;
        checkInterop(cudaSetDevice(m_device), "Choosing the GPU that draws");
        if (m_stream == nullptr)
            checkInterop(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking),
                         "Creating a stream");
    }

    void close()
    {
        if (m_stream == nullptr)
            return;
        cudaSetDevice(m_device);
        cudaStreamSynchronize(m_stream);
        m_textures.clear();
        m_shared.clear();
        cudaStreamDestroy(m_stream);
        m_stream = nullptr;
    }

    /// The texture with storage of the frame's size, registered. Storage of a registered texture
    /// must not change, so another size registers anew.
    RegisteredTexture& registeredFor(unsigned texture, const FrameInfo& info)
    {
        const Form form{info.width, info.height, info.layers, info.format};
        const auto found = m_textures.find(texture);
        if (found != m_textures.end() && found->second.first == form)
            return *found->second.second;
        if (found != m_textures.end())
            m_textures.erase(found);
        const GLenum target = info.layers > 1 ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D;
        allocate(texture, target, info);
        auto registered = std::make_unique<RegisteredTexture>(texture, target);
        return *m_textures.emplace(texture, std::pair(form, std::move(registered)))
                    .first->second.second;
    }

    static void allocate(unsigned texture, GLenum target, const FrameInfo& info)
    {
        const TextureFormat format = textureFormat(info.format);
        const auto width = static_cast<GLsizei>(info.width),
                   height = static_cast<GLsizei>(info.height),
                   layers = static_cast<GLsizei>(info.layers);
        for (int i = 0; i < kMostOldErrors && glGetError() != GL_NO_ERROR; ++i)
            ; // of earlier calls
        glBindTexture(target, texture);
        glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
        if (target == GL_TEXTURE_2D_ARRAY)
            glTexImage3D(target, 0, format.internal, width, height, layers, 0, format.layout,
                         format.type, nullptr);
        else
            glTexImage2D(target, 0, format.internal, width, height, 0, format.layout, format.type,
                         nullptr);
        glTexParameteri(target, GL_TEXTURE_MAX_LEVEL, 0);
        glTexParameteri(target, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
        if (const GLenum error = glGetError(); error != GL_NO_ERROR)
            throw DeviceError("OpenGL refused a texture of " + std::to_string(info.pixelBytes()) +
                              " bytes (error " + std::to_string(error) + ").");
    }

    const std::string m_uuid;
    int m_device = 0;
    cudaStream_t m_stream = nullptr; ///< null until the first frame
    SharedMemoryMap m_shared;
    std::map<unsigned, std::pair<Form, std::unique_ptr<RegisteredTexture>>> m_textures;
};

} // namespace

} // namespace vergence

/// An uploader for frames in the memory of the GPU `deviceUuid`, which the probe named; the caller
/// owns it.
extern "C" __attribute__((visibility("default"))) vergence::FrameUploader*
vergenceFrameUploader(const char* deviceUuid)
{
    return new vergence::InteropUploader(deviceUuid);
}
