#pragma once

#include <memory>
#include <vector>

#include "core/compute/stream.h"
#include "plugins/live_diffusion/scenes/scene.h"

namespace vergence::live {

/// Films of (input, target) pairs to learn from. Const and thread-safe.
class PairSource {
public:
    virtual ~PairSource() = default;
    virtual int height() const = 0; ///< pixels
    virtual int width() const = 0;
    virtual Index clips() const = 0;
    virtual Index frames(Index clip) const = 0; ///< of a clip, at least 1
    /// [3, height, width] in [−1, 1]; either may be empty. `stream`: of a CPU device.
    virtual void draw(Stream& stream, Index clip, Index frame, std::span<float> input,
                      std::span<float> target) const = 0;
};

/// Synthetic scenes of seeds first, first + 1, …; each goes on for `frames` frames.
class ScenePairs final : public PairSource {
public:
    ScenePairs(const SceneSettings& settings, Index count, Index frames = kSceneLoop);

    int height() const override { return m_scenes.front()->height(); }
    int width() const override { return m_scenes.front()->width(); }
    Index clips() const override { return static_cast<Index>(m_scenes.size()); }
    Index frames(Index) const override { return m_frames; }
    void draw(Stream& stream, Index clip, Index frame, std::span<float> input,
              std::span<float> target) const override;

private:
    std::vector<std::unique_ptr<Scene>> m_scenes;
    Index m_frames;
};

/// Clips of a user whose inputs are spoilt on the fly, each clip its own way (degradation.h).
class RestorePairs final : public PairSource {
public:
    /// clips: frames [3, height, width] in [−1, 1] one after the other. Throws ContractError for a
    /// clip that holds no whole frame.
    RestorePairs(std::vector<std::vector<float>> clips, int height, int width, std::uint32_t seed);

    int height() const override { return m_height; }
    int width() const override { return m_width; }
    Index clips() const override { return static_cast<Index>(m_clips.size()); }
    Index frames(Index clip) const override;
    void draw(Stream& stream, Index clip, Index frame, std::span<float> input,
              std::span<float> target) const override;

private:
    Index frameSize() const { return Index{3} * m_height * m_width; }

    std::vector<std::vector<float>> m_clips;
    int m_height, m_width;
    std::uint32_t m_seed;
};

} // namespace vergence::live
