#include <algorithm>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/sources/source.h"

namespace vergence::live {

namespace {

/// RGB from planes [3, height, width] in [−1, 1].
Image pictureOf(const std::vector<float>& planes, int width, int height)
{
    Image image = makeImage(width, height, 3);
    const std::size_t cells = image.pixels.size() / 3;
    for (std::size_t i = 0; i < cells; ++i) {
        for (std::size_t c = 0; c < 3; ++c) {
            const float value = std::clamp(planes[c * cells + i], -1.f, 1.f);
            image.pixels[3 * i + c] = static_cast<std::uint8_t>(std::lround((value + 1) * 127.5f));
        }
    }
    return image;
}

class SceneSource final : public Source {
public:
    SceneSource(const SceneSettings& settings, double fps, std::int64_t frames)
        : m_scene(makeScene(settings)),
          m_fps(fps),
          m_frames(frames),
          m_device(makeCpuDevice(1)),
          m_stream(m_device->createStream()),
          m_input(static_cast<std::size_t>(m_scene->values())),
          m_target(m_input.size())
    {
    }

    SourceInfo info() const override
    {
        SourceInfo info;
        info.name = nameOf(m_scene->settings().kind);
        info.width = m_scene->width();
        info.height = m_scene->height();
        info.fps = m_fps;
        info.frames = m_frames;
        info.seconds = static_cast<double>(m_frames) / m_fps;
        info.hasTarget = m_scene->isPaired();
        return info;
    }

    std::optional<SourceFrame> next(const std::stop_token& stop) override
    {
        if ((m_frames > 0 && m_next >= m_frames) || stop.stop_requested())
            return std::nullopt;
        m_scene->draw(*m_stream, m_next, m_input, m_target);
        SourceFrame frame;
        frame.rgb = pictureOf(m_input, m_scene->width(), m_scene->height());
        if (m_scene->isPaired())
            frame.target = pictureOf(m_target, m_scene->width(), m_scene->height());
        frame.number = m_next++;
        frame.seconds = static_cast<double>(frame.number) / m_fps;
        frame.lasts = 1 / m_fps;
        frame.captured = steadySeconds();
        return frame;
    }

    void seek(double seconds) override
    {
        // A frame counts as reached where rounding alone lacks.
        m_next = static_cast<std::int64_t>(std::floor(std::max(0.0, seconds) * m_fps + 1e-6));
        if (m_frames > 0)
            m_next = std::min(m_next, m_frames - 1);
    }

private:
    std::unique_ptr<Scene> m_scene;
    double m_fps;
    std::int64_t m_frames, m_next = 0;
    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
    std::vector<float> m_input, m_target;
};

} // namespace

std::unique_ptr<Source> sceneSource(const SceneSettings& scene, double fps, std::int64_t frames)
{
    expects(fps > 0 && fps <= 1000, "scene source: up to 1000 frames a second");
    expects(frames >= 0, "scene source: no negative number of frames");
    return std::make_unique<SceneSource>(scene, fps, frames);
}

} // namespace vergence::live
