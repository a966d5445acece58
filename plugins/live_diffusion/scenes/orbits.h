#pragma once

#include <array>
#include <optional>
#include <vector>

#include "plugins/live_diffusion/scenes/scene.h"

namespace vergence::live {

/// Six discs and three turning squares go round before a gradient. Each thing's colour is its own
/// in every film; where it is, how large and how fast differs with the seed. All angular speeds are
/// whole multiples of 2π/240, so that the film is an exact loop. Target: the colours, edges
/// softened over a pixel by signed distance. Input: luminance, blurred (σ 1), in 4 steps, with
/// noise of deviation 0.1.
class Orbits final : public Scene {
public:
    /// `gradientAngle`: where it gets lighter, radians; by the seed where not given.
    explicit Orbits(const SceneSettings& settings, std::optional<double> gradientAngle = {});
    double gradientAngle() const { return m_gradientAngle; }
    bool isPaired() const override { return true; }

protected:
    void drawFrame(Stream& stream, Index t, std::span<float> input,
                   std::span<float> target) const override;

private:
    using Colour = std::array<float, 3>;
    /// Lengths in units of the shorter side, angles in radians, speeds in turns per loop.
    struct Thing {
        bool isSquare = false;
        Colour colour{};
        double centreX = 0, centreY = 0, orbit = 0, size = 0; ///< size: radius or half a side
        double phase = 0, turn = 0;                           ///< at frame 0
        int speed = 1, spin = 0;
    };

    void addThings();
    void drawBackground(std::span<float> target) const;
    void drawThing(const Thing& thing, Index t, std::span<float> target) const;
    void makeInput(Stream& stream, Index t, std::span<const float> target,
                   std::span<float> input) const;

    std::vector<Thing> m_things;
    double m_gradientAngle = 0;
};

} // namespace vergence::live
