#include <map>
#include <memory>
#include <tuple>

#include "core/view/frame_uploader.h"
#include "cuda/interop/registered_texture.h"
#include "cuda/interop/shared_memory_map.h"

namespace vergence {

namespace {

struct TextureFormat {
    GLint internal;
    GLenum format, type;
};

TextureFormat textureFormat(PixelFormat format)
{
    switch (format) {
    case PixelFormat::Rgba16F:
        return {GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT};
    case PixelFormat::R32F:
        return {GL_R32F, GL_RED, GL_FLOAT};
    case PixelFormat::Rgba8:
        break;
    }
    return {GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE};
}

/// Copies frames that lie in a run's device memory straight into textures of the window.
class InteropUploader final : public FrameUploader {
public:
    InteropUploader()
    {
        checkInterop(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking),
                     "Creating a stream");
    }
    ~InteropUploader() override { cudaStreamDestroy(m_stream); }
    InteropUploader(const InteropUploader&) = delete;
    InteropUploader& operator=(const InteropUploader&) = delete;

    std::string name() const override { return "GPU interop"; }

    void upload(const Frame& frame, unsigned texture) override
    {
        if (!frame.shared)
            throw DeviceError(
                "This frame does not lie in device memory; it must go through host memory.");
        const FrameInfo& info = frame.info;
        const GLenum target = info.layers > 1 ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D;
        RegisteredTexture& registered = registeredFor(texture, target, info);
        m_shared.waitFor(*frame.shared, m_stream);
        registered.write(m_shared.pixels(*frame.shared), bytesPerPixel(info.format) * info.width,
                         info.height, info.layers, m_stream);
        checkInterop(cudaStreamSynchronize(m_stream), "Waiting for a preview copy");
    }

    void release() override { m_textures.clear(); }

private:
    using Key = std::tuple<unsigned, unsigned, unsigned, unsigned, PixelFormat>;

    /// The texture with storage of the frame's size, registered. A change of size allocates and
    /// registers anew.
    RegisteredTexture& registeredFor(unsigned texture, GLenum target, const FrameInfo& info)
    {
        const Key key{texture, info.width, info.height, info.layers, info.format};
        auto found = m_textures.find(texture);
        if (found != m_textures.end() && found->second.first == key)
            return *found->second.second;
        if (found != m_textures.end())
            m_textures.erase(found);
        const TextureFormat format = textureFormat(info.format);
        const auto width = static_cast<GLsizei>(info.width),
                   height = static_cast<GLsizei>(info.height);
        glBindTexture(target, texture);
        if (target == GL_TEXTURE_2D_ARRAY)
            glTexImage3D(target, 0, format.internal, width, height,
                         static_cast<GLsizei>(info.layers), 0, format.format, format.type, nullptr);
        else
            glTexImage2D(target, 0, format.internal, width, height, 0, format.format, format.type,
                         nullptr);
        glTexParameteri(target, GL_TEXTURE_MAX_LEVEL, 0);
        auto registered = std::make_unique<RegisteredTexture>(texture, target);
        return *m_textures.emplace(texture, std::pair(key, std::move(registered)))
                    .first->second.second;
    }

    cudaStream_t m_stream = nullptr;
    SharedMemoryMap m_shared;
    std::map<unsigned, std::pair<Key, std::unique_ptr<RegisteredTexture>>> m_textures;
};

} // namespace

} // namespace vergence

/// The uploader of this module, or null where CUDA refuses; the caller owns it.
extern "C" __attribute__((visibility("default"))) vergence::FrameUploader* vergenceFrameUploader()
{
    try {
        return new vergence::InteropUploader;
    } catch (const vergence::Error&) {
        return nullptr;
    }
}
