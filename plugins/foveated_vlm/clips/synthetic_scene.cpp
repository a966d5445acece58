#include "plugins/foveated_vlm/clips/synthetic_scene.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/compute/rng.h"

namespace vergence::fvlm {

namespace {

constexpr int kStill = kSyntheticMotions - 1;
constexpr int kPlaces = 6; ///< candidates for where an object starts; the freest is taken

/// Numbers of one clip for one purpose, one after the other.
class Draws {
public:
    enum class Purpose : std::uint64_t { Scene, Background, WrongAnswer };

    Draws(const SyntheticSettings& settings, std::uint64_t id, Purpose purpose)
        : m_rng(settings.seed ^ 0x73796E7468657469u, id),
          m_next(static_cast<std::uint64_t>(purpose) << 32)
    {
    }
    float uniform(float low, float high) { return low + (high - low) * m_rng.uniform(m_next++); }
    int below(int count) { return static_cast<int>(m_rng.uniform(m_next++) * count); }

private:
    Rng m_rng;
    std::uint64_t m_next;
};

/// Where a centre may start so that the whole path stays inside.
float start(Draws& draws, float size, float radius, float travel)
{
    const float low = radius - std::min(0.0f, travel);
    const float high = size - radius - std::max(0.0f, travel);
    return draws.uniform(low, high);
}

/// Least gap between an object and the others over all frames, px; negative where they overlap.
float clearance(const SyntheticObject& object, const std::vector<SyntheticObject>& others,
                int frames)
{
    float least = std::numeric_limits<float>::max();
    for (const SyntheticObject& other : others)
        for (int t = 0; t < frames; ++t) {
            const auto at = static_cast<float>(t);
            const float dx = object.x - other.x + at * (object.stepX - other.stepX);
            const float dy = object.y - other.y + at * (object.stepY - other.stepY);
            least = std::min(least, std::hypot(dx, dy) - object.radius - other.radius);
        }
    return least;
}

void place(Draws& draws, const SyntheticSettings& settings, SyntheticObject& object,
           const std::vector<SyntheticObject>& others)
{
    const auto size = static_cast<float>(settings.size);
    const auto steps = static_cast<float>(settings.frames - 1);
    float freest = -std::numeric_limits<float>::max();
    SyntheticObject candidate = object;
    for (int i = 0; i < kPlaces; ++i) {
        candidate.x = start(draws, size, object.radius, steps * object.stepX);
        candidate.y = start(draws, size, object.radius, steps * object.stepY);
        const float gap = clearance(candidate, others, settings.frames);
        if (gap > freest) {
            freest = gap;
            object = candidate;
        }
    }
}

/// Distinct shapes in random order; a fifth repeats one of them.
std::vector<SyntheticShape> drawShapes(Draws& draws, int count)
{
    std::vector<SyntheticShape> shapes = {SyntheticShape::Disc, SyntheticShape::Square,
                                          SyntheticShape::Triangle, SyntheticShape::Cross};
    for (int i = kSyntheticShapes - 1; i > 0; --i)
        std::swap(shapes[static_cast<std::size_t>(i)],
                  shapes[static_cast<std::size_t>(draws.below(i + 1))]);
    const int repeated = draws.below(kSyntheticShapes);
    if (count > kSyntheticShapes)
        shapes.push_back(shapes[static_cast<std::size_t>(repeated)]);
    shapes.resize(static_cast<std::size_t>(count));
    return shapes;
}

int drawSubject(Draws& draws, const std::vector<SyntheticShape>& shapes, SyntheticTask task)
{
    std::vector<int> candidates;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        if (task != SyntheticTask::Ask || std::ranges::count(shapes, shapes[i]) == 1)
            candidates.push_back(static_cast<int>(i));
    return candidates[static_cast<std::size_t>(draws.below(static_cast<int>(candidates.size())))];
}

/// Whether a point, in radii from the centre and rows downwards, belongs to the shape.
bool covers(SyntheticShape shape, float u, float v)
{
    const float across = std::abs(u), along = std::abs(v);
    switch (shape) {
    case SyntheticShape::Disc:
        return u * u + v * v <= 1;
    case SyntheticShape::Square:
        return std::max(across, along) <= 0.85f;
    case SyntheticShape::Triangle:
        return v <= 0.75f && across <= 0.56f * (v + 1);
    case SyntheticShape::Cross:
        return std::min(across, along) <= 0.34f && std::max(across, along) <= 1;
    }
    return false;
}

/// Share of a pixel that an object covers, of 4×4 points.
float coverage(const SyntheticObject& object, float centreX, float centreY, int x, int y)
{
    constexpr int kSide = 4;
    int inside = 0;
    for (int j = 0; j < kSide; ++j)
        for (int i = 0; i < kSide; ++i) {
            const float u = static_cast<float>(x) + (static_cast<float>(i) + 0.5f) / kSide;
            const float v = static_cast<float>(y) + (static_cast<float>(j) + 0.5f) / kSide;
            inside +=
                covers(object.shape, (u - centreX) / object.radius, (v - centreY) / object.radius);
        }
    return static_cast<float>(inside) / (kSide * kSide);
}

} // namespace

SyntheticScene syntheticScene(const SyntheticSettings& settings, std::uint64_t id)
{
    Draws draws(settings, id, Draws::Purpose::Scene);
    const int count =
        settings.fewestObjects + draws.below(settings.mostObjects - settings.fewestObjects + 1);
    const std::vector<SyntheticShape> shapes = drawShapes(draws, count);
    SyntheticScene scene;
    scene.subject = drawSubject(draws, shapes, settings.task);
    const auto size = static_cast<float>(settings.size);
    for (int i = 0; i < count; ++i) {
        SyntheticObject object;
        object.shape = shapes[static_cast<std::size_t>(i)];
        object.colour = draws.below(kSyntheticColours);
        if (settings.task == SyntheticTask::Tell)
            object.motion = i == scene.subject ? draws.below(kStill) : kStill;
        else
            object.motion = draws.below(kSyntheticMotions);
        object.radius = draws.uniform(size / 10, size / 6);
        const float drawn = draws.uniform(size / 24, size / 12);
        const float steps = static_cast<float>(std::max(1, settings.frames - 1));
        const float speed = std::min(drawn, (size - 2 * object.radius) / steps); // stays in sight
        if (object.motion != kStill) {
            const double angle = object.motion * std::numbers::pi / 4;
            object.stepX = speed * static_cast<float>(std::cos(angle));
            object.stepY = -speed * static_cast<float>(std::sin(angle));
        }
        place(draws, settings, object, scene.objects);
        scene.objects.push_back(object);
    }
    return scene;
}

int wrongColour(const SyntheticSettings& settings, std::uint64_t id, int colour)
{
    Draws draws(settings, id, Draws::Purpose::WrongAnswer);
    return (colour + 1 + draws.below(kSyntheticColours - 1)) % kSyntheticColours;
}

std::vector<float> syntheticBackground(const SyntheticSettings& settings, std::uint64_t id)
{
    constexpr int kCells = 8, kKnots = kCells + 1;
    Draws draws(settings, id, Draws::Purpose::Background);
    std::vector<float> knots(std::size_t(3) * kKnots * kKnots);
    for (std::size_t k = 0; k < std::size_t(kKnots) * kKnots; ++k) {
        const float grey = draws.uniform(70, 120);
        for (std::size_t c = 0; c < 3; ++c)
            knots[c * kKnots * kKnots + k] = grey + draws.uniform(-10, 10);
    }
    const int size = settings.size;
    std::vector<float> picture(std::size_t(3) * size * size);
    const auto at = [&](int pixel, int& knot, float& fraction) {
        const float place = (static_cast<float>(pixel) + 0.5f) * kCells / static_cast<float>(size);
        knot = std::min(static_cast<int>(place), kCells - 1);
        fraction = place - static_cast<float>(knot);
        fraction = fraction * fraction * (3 - 2 * fraction); // no creases at the knots
    };
    for (int c = 0; c < 3; ++c)
        for (int y = 0; y < size; ++y)
            for (int x = 0; x < size; ++x) {
                int kx = 0, ky = 0;
                float fx = 0, fy = 0;
                at(x, kx, fx);
                at(y, ky, fy);
                const float* corner =
                    &knots[static_cast<std::size_t>((c * kKnots + ky) * kKnots + kx)];
                const float top = corner[0] + fx * (corner[1] - corner[0]);
                const float bottom = corner[kKnots] + fx * (corner[kKnots + 1] - corner[kKnots]);
                picture[static_cast<std::size_t>((c * size + y) * size + x)] =
                    top + fy * (bottom - top);
            }
    return picture;
}

void paintObject(const SyntheticObject& object, int frame, int size, std::vector<float>& picture)
{
    const auto t = static_cast<float>(frame);
    const float x = object.x + t * object.stepX, y = object.y + t * object.stepY;
    const std::array<std::uint8_t, 3> colour = syntheticColour(object.colour);
    const auto first = [&](float centre) {
        return std::max(0, static_cast<int>(std::floor(centre - object.radius)));
    };
    const auto last = [&](float centre) {
        return std::min(size - 1, static_cast<int>(std::floor(centre + object.radius)));
    };
    for (int row = first(y); row <= last(y); ++row)
        for (int column = first(x); column <= last(x); ++column) {
            const float cover = coverage(object, x, y, column, row);
            for (int c = 0; c < 3; ++c) {
                float& value = picture[static_cast<std::size_t>((c * size + row) * size + column)];
                value += cover * (static_cast<float>(colour[static_cast<std::size_t>(c)]) - value);
            }
        }
}

} // namespace vergence::fvlm
