#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/compute/stream.h"
#include "core/compute/view.h"

namespace vergence::live {

/// Interference: waves that cross (no pair). Checker: cells of 8 pixels that change places (no
/// pair). Orbits: discs and squares on their way round, to be coloured from grey steps.
/// StaticNoise: one picture with a little noise. Cuts: three Orbits in turn, 60 frames each.
enum class SceneKind { Interference, Checker, Orbits, StaticNoise, Cuts };
std::string_view nameOf(SceneKind kind); ///< "interference", "checker", …

/// Frames of a loop of Orbits, and of StaticNoise and Cuts made of it.
inline constexpr Index kSceneLoop = 240;

struct SceneSettings {
    SceneKind kind = SceneKind::Orbits;
    int height = 64, width = 64; ///< pixels, at least 8
    std::uint32_t seed = 0;      ///< where things are and how they move, and noise
};

/// A synthetic film: each frame is a function of its number, the same on every machine with the
/// same mathematics library. Immutable; several threads may draw, each with its own stream.
class Scene {
public:
    virtual ~Scene() = default;
    int height() const { return m_settings.height; }
    int width() const { return m_settings.width; }
    Index values() const { return Index{3} * height() * width(); }
    const SceneSettings& settings() const { return m_settings; }
    /// Whether input and target are different pictures.
    virtual bool isPaired() const = 0;

    /// Frame t ≥ 0: what a camera would see and what should become of it, each [3, height, width]
    /// in [−1, 1]; either may be empty. `stream`: of a CPU device.
    void draw(Stream& stream, Index t, std::span<float> input, std::span<float> target) const;

protected:
    explicit Scene(const SceneSettings& settings) : m_settings(settings) {}
    virtual void drawFrame(Stream& stream, Index t, std::span<float> input,
                           std::span<float> target) const = 0;

    SceneSettings m_settings;
};

/// Throws ContractError for settings out of range.
std::unique_ptr<Scene> makeScene(const SceneSettings& settings);

} // namespace vergence::live
