#include "plugins/live_diffusion/scenes/orbits.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plugins/live_diffusion/diffusion/noise.h"
#include "plugins/live_diffusion/scenes/degradation.h"

namespace vergence::live {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;
using Colour = std::array<float, 3>;

// Dark blue to green behind, warm in front; the luminances lie in all four steps of the input.
constexpr Colour kDarkEnd{-0.85f, -0.75f, -0.25f}, kLightEnd{-0.15f, 0.45f, 0.35f};
constexpr std::array<Colour, 6> kDiscColours{{{0.95f, 0.35f, -0.60f},
                                              {0.02f, -1.00f, -1.00f},
                                              {1.00f, 0.85f, -0.20f},
                                              {0.95f, 0.35f, -0.60f},
                                              {0.02f, -1.00f, -1.00f},
                                              {1.00f, 0.85f, -0.20f}}};
constexpr std::array<Colour, 3> kSquareColours{
    {{0.90f, 0.80f, 0.95f}, {0.65f, -0.30f, 0.95f}, {-0.95f, -0.95f, -0.90f}}};

/// Draws of one film, in order.
class Draws {
public:
    explicit Draws(std::uint32_t seed) : m_noise(seed) {}
    double between(double low, double high)
    {
        return low + (high - low) * m_noise.uniform(0, NoisePurpose::Layout, m_next++);
    }
    /// ±1 … ±most.
    int speed(int most)
    {
        const int size = 1 + static_cast<int>(between(0, most));
        return between(0, 1) < 0.5 ? -size : size;
    }

private:
    FrameNoise m_noise;
    std::uint32_t m_next = 0;
};

/// Distance from the edge of a square of half side `half` about 0, negative inside.
double squareDistance(double x, double y, double half)
{
    const double dx = std::abs(x) - half, dy = std::abs(y) - half;
    const double outside = std::hypot(std::max(dx, 0.0), std::max(dy, 0.0));
    return outside + std::min(std::max(dx, dy), 0.0);
}

} // namespace

Orbits::Orbits(const SceneSettings& settings, std::optional<double> gradientAngle) : Scene(settings)
{
    addThings();
    m_gradientAngle = gradientAngle.value_or(m_gradientAngle);
}

void Orbits::addThings()
{
    Draws draws(m_settings.seed);
    m_gradientAngle = draws.between(0, kTurn);
    const double shorter = std::min(width(), height());
    const auto add = [&](bool isSquare, const Colour& colour) {
        Thing thing;
        thing.isSquare = isSquare;
        thing.colour = colour;
        thing.centreX = draws.between(0.35, 0.65) * width() / shorter;
        thing.centreY = draws.between(0.35, 0.65) * height() / shorter;
        thing.orbit = draws.between(0.12, 0.36);
        thing.size = isSquare ? draws.between(0.07, 0.12) : draws.between(0.06, 0.13);
        thing.phase = draws.between(0, kTurn);
        thing.turn = draws.between(0, kTurn);
        thing.speed = draws.speed(4);
        thing.spin = isSquare ? draws.speed(6) : 0;
        m_things.push_back(thing);
    };
    for (std::size_t i = 0; i < kSquareColours.size(); ++i) {
        add(false, kDiscColours[2 * i]);
        add(true, kSquareColours[i]);
        add(false, kDiscColours[2 * i + 1]);
    }
}

void Orbits::drawFrame(Stream& stream, Index t, std::span<float> input,
                       std::span<float> target) const
{
    std::vector<float> own;
    if (target.empty()) {
        own.resize(static_cast<std::size_t>(values()));
        target = own;
    }
    drawBackground(target);
    for (const Thing& thing : m_things)
        drawThing(thing, t % kSceneLoop, target);
    if (!input.empty())
        makeInput(stream, t % kSceneLoop, target, input);
}

void Orbits::drawBackground(std::span<float> target) const
{
    const double c = std::cos(m_gradientAngle), s = std::sin(m_gradientAngle);
    const double extent = std::abs(c) * width() + std::abs(s) * height();
    for (int y = 0; y < height(); ++y) {
        const double atLeft =
            0.5 + ((0.5 - width() / 2.0) * c + (y + 0.5 - height() / 2.0) * s) / extent;
        const auto first = static_cast<float>(atLeft), step = static_cast<float>(c / extent);
        for (std::size_t colour = 0; colour < 3; ++colour) {
            const float dark = kDarkEnd[colour], range = kLightEnd[colour] - dark;
            float* row = target.data() + (static_cast<Index>(colour) * height() + y) * width();
            for (int x = 0; x < width(); ++x)
                row[x] = dark + range * (first + step * static_cast<float>(x));
        }
    }
}

void Orbits::drawThing(const Thing& thing, Index t, std::span<float> target) const
{
    const double shorter = std::min(width(), height());
    const double loop = kTurn * static_cast<double>(t) / kSceneLoop;
    const double way = thing.phase + thing.speed * loop, turn = thing.turn + thing.spin * loop;
    const double centreX = (thing.centreX + thing.orbit * std::cos(way)) * shorter;
    const double centreY = (thing.centreY + thing.orbit * std::sin(way)) * shorter;
    const double size = thing.size * shorter, c = std::cos(turn), s = std::sin(turn);
    const double reach = (thing.isSquare ? size * std::numbers::sqrt2 : size) + 1;
    const int left = std::max(0, static_cast<int>(std::floor(centreX - reach)));
    const int right = std::min(width(), static_cast<int>(std::ceil(centreX + reach)));
    const int top = std::max(0, static_cast<int>(std::floor(centreY - reach)));
    const int bottom = std::min(height(), static_cast<int>(std::ceil(centreY + reach)));
    const Index plane = Index{height()} * width();
    for (int y = top; y < bottom; ++y) {
        for (int x = left; x < right; ++x) {
            const double dx = x + 0.5 - centreX, dy = y + 0.5 - centreY;
            const double distance = thing.isSquare
                                        ? squareDistance(c * dx + s * dy, c * dy - s * dx, size)
                                        : std::sqrt(dx * dx + dy * dy) - size;
            const auto cover = static_cast<float>(std::clamp(0.5 - distance, 0.0, 1.0));
            if (cover == 0)
                continue;
            float* pixel = target.data() + Index{y} * width() + x;
            for (std::size_t k = 0; k < 3; ++k, pixel += plane)
                *pixel += cover * (thing.colour[k] - *pixel);
        }
    }
}

void Orbits::makeInput(Stream& stream, Index t, std::span<const float> target,
                       std::span<float> input) const
{
    const auto plane = static_cast<std::size_t>(height()) * static_cast<std::size_t>(width());
    const std::span<float> grey = input.first(plane), noise = input.last(plane);
    for (std::size_t i = 0; i < plane; ++i)
        grey[i] = 0.299f * target[i] + 0.587f * target[plane + i] + 0.114f * target[2 * plane + i];
    blur(1, 1, height(), width(), grey);
    FrameNoise(m_settings.seed)
        .normals(stream, static_cast<std::uint32_t>(t), NoisePurpose::Scene, noise);
    for (std::size_t i = 0; i < plane; ++i) {
        const auto level = static_cast<float>(static_cast<int>(grey[i] * 1.5f + 2.0f)); // 0 … 3
        grey[i] = std::clamp(level * (2.0f / 3) - 1 + 0.1f * noise[i], -1.0f, 1.0f);
    }
    std::copy(grey.begin(), grey.end(), input.begin() + static_cast<std::ptrdiff_t>(plane));
    std::copy(grey.begin(), grey.end(), noise.begin());
}

} // namespace vergence::live
