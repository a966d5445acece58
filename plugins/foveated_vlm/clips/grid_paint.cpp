#include "plugins/foveated_vlm/clips/grid_paint.h"

#include <array>
#include <cmath>
#include <string_view>

#include "core/compute/rng.h"
#include "plugins/foveated_vlm/clips/synthetic_scene.h"

namespace vergence::fvlm {

namespace {

using Colour = std::array<std::uint8_t, 3>;

constexpr Colour kGap{30, 30, 34}, kPlate{44, 46, 54};
constexpr std::array<Colour, kGridAnswers> kColours{{{222, 50, 47},
                                                     {52, 168, 72},
                                                     {52, 92, 226},
                                                     {240, 206, 48},
                                                     {168, 60, 200},
                                                     {242, 242, 242},
                                                     {240, 130, 30},
                                                     {60, 200, 210}}};

/// Rows of five dots, from the top, in the order of gridAnswers().
constexpr int kDots = 5;
constexpr std::array<std::string_view, kGridAnswers> kLetters{{".####"
                                                               "#...."
                                                               "#...."
                                                               "#...."
                                                               ".####",
                                                               "#####"
                                                               "#...."
                                                               "####."
                                                               "#...."
                                                               "#####",
                                                               "#...#"
                                                               "#...#"
                                                               "#####"
                                                               "#...#"
                                                               "#...#",
                                                               "#...#"
                                                               "#..#."
                                                               "###.."
                                                               "#..#."
                                                               "#...#",
                                                               "#...."
                                                               "#...."
                                                               "#...."
                                                               "#...."
                                                               "#####",
                                                               ".###."
                                                               "#...#"
                                                               "#...#"
                                                               "#...#"
                                                               ".###.",
                                                               "#####"
                                                               "..#.."
                                                               "..#.."
                                                               "..#.."
                                                               "..#..",
                                                               "#...#"
                                                               ".#.#."
                                                               "..#.."
                                                               ".#.#."
                                                               "#...#"}};

class Canvas {
public:
    Canvas(std::span<std::uint8_t> pixels, int size) : m_pixels(pixels), m_size(size) {}
    void set(int x, int y, const Colour& colour)
    {
        for (std::size_t c = 0; c < 3; ++c)
            m_pixels[(c * side() + static_cast<std::size_t>(y)) * side() +
                     static_cast<std::size_t>(x)] = colour[c];
    }
    template <class Covers>
    void fill(const CellBox& box, const Colour& colour, const Covers& covers)
    {
        for (int y = box.top; y < box.bottom; ++y)
            for (int x = box.left; x < box.right; ++x)
                if (covers(x, y))
                    set(x, y, colour);
    }
    void fill(const CellBox& box, const Colour& colour)
    {
        fill(box, colour, [](int, int) { return true; });
    }

private:
    std::size_t side() const { return static_cast<std::size_t>(m_size); }

    std::span<std::uint8_t> m_pixels;
    int m_size;
};

CellBox withoutGap(CellBox box)
{
    --box.right;
    --box.bottom;
    return box;
}

void paintLetter(Canvas& canvas, const CellBox& cell, std::string_view dots, const Colour& colour)
{
    const double width = cell.right - cell.left, height = cell.bottom - cell.top;
    canvas.fill(cell, colour, [&](int x, int y) {
        // One dot of margin on every side.
        const int column = static_cast<int>((x - cell.left + 0.5) / width * (kDots + 2)) - 1;
        const int row = static_cast<int>((y - cell.top + 0.5) / height * (kDots + 2)) - 1;
        return column >= 0 && column < kDots && row >= 0 && row < kDots &&
               dots[static_cast<std::size_t>(row * kDots + column)] == '#';
    });
}

void paintSign(Canvas& canvas, const CellBox& cell, const Colour& colour)
{
    const double radius = 0.4 * (cell.right - cell.left);
    const double x = (cell.left + cell.right) / 2.0, y = (cell.top + cell.bottom) / 2.0;
    canvas.fill(cell, colour,
                [&](int px, int py) { return std::hypot(px + 0.5 - x, py + 0.5 - y) <= radius; });
}

/// Soft noise that drifts by up to two pixels a frame, around the edges.
void paintDrift(Canvas& canvas, const GridSettings& settings, std::uint64_t id, int frame)
{
    SyntheticSettings noise;
    noise.size = settings.size;
    noise.seed = settings.seed;
    const std::vector<float> picture = syntheticBackground(noise, id);
    const Rng rng(settings.seed ^ 0x6472696674u, id);
    const int size = settings.size;
    const auto step = [&](std::uint64_t axis) {
        return static_cast<int>(std::lround((2 * rng.uniform(axis) - 1) * 2));
    };
    const auto moved = [&](int at, int by) { return ((at + by * frame) % size + size) % size; };
    const int dx = step(0), dy = step(1);
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            Colour colour{};
            for (int c = 0; c < 3; ++c)
                colour[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(
                    picture[static_cast<std::size_t>((c * size + moved(y, dy)) * size +
                                                     moved(x, dx))] +
                    0.5F);
            canvas.set(x, y, colour);
        }
}

} // namespace

CellBox gridCellBox(const GridSettings& settings, GridPlace place)
{
    const auto edge = [&](int cell) { return cell * settings.size / settings.side; };
    return {edge(place.column), edge(place.row), edge(place.column + 1), edge(place.row + 1)};
}

void paintGrid(const GridSettings& settings, const GridScene& scene, std::uint64_t id, int frame,
               std::span<std::uint8_t> out)
{
    Canvas canvas(out, settings.size);
    if (settings.content == GridContent::Sign)
        paintDrift(canvas, settings, id, frame);
    else
        canvas.fill({0, 0, settings.size, settings.size}, kGap);
    const Rng tints(settings.seed ^ 0x74696E74u, id);
    for (int row = 0; row < settings.side; ++row)
        for (int column = 0; column < settings.side; ++column) {
            const auto cell = static_cast<std::size_t>(row * settings.side + column);
            const auto content = static_cast<std::size_t>(scene.contents[cell]);
            const CellBox box = withoutGap(gridCellBox(settings, {row, column}));
            if (settings.content == GridContent::Colour) {
                canvas.fill(box, kColours[content]);
            } else if (settings.content == GridContent::Letter) {
                const auto tint = static_cast<std::size_t>(tints.uniform(cell) * kGridAnswers);
                canvas.fill(box, kPlate);
                paintLetter(canvas, box, kLetters[content], kColours[tint]);
            } else if (scene.frames[cell] == frame) {
                paintSign(canvas, box, kColours[content]);
            }
        }
}

} // namespace vergence::fvlm
