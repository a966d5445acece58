#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/clip_source.h"

namespace vergence::test {

/// Clips whose bytes are a function of clip and place; what is not set is 0.
class MadeClips : public fvlm::ClipSource {
public:
    /// `frames[i]` of clip i, [3, height, width] each.
    MadeClips(std::vector<int> frames, int height, int width)
        : m_frames(std::move(frames)),
          m_height(height),
          m_width(width)
    {
    }

    Index count() const override { return static_cast<Index>(m_frames.size()); }
    int height() const override { return m_height; }
    int width() const override { return m_width; }
    fvlm::ClipInfo info(Index clip) const override
    {
        fvlm::expectsClip(*this, clip);
        fvlm::ClipInfo info;
        info.id = static_cast<std::uint64_t>(clip) * 10 + 3;
        info.frames = m_frames[static_cast<std::size_t>(clip)];
        info.seconds = 2.5f;
        info.fps = 24;
        info.isImage = images.size() > static_cast<std::size_t>(clip) &&
                       images[static_cast<std::size_t>(clip)];
        info.text.answer = "clip " + std::to_string(clip);
        return info;
    }
    void read(Index clip, std::span<std::uint8_t> out) const override
    {
        ++reads;
        if (onRead)
            onRead(clip);
        expects(out.size() == static_cast<std::size_t>(info(clip).frames) * frameSize(*this),
                "MadeClips: room for all frames");
        const bool isImage = info(clip).isImage;
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = byteAt(clip, isImage ? i % frameSize(*this) : i);
    }
    std::string digest() const override { return "made"; }
    std::span<const std::uint8_t> mapped() const override { return m_all; }

    static std::uint8_t byteAt(Index clip, std::size_t place)
    {
        return static_cast<std::uint8_t>(
            (place * 73 + 19 + static_cast<std::size_t>(clip) * 101 + (place >> 8) * 7) % 256);
    }
    /// From now on mapped() gives all bytes.
    void map()
    {
        std::vector<std::uint8_t> all;
        for (Index clip = 0; clip < count(); ++clip) {
            const auto frames = framesOf(*this, clip);
            all.insert(all.end(), frames.begin(), frames.end());
        }
        m_all = std::move(all);
    }

    std::vector<bool> images;
    std::function<void(Index)> onRead; ///< called before each read, from any thread
    mutable std::atomic<int> reads{0};

private:
    std::vector<int> m_frames;
    int m_height, m_width;
    std::vector<std::uint8_t> m_all;
};

/// All frames of a clip, as writers of shards take them.
inline std::vector<std::byte> frameBytes(const fvlm::ClipSource& source, Index clip)
{
    const auto frames = framesOf(source, clip);
    const auto bytes = std::as_bytes(std::span(frames));
    return {bytes.begin(), bytes.end()};
}

/// Latents [4, 2, 3] that name clip and frame.
class MadeLatents : public fvlm::LatentSource {
public:
    explicit MadeLatents(const fvlm::ClipSource& clips) : m_clips(clips) {}

    std::array<Index, 3> shape() const override { return {4, 2, 3}; }
    void read(Index clip, std::span<float> out) const override
    {
        expects(out.size() == static_cast<std::size_t>(m_clips.info(clip).frames) * 24,
                "MadeLatents: room for all frames");
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = value(clip, i);
    }
    std::string provider() const override { return "made"; }

    static float value(Index clip, std::size_t place)
    {
        return static_cast<float>(clip) * 1000 + static_cast<float>(place) / 4;
    }

private:
    const fvlm::ClipSource& m_clips;
};

} // namespace vergence::test
