#include "plugins/live_diffusion/stream/clip_export.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/artifact/gif.h"
#include "core/artifact/image_ops.h"
#include "core/artifact/output_file.h"
#include "core/artifact/video/video.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace vergence::live {

namespace {

namespace fs = std::filesystem;

constexpr int kBarHeight = 11; ///< of the overlay's line, a dot of its face one pixel
constexpr std::size_t kMostGifBytes = std::size_t{1} << 30;

/// The window of the picture with the target's aspect from its middle, at the target's size.
Image fittedTo(const Image& picture, int width, int height)
{
    const Image rgb = toRgb(picture);
    Image result = makeImage(width, height, 3);
    const double scale =
        std::min(static_cast<double>(rgb.width) / width, static_cast<double>(rgb.height) / height);
    const double left = (rgb.width - scale * width) / 2, top = (rgb.height - scale * height) / 2;
    const auto edge = [&](double from, int i) { return static_cast<int>(from + i * scale); };
    for (int y = 0; y < height; ++y) {
        const int y0 = edge(top, y), y1 = std::max(edge(top, y + 1), y0 + 1);
        for (int x = 0; x < width; ++x) {
            const int x0 = edge(left, x), x1 = std::max(edge(left, x + 1), x0 + 1);
            for (int c = 0; c < 3; ++c) {
                int sum = 0;
                for (int v = y0; v < y1; ++v) {
                    for (int u = x0; u < x1; ++u)
                        sum += rgb.row(v)[3 * u + c];
                }
                const int count = (y1 - y0) * (x1 - x0);
                result.row(y)[3 * x + c] = static_cast<std::uint8_t>((sum + count / 2) / count);
            }
        }
    }
    return result;
}

/// GIF: kept until the end, for one palette serves all frames. It ends where memory does.
class GifClip final : public ClipWriter {
public:
    GifClip(fs::path path, double fps) : m_path(std::move(path))
    {
        m_options.delayCentiseconds = std::max(2, static_cast<int>(std::lround(100 / fps)));
        m_options.ordersDots = true;
        writeEmpty();
    }

    void add(const Image& picture) override
    {
        if (m_isFull)
            return;
        const int side = std::max(picture.width, picture.height);
        Image kept = side > kMostGifSide ? scaled(picture, static_cast<double>(kMostGifSide) / side)
                                         : picture;
        m_bytes += kept.pixels.size();
        m_isFull = m_bytes > kMostGifBytes;
        if (m_isFull)
            log("live_diffusion")
                .warn("The GIF {} ends after {} frames, for they are kept in memory; write an MP4 "
                      "to have all.",
                      m_path.string(), m_frames.size());
        else
            m_frames.push_back(std::move(kept));
    }
    void finish() override
    {
        expects(!m_frames.empty(), "clip: at least one frame");
        writeGif(m_path, m_frames, m_options);
    }
    std::string codec() const override { return "gif"; }

private:
    /// Finds out now, and not after the last frame, whether the file can be written.
    void writeEmpty() { const OutputFile probe(m_path); }

    fs::path m_path;
    GifOptions m_options;
    std::vector<Image> m_frames;
    std::size_t m_bytes = 0;
    bool m_isFull = false;
};

class PngClip final : public ClipWriter {
public:
    explicit PngClip(fs::path folder) : m_folder(std::move(folder))
    {
        std::error_code code;
        fs::create_directories(m_folder, code);
        if (code)
            throwCannotWrite(m_folder, code.value());
    }

    void add(const Image& picture) override
    {
        writePng(m_folder / fmt::format("{:06}.png", m_frames), picture);
        ++m_frames; // a picture that could not be written keeps its number
    }
    void finish() override { expects(m_frames > 0, "clip: at least one frame"); }
    std::string codec() const override { return "png"; }

private:
    fs::path m_folder;
    int m_frames = 0;
};

class VideoClip final : public ClipWriter {
public:
    VideoClip(fs::path path, double fps) : m_path(std::move(path)), m_module(requireVideoModule())
    {
        m_settings.fps = fps;
        const OutputFile probe(m_path);
    }

    void add(const Image& picture) override
    {
        if (!m_writer) {
            m_settings.width = picture.width;
            m_settings.height = picture.height;
            m_writer = m_module.writer(m_path, m_settings);
        }
        m_writer->add(picture);
    }
    void finish() override
    {
        expects(m_writer != nullptr, "clip: at least one frame");
        m_writer->finish();
    }
    std::string codec() const override { return m_writer ? m_writer->codec() : "video"; }

private:
    fs::path m_path;
    const VideoModule& m_module;
    VideoWriterSettings m_settings;
    std::unique_ptr<VideoWriter> m_writer;
};

} // namespace

Image composed(const Image& input, const Image& output, const std::string& overlay,
               const ExportSettings& settings)
{
    expects(settings.scale >= 1 && settings.scale <= 16, "clip: a scale of 1 to 16");
    const Image right = scaled(toRgb(output), settings.scale);
    const bool isWide = settings.view == ExportView::SideBySide;
    const int bar = settings.hasOverlay ? kBarHeight : 0;
    Image sheet = makeImage(isWide ? 2 * right.width : right.width, right.height + bar, 3);
    if (isWide)
        paste(sheet, fittedTo(input, right.width, right.height), 0, 0);
    paste(sheet, right, isWide ? right.width : 0, 0);
    if (settings.hasOverlay)
        drawText(sheet, 2, right.height + 2, overlay, 255, 255, 255);
    return sheet;
}

std::unique_ptr<ClipWriter> openClip(const fs::path& path, const ExportSettings& settings)
{
    expects(settings.fps > 0 && settings.fps <= 1000, "clip: up to 1000 frames a second");
    switch (settings.format) {
    case ExportFormat::Gif:
        return std::make_unique<GifClip>(path, settings.fps);
    case ExportFormat::PngSequence:
        return std::make_unique<PngClip>(path);
    case ExportFormat::Mp4:
        break;
    }
    return std::make_unique<VideoClip>(path, settings.fps);
}

} // namespace vergence::live
