#include "plugins/live_diffusion/scenes/scene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/diffusion/noise.h"
#include "plugins/live_diffusion/scenes/orbits.h"

namespace vergence::live {

namespace {

/// A film that is its own target.
class UnpairedScene : public Scene {
public:
    explicit UnpairedScene(const SceneSettings& settings) : Scene(settings) {}
    bool isPaired() const override { return false; }

protected:
    virtual void drawPicture(Index t, std::span<float> picture) const = 0;
    void drawFrame(Stream&, Index t, std::span<float> input, std::span<float> target) const override
    {
        const std::span<float> picture = input.empty() ? target : input;
        drawPicture(t, picture);
        if (!input.empty() && !target.empty())
            std::copy(input.begin(), input.end(), target.begin());
    }
};

/// X, Y ∈ [0, 4π] with both ends; P = ½ sin(X + 0.5t) cos(Y + 0.3t). Red P, green P rolled 2t
/// pixels down, blue P rolled 3t pixels to the right.
class Interference final : public UnpairedScene {
public:
    using UnpairedScene::UnpairedScene;

protected:
    void drawPicture(Index t, std::span<float> picture) const override
    {
        const auto time = static_cast<double>(t);
        const std::vector<float> across =
            wave(width(), [&](double x) { return 0.5 * std::sin(x + 0.5 * time); });
        const std::vector<float> down =
            wave(height(), [&](double y) { return std::cos(y + 0.3 * time); });
        const auto drop = static_cast<int>(2 * t % height());
        const auto shift = static_cast<int>(3 * t % width());
        std::vector<float> shifted(across);
        std::rotate(shifted.begin(), shifted.end() - shift, shifted.end());
        float* out = picture.data();
        for (int colour = 0; colour < 3; ++colour) {
            const std::vector<float>& row = colour == 2 ? shifted : across;
            for (int y = 0; y < height(); ++y) {
                const int from = colour == 1 ? (y + height() - drop) % height() : y;
                const float factor = down[static_cast<std::size_t>(from)];
                for (const float value : row)
                    *out++ = factor * value;
            }
        }
    }

private:
    template <class Function>
    static std::vector<float> wave(int count, Function function)
    {
        std::vector<float> values;
        for (int i = 0; i < count; ++i)
            values.push_back(static_cast<float>(function(4 * std::numbers::pi * i / (count - 1))));
        return values;
    }
};

/// 0.8·((i/8 + j/8 + t) mod 2) − 0.4.
class Checker final : public UnpairedScene {
public:
    using UnpairedScene::UnpairedScene;

protected:
    void drawPicture(Index t, std::span<float> picture) const override
    {
        float* out = picture.data();
        for (int colour = 0; colour < 3; ++colour) {
            for (int y = 0; y < height(); ++y) {
                for (int x = 0; x < width(); ++x)
                    *out++ = (y / 8 + x / 8 + t) % 2 != 0 ? 0.4f : -0.4f;
            }
        }
    }
};

/// The first target of Orbits with noise of deviation 0.01; the target is without.
class StaticNoise final : public Scene {
public:
    explicit StaticNoise(const SceneSettings& settings) : Scene(settings), m_orbits(settings) {}
    bool isPaired() const override { return true; }

protected:
    void drawFrame(Stream& stream, Index t, std::span<float> input,
                   std::span<float> target) const override
    {
        std::vector<float> picture(static_cast<std::size_t>(values()));
        m_orbits.draw(stream, 0, {}, picture);
        if (!input.empty()) {
            FrameNoise(m_settings.seed)
                .normals(stream, static_cast<std::uint32_t>(t % kSceneLoop), NoisePurpose::Scene,
                         input);
            for (std::size_t i = 0; i < input.size(); ++i)
                input[i] = std::clamp(picture[i] + 0.01f * input[i], -1.0f, 1.0f);
        }
        if (!target.empty())
            std::copy(picture.begin(), picture.end(), target.begin());
    }

private:
    Orbits m_orbits;
};

/// Three films of Orbits, a third of a turn of the gradient apart, 60 frames each.
class Cuts final : public Scene {
public:
    explicit Cuts(const SceneSettings& settings)
        : Scene(settings),
          m_films{film(settings, 0), film(settings, 1), film(settings, 2)}
    {
    }
    bool isPaired() const override { return true; }

protected:
    void drawFrame(Stream& stream, Index t, std::span<float> input,
                   std::span<float> target) const override
    {
        m_films[static_cast<std::size_t>(t / 60 % 3)].draw(stream, t, input, target);
    }

private:
    static Orbits film(SceneSettings settings, std::uint32_t number)
    {
        const double angle = Orbits(settings).gradientAngle();
        settings.seed += number;
        return Orbits(settings, angle + number * 2 * std::numbers::pi / 3);
    }

    std::array<Orbits, 3> m_films;
};

} // namespace

std::string_view nameOf(SceneKind kind)
{
    switch (kind) {
    case SceneKind::Interference:
        return "interference";
    case SceneKind::Checker:
        return "checker";
    case SceneKind::Orbits:
        return "orbits";
    case SceneKind::StaticNoise:
        return "static noise";
    case SceneKind::Cuts:
        break;
    }
    return "cuts";
}

void Scene::draw(Stream& stream, Index t, std::span<float> input, std::span<float> target) const
{
    expects(t >= 0, fmt::format("Scene: there is no frame {}", t));
    for (const std::span<float>& picture : {input, target})
        expects(picture.empty() || static_cast<Index>(picture.size()) == values(),
                fmt::format("Scene: a picture of {} values for a film of {}", picture.size(),
                            values()));
    if (!input.empty() || !target.empty())
        drawFrame(stream, t, input, target);
}

std::unique_ptr<Scene> makeScene(const SceneSettings& settings)
{
    expects(settings.height >= 8 && settings.width >= 8,
            fmt::format("Scene: {}×{} pixels are too few", settings.width, settings.height));
    switch (settings.kind) {
    case SceneKind::Interference:
        return std::make_unique<Interference>(settings);
    case SceneKind::Checker:
        return std::make_unique<Checker>(settings);
    case SceneKind::Orbits:
        return std::make_unique<Orbits>(settings);
    case SceneKind::StaticNoise:
        return std::make_unique<StaticNoise>(settings);
    case SceneKind::Cuts:
        break;
    }
    return std::make_unique<Cuts>(settings);
}

} // namespace vergence::live
