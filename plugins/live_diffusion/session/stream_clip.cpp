#include "plugins/live_diffusion/session/stream_clip.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/view/picture_sheet.h"

namespace vergence::live {

namespace {

constexpr std::int64_t kGifFrames = 250; ///< they are kept in memory until the end
constexpr int kClipSide = 192;           ///< px that small frames are enlarged to

ExportSettings exportSettings(const LiveDiffusionConfig& config)
{
    ExportSettings settings;
    settings.format = config.exportClip == "gif"   ? ExportFormat::Gif
                      : config.exportClip == "png" ? ExportFormat::PngSequence
                                                   : ExportFormat::Mp4;
    settings.view = config.exportSideBySide ? ExportView::SideBySide : ExportView::Output;
    settings.hasOverlay = config.exportOverlay;
    settings.fps = config.fps;
    settings.scale = std::clamp(kClipSide / config.frameSize, 1, 4);
    return settings;
}

} // namespace

StreamClip::StreamClip(RunContext& context, const LiveDiffusionConfig& config)
    : m_settings(exportSettings(config)),
      m_name(config.exportClip == "png" ? "stream/frames" : "stream." + config.exportClip)
{
    if (config.exportClip == "none")
        return;
    try {
        m_writer = openClip(context.artifacts().pathFor(m_name), m_settings);
    } catch (const InputError& failure) {
        context.warn("W-CLIP", failure.what());
    }
}

void StreamClip::add(const Image& input, const Image& output, double milliseconds)
{
    if (m_writer == nullptr || (m_settings.format == ExportFormat::Gif && m_pictures >= kGifFrames))
        return;
    if (m_pictures == 0) {
        m_width = output.width;
        m_height = output.height;
    }
    const std::string overlay = fmt::format("{} {:.1f} ms", m_pictures, milliseconds);
    const bool isFitting = output.width == m_width && output.height == m_height;
    m_writer->add(composed(input, isFitting ? output : resized(output, m_width, m_height), overlay,
                           m_settings));
    ++m_pictures;
}

void StreamClip::finish(ArtifactStore& artifacts)
{
    if (m_writer == nullptr || m_pictures == 0)
        return;
    m_writer->finish();
    if (m_settings.format == ExportFormat::PngSequence)
        for (std::int64_t i = 0; i < m_pictures; ++i)
            artifacts.add(fmt::format("{}/{:06}.png", m_name, i), "frame");
    else
        artifacts.add(m_name, "clip", "Streamed frames");
    m_writer = nullptr;
}

} // namespace vergence::live
