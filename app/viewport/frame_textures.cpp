#include "app/viewport/frame_textures.h"

#include <QOpenGLFunctions_3_3_Core>

#include "core/base/error.h"
#include "core/view/texture_format.h"

namespace vergence {

namespace {

/// Frames with host pixels need no device memory, also where they came from there.
bool suits(const FrameUploader& uploader, const Frame& frame)
{
    const std::string device = uploader.sharedDevice();
    if (device.empty())
        return !frame.pixels.empty();
    return frame.pixels.empty() && frame.shared && frame.shared->deviceUuid == device;
}

unsigned targetOf(const FrameInfo& info)
{
    return info.layers > 1 ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D;
}

} // namespace

FrameTextures::Progress FrameTextures::upload(const ViewScene& scene, FrameUploader& uploader)
{
    Progress progress;
    for (const std::string& stream : scene.visibleStreams()) {
        const auto shown = scene.frame(stream);
        if (!shown || !suits(uploader, shown->frame))
            continue;
        Entry& entry = m_entries[stream];
        if (entry.texture.revision == shown->revision)
            continue;
        if (!uploader.isReady(shown->frame)) {
            progress.isWaiting = true;
            continue;
        }
        const FrameInfo& info = shown->frame.info;
        const Form form{targetOf(info), info.width,  info.height,
                        info.layers,    info.format, &uploader};
        m_gl.glActiveTexture(GL_TEXTURE0);
        if (entry.texture.id != 0 && entry.form == form)
            fill(entry, *shown);
        else
            replace(entry, *shown, form);
        progress.hasUploaded = true;
    }
    return progress;
}

/// The new name is made before the old one goes, so that they differ.
void FrameTextures::replace(Entry& entry, const ShownFrame& shown, const Form& form)
{
    Entry fresh{{0, form.target, 0}, form};
    m_gl.glGenTextures(1, &fresh.texture.id);
    try {
        fill(fresh, shown);
    } catch (const Error&) {
        drop(fresh);
        throw;
    }
    drop(entry);
    entry = fresh;
}

void FrameTextures::fill(Entry& entry, const ShownFrame& shown) const
{
    Texture& texture = entry.texture;
    entry.form.uploader->upload(shown.frame, texture.id);
    m_gl.glBindTexture(texture.target, texture.id);
    m_gl.glTexParameteri(texture.target, GL_TEXTURE_MAX_LEVEL, 0);
    m_gl.glTexParameteri(texture.target, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    m_gl.glTexParameteri(texture.target, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    texture.revision = shown.revision;
}

void FrameTextures::drop(Entry& entry) const
{
    if (entry.texture.id == 0)
        return;
    if (entry.form.uploader != nullptr)
        entry.form.uploader->forget(entry.texture.id);
    m_gl.glDeleteTextures(1, &entry.texture.id);
    entry = {};
}

const FrameTextures::Texture* FrameTextures::find(const std::string& stream) const
{
    const auto found = m_entries.find(stream);
    return found == m_entries.end() || found->second.texture.id == 0 ? nullptr
                                                                     : &found->second.texture;
}

std::vector<std::byte> FrameTextures::read(const ShownFrame& shown) const
{
    const Texture* texture = find(shown.frame.info.stream);
    if (texture == nullptr || texture->revision != shown.revision)
        return {};
    std::vector<std::byte> pixels(shown.frame.info.pixelBytes());
    const TextureFormat format = textureFormat(shown.frame.info.format);
    m_gl.glActiveTexture(GL_TEXTURE0);
    m_gl.glBindTexture(texture->target, texture->id);
    m_gl.glPixelStorei(GL_PACK_ALIGNMENT, 1);
    m_gl.glPixelStorei(GL_PACK_ROW_LENGTH, 0);
    m_gl.glGetTexImage(texture->target, 0, format.layout, format.type, pixels.data());
    m_gl.glPixelStorei(GL_PACK_ALIGNMENT, 4);
    return pixels;
}

void FrameTextures::detach(FrameUploader& uploader)
{
    for (auto& [stream, entry] : m_entries) {
        if (entry.form.uploader != &uploader)
            continue;
        uploader.forget(entry.texture.id);
        entry.form.uploader = nullptr;
    }
}

void FrameTextures::removeUnused(const ViewScene& scene)
{
    for (auto item = m_entries.begin(); item != m_entries.end();) {
        if (scene.frame(item->first)) {
            ++item;
            continue;
        }
        drop(item->second);
        item = m_entries.erase(item);
    }
}

void FrameTextures::clear()
{
    for (auto& [stream, entry] : m_entries)
        drop(entry);
    m_entries.clear();
}

} // namespace vergence
