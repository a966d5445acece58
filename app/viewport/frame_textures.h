#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "app/viewport/view_scene.h"
#include "core/view/frame_uploader.h"

class QOpenGLFunctions_3_3_Core;

namespace vergence {

/// The textures of a view, one per stream, and who fills them. Lives as long as one context; made,
/// used and destroyed with it current, on the GUI thread. A stream whose size, layers, format or
/// way changes gets another texture under another name, since an uploader may have registered the
/// earlier one; until that is filled the earlier picture stays.
class FrameTextures {
public:
    struct Texture {
        unsigned id = 0;
        unsigned target = 0; ///< GL_TEXTURE_2D or GL_TEXTURE_2D_ARRAY
        std::uint64_t revision = 0;
    };
    struct Progress {
        bool hasUploaded = false;
        bool isWaiting = false; ///< a frame is still being written: upload again in a moment
    };

    explicit FrameTextures(QOpenGLFunctions_3_3_Core& gl) : m_gl(gl) {}
    ~FrameTextures() { clear(); }
    FrameTextures(const FrameTextures&) = delete;
    FrameTextures& operator=(const FrameTextures&) = delete;

    /// Uploads what is new of the visible streams and lies where `uploader` reads: in the memory of
    /// its device, or on the host. Throws DeviceError from the uploader.
    Progress upload(const ViewScene& scene, FrameUploader& uploader);
    /// Null where nothing of the stream was uploaded yet.
    const Texture* find(const std::string& stream) const;
    /// Pixels of the frame as they lie in its texture, rows from the top; empty where the texture
    /// does not hold this frame. Waits for the GPU.
    std::vector<std::byte> read(const ShownFrame& shown) const;
    /// Textures that `uploader` filled keep their pictures and are its own no longer.
    void detach(FrameUploader& uploader);
    void removeUnused(const ViewScene& scene);
    void clear(); ///< the next upload sends everything again

private:
    struct Form {
        unsigned target = 0;
        std::uint32_t width = 0, height = 0, layers = 0;
        PixelFormat format = PixelFormat::Rgba8;
        FrameUploader* uploader = nullptr;
        bool operator==(const Form&) const = default;
    };
    struct Entry {
        Texture texture;
        Form form;
    };

    void replace(Entry& entry, const ShownFrame& shown, const Form& form);
    void fill(Entry& entry, const ShownFrame& shown) const;
    void drop(Entry& entry) const;

    QOpenGLFunctions_3_3_Core& m_gl;
    std::map<std::string, Entry> m_entries;
};

} // namespace vergence
