#include "plugins/live_diffusion/train/pair_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/scenes/degradation.h"

namespace vergence::live {

ScenePairs::ScenePairs(const SceneSettings& settings, Index count, Index frames) : m_frames(frames)
{
    expects(count >= 1 && frames >= 1, "ScenePairs: at least one scene of at least one frame");
    SceneSettings each = settings;
    for (Index i = 0; i < count; ++i) {
        each.seed = settings.seed + static_cast<std::uint32_t>(i);
        m_scenes.push_back(makeScene(each));
    }
}

void ScenePairs::draw(Stream& stream, Index clip, Index frame, std::span<float> input,
                      std::span<float> target) const
{
    m_scenes.at(static_cast<std::size_t>(clip))->draw(stream, frame, input, target);
}

RestorePairs::RestorePairs(std::vector<std::vector<float>> clips, int height, int width,
                           std::uint32_t seed)
    : m_clips(std::move(clips)),
      m_height(height),
      m_width(width),
      m_seed(seed)
{
    expects(!m_clips.empty() && height > 0 && width > 0, "RestorePairs: there are no pictures");
    for (const std::vector<float>& clip : m_clips)
        expects(!clip.empty() && static_cast<Index>(clip.size()) % frameSize() == 0,
                fmt::format("RestorePairs: {} values are no frames of {}×{}", clip.size(), width,
                            height));
}

Index RestorePairs::frames(Index clip) const
{
    return static_cast<Index>(m_clips.at(static_cast<std::size_t>(clip)).size()) / frameSize();
}

void RestorePairs::draw(Stream& stream, Index clip, Index frame, std::span<float> input,
                        std::span<float> target) const
{
    expects(frame >= 0 && frame < frames(clip),
            fmt::format("RestorePairs: clip {} has no frame {}", clip, frame));
    const std::span<const float> clean = std::span(m_clips[static_cast<std::size_t>(clip)])
                                             .subspan(static_cast<std::size_t>(frame * frameSize()),
                                                      static_cast<std::size_t>(frameSize()));
    if (!input.empty()) {
        const auto number = static_cast<std::uint32_t>(clip);
        degrade(stream, randomDegradation(m_seed, number), m_height, m_width, m_seed + number,
                static_cast<std::uint32_t>(frame), clean, input);
    }
    if (!target.empty())
        std::copy(clean.begin(), clean.end(), target.begin());
}

} // namespace vergence::live
