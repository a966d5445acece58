#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

#include "plugins/live_diffusion/sources/source.h"

namespace vergence::live {

/// Frames whose grey is 100 + their number, of changing size; `before(number)` may wait or throw.
class CountingSource final : public Source {
public:
    explicit CountingSource(std::int64_t frames,
                            std::function<void(std::int64_t, const std::stop_token&)> before = {})
        : m_frames(frames),
          m_before(std::move(before))
    {
    }

    SourceInfo info() const override
    {
        SourceInfo info;
        info.name = "Counting";
        info.fps = 25;
        info.frames = m_frames;
        return info;
    }
    std::optional<SourceFrame> next(const std::stop_token& stop) override
    {
        if (m_before)
            m_before(m_next, stop);
        if (m_next >= m_frames || stop.stop_requested())
            return std::nullopt;
        SourceFrame frame;
        const int side = m_next % 2 ? 8 : 13;
        frame.rgb = makeImage(side, side, 3, static_cast<std::uint8_t>(100 + m_next % 100));
        frame.number = m_next;
        frame.seconds = 0.04 * static_cast<double>(m_next++);
        return frame;
    }
    void seek(double seconds) override { m_next = std::llround(seconds / 0.04); }

private:
    std::int64_t m_frames, m_next = 0;
    std::function<void(std::int64_t, const std::stop_token&)> m_before;
};

inline int numberOf(const Image& picture)
{
    return picture.pixels.at(0) - 100;
}

} // namespace vergence::live
