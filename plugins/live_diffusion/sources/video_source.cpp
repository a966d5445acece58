#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/sources/source.h"

namespace vergence::live {

namespace {

namespace fs = std::filesystem;

/// Pixels this far from square are made square.
constexpr double kSquareTolerance = 0.01;

/// The picture `aspect` times as wide, columns mixed linearly.
Image widened(const Image& rgb, double aspect)
{
    const int width = std::max(1, static_cast<int>(std::lround(rgb.width * aspect)));
    Image result = makeImage(width, rgb.height, 3);
    for (int x = 0; x < width; ++x) {
        const double at = std::clamp((x + 0.5) * rgb.width / width - 0.5, 0.0, rgb.width - 1.0);
        const int left = static_cast<int>(at), right = std::min(left + 1, rgb.width - 1);
        const double share = at - left;
        for (int y = 0; y < rgb.height; ++y) {
            for (int c = 0; c < 3; ++c) {
                const double a = rgb.row(y)[3 * left + c], b = rgb.row(y)[3 * right + c];
                result.row(y)[3 * x + c] =
                    static_cast<std::uint8_t>(std::lround(a + share * (b - a)));
            }
        }
    }
    return result;
}

/// A video file or a camera.
class StreamSource final : public Source {
public:
    StreamSource(std::unique_ptr<VideoStream> stream, std::string name, bool isLive)
        : m_stream(std::move(stream)),
          m_name(std::move(name)),
          m_isLive(isLive)
    {
    }

    /// Whether there is a picture at all; it is given next.
    bool findFirst()
    {
        m_ahead = m_stream->next({});
        return m_ahead.has_value();
    }

    SourceInfo info() const override
    {
        const VideoStreamInfo found = m_stream->info();
        SourceInfo info;
        info.name = m_name;
        info.width = found.width;
        info.height = found.height;
        info.fps = found.fps;
        info.seconds = found.seconds;
        info.isLive = m_isLive;
        return info;
    }

    std::optional<SourceFrame> next(const std::stop_token& stop) override
    {
        auto video = m_ahead ? std::exchange(m_ahead, std::nullopt) : m_stream->next(stop);
        if (!video)
            return std::nullopt;
        SourceFrame frame;
        frame.captured = steadySeconds();
        frame.rgb = std::abs(video->aspect - 1) > kSquareTolerance && video->aspect > 0
                        ? widened(video->rgb, video->aspect)
                        : std::move(video->rgb);
        frame.number = m_next++;
        frame.seconds = video->seconds;
        frame.lasts = video->lasts > 0 ? video->lasts : frame.lasts;
        return frame;
    }

    void seek(double seconds) override
    {
        if (m_isLive)
            return;
        m_ahead.reset();
        m_stream->seek(seconds);
        // Exact for even rates; for others what would be the number at the mean rate.
        m_next = std::llround(std::max(0.0, seconds) * m_stream->info().fps);
    }

private:
    std::unique_ptr<VideoStream> m_stream;
    std::string m_name;
    bool m_isLive;
    std::optional<VideoFrame> m_ahead;
    std::int64_t m_next = 0;
};

/// Before any library looks at it.
void expectFile(const fs::path& path)
{
    std::error_code code;
    if (!fs::exists(path, code))
        throw InputError(fmt::format("There is no file {}.", path.string()));
    if (fs::is_directory(path, code))
        throw InputError(fmt::format(
            "{} is a folder, not a video; for a folder of pictures set source to images.",
            path.string()));
    if (fs::file_size(path, code) == 0 && !code)
        throw InputError(fmt::format("The video {} cannot be used: it is empty.", path.string()));
}

} // namespace

std::unique_ptr<Source> videoSource(const fs::path& path, int threads)
{
    expects(threads >= 1, "video source: at least one thread");
    expectFile(path);
    auto source = std::make_unique<StreamSource>(requireVideoModule().stream(path, threads),
                                                 path.filename().string(), false);
    if (!source->findFirst())
        throw InputError(fmt::format("The video {} cannot be used: no picture in it can be read.",
                                     path.string()));
    return source;
}

std::unique_ptr<Source> cameraSource(const CameraSettings& settings)
{
    return std::make_unique<StreamSource>(requireVideoModule().camera(settings), settings.device,
                                          true);
}

std::vector<std::string> cameras()
{
    std::vector<std::string> found;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator("/dev", code)) {
        if (entry.path().filename().string().starts_with("video"))
            found.push_back(entry.path().string());
    }
    std::ranges::sort(found, [](const auto& a, const auto& b) { return naturallyBefore(a, b); });
    return found;
}

} // namespace vergence::live
