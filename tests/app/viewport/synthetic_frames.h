#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/view/diagram.h"
#include "core/view/frame.h"
#include "tests/support/patience.h"

namespace vergence::test {

using Colour = std::array<int, 3>;

inline Frame makeRgba(const std::string& stream, int width, int height, int layers = 1)
{
    Frame frame;
    frame.info.stream = stream;
    frame.info.step = 120;
    frame.info.width = static_cast<std::uint32_t>(width);
    frame.info.height = static_cast<std::uint32_t>(height);
    frame.info.layers = static_cast<std::uint32_t>(layers);
    frame.pixels.resize(frame.info.pixelBytes());
    return frame;
}

inline void setPixel(Frame& frame, int layer, int x, int y, Colour colour, int alpha = 255)
{
    const std::size_t at =
        4 * ((static_cast<std::size_t>(layer) * frame.info.height + y) * frame.info.width + x);
    for (int c = 0; c < 3; ++c)
        frame.pixels[at + c] = static_cast<std::byte>(std::clamp(colour[c], 0, 255));
    frame.pixels[at + 3] = static_cast<std::byte>(alpha);
}

inline Frame makePlain(const std::string& stream, int width, int height, Colour colour)
{
    Frame frame = makeRgba(stream, width, height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            setPixel(frame, 0, x, y, colour);
    return frame;
}

/// What an eye sees of a chequered sphere, blurred towards the edge by `blur`.
inline Frame makeEyeView(const std::string& stream, int side, double blur)
{
    Frame frame = makeRgba(stream, side, side);
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
            const double u = 2.0 * x / side - 1, v = 2.0 * y / side - 1, r = std::hypot(u, v);
            const double wave = std::sin(u * 18 * (1 + 0.3 * r)) * std::sin(v * 18 * (1 + 0.3 * r));
            const double sharp = std::tanh(wave * 8 / (1 + 20 * blur * r));
            const double light = r < 0.92 ? 0.5 + 0.42 * sharp : 0.06;
            setPixel(frame, 0, x, y,
                     {static_cast<int>(255 * light), static_cast<int>(235 * light + 10 * u),
                      static_cast<int>(215 * light + 20 * v)});
        }
    }
    return frame;
}

inline Frame makeNumbers(const std::string& stream, int side, double offset = 0)
{
    Frame frame;
    frame.info = {.stream = stream,
                  .sequence = 1,
                  .step = 120,
                  .format = PixelFormat::R32F,
                  .width = static_cast<std::uint32_t>(side),
                  .height = static_cast<std::uint32_t>(side),
                  .layers = 1,
                  .meta = {}};
    frame.pixels.resize(frame.info.pixelBytes());
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            const double u = 2.0 * x / side - 1, v = 2.0 * y / side - 1;
            const auto value = static_cast<float>(
                0.2 * std::sin(u * 9) * std::cos(v * 7) * std::hypot(u, v) + offset);
            std::memcpy(frame.pixels.data() + 4 * (static_cast<std::size_t>(y) * side + x), &value,
                        4);
        }
    return frame;
}

/// Display planes: each has its own hue and a ring at its own radius.
inline Frame makePlanes(const std::string& stream, int side, int layers)
{
    Frame frame = makeRgba(stream, side, side, layers);
    std::string labels, depth, width;
    for (int layer = 0; layer < layers; ++layer) {
        const std::string comma = layer ? "," : "";
        labels += comma + "\"plane " + std::to_string(layer + 1) + "\"";
        depth += comma + std::to_string(0.2 + 0.35 * layer);
        width += comma + std::to_string(30.0 - 1.5 * layer);
        const double hue = 6.28 * layer / layers;
        for (int y = 0; y < side; ++y)
            for (int x = 0; x < side; ++x) {
                const double u = 2.0 * x / side - 1, v = 2.0 * y / side - 1;
                const double ring =
                    std::exp(-80 * std::pow(std::hypot(u, v) - 0.2 - 0.08 * layer, 2));
                const double grid = 0.25 + 0.2 * ((x / 12 + y / 12 + layer) % 2);
                const auto channel = [&](double shift) {
                    return static_cast<int>(
                        255 * std::min(1.0, grid + ring * (0.5 + 0.5 * std::cos(hue + shift))));
                };
                setPixel(frame, layer, x, y, {channel(0), channel(2.1), channel(4.2)});
            }
    }
    frame.info.meta = "{\"labels\":[" + labels + "],\"depth\":[" + depth + "],\"width\":[" + width +
                      "],\"depth_title\":\"seen distance (D)\"}";
    return frame;
}

inline Frame makeOpticsDiagram(const std::string& stream)
{
    Diagram diagram;
    diagram.left = -30;
    diagram.right = 130;
    diagram.bottom = -30;
    diagram.top = 30;
    diagram.keepsAspect = true;
    diagram.xTitle = "distance from the eye (mm)";
    diagram.shapes = {{.kind = "eye",
                       .x = -12,
                       .y = 0,
                       .width = 24,
                       .height = 24,
                       .colour = "text",
                       .label = "Eye, pupil 4 mm",
                       .isFilled = false,
                       .editsKey = {}},
                      {.kind = "lens",
                       .x = 40,
                       .y = 0,
                       .width = 4,
                       .height = 40,
                       .colour = "accent",
                       .label = "Tunable lens",
                       .isFilled = true,
                       .editsKey = "lens_distance"},
                      {.kind = "rectangle",
                       .x = 100,
                       .y = 0,
                       .width = 3,
                       .height = 46,
                       .colour = "muted",
                       .label = "Panel",
                       .isFilled = true,
                       .editsKey = {}}};
    for (int i = 0; i < 6; ++i)
        diagram.lines.push_back({.x = {0, 40, 100},
                                 .y = {0.0, -15.0 + 6 * i, -20.0 + 8 * i},
                                 .colour = "series " + std::to_string(i),
                                 .width = 1.5,
                                 .isDashed = i == 5,
                                 .label = "ray to plane " + std::to_string(i + 1)});
    diagram.texts = {{.x = 40, .y = 25, .text = "lens", .colour = "text", .anchor = "centre"},
                     {.x = 100, .y = 27, .text = "panel", .colour = "text", .anchor = "centre"}};
    Frame frame;
    frame.info.stream = stream;
    frame.info.step = 3;
    frame.info.layers = 0;
    frame.info.meta = diagram.toJson();
    return frame;
}

inline std::vector<StreamDecl> labStreams()
{
    return {{"eye_view", "Eye view", StreamKind::Image, "What the eye sees", "eye"},
            {"target", "Target", StreamKind::Image, "What it ought to see", "eye"},
            {"error", "Error", StreamKind::HeatMap, "Eye view minus target", "eye"},
            {"planes", "Display planes", StreamKind::ImageStack, "The optimised planes", ""},
            {"optics", "Optics", StreamKind::Diagram, "Side view", ""}};
}

inline std::vector<ViewControl> labControls()
{
    using Kind = ViewControl::Kind;
    ViewControl accommodation{.id = "accommodation",
                              .title = "Accommodation",
                              .unit = "D",
                              .help = "Where the eye focuses",
                              .kind = Kind::Slider,
                              .minimum = {0},
                              .maximum = {4},
                              .value = {1.5},
                              .labels = {},
                              .marks = {}};
    for (const double at : {0.2, 1.2, 2.2, 3.2})
        accommodation.marks.push_back({{at}, "training"});
    accommodation.marks.push_back({{3.8}, "held out"});
    ViewControl eye{.id = "eye",
                    .title = "Eye position",
                    .unit = "mm",
                    .help = "Pupil centre",
                    .kind = Kind::Pad,
                    .minimum = {-3, -3},
                    .maximum = {3, 3},
                    .value = {0, 0},
                    .labels = {},
                    .marks = {{{0, 0}, "training"},
                              {{2, 0}, "training"},
                              {{0, 2}, "training"},
                              {{-2, -2}, "held out"}}};
    ViewControl planes{.id = "planes",
                       .title = "Planes",
                       .unit = {},
                       .help = "Planes that shine",
                       .kind = Kind::Toggles,
                       .minimum = {},
                       .maximum = {},
                       .value = std::vector<double>(8, 1.0),
                       .labels = {"1", "2", "3", "4", "5", "6", "7", "8"},
                       .marks = {}};
    ViewControl quantity{.id = "quantity",
                         .title = "Quantity",
                         .unit = {},
                         .help = "What is shown",
                         .kind = Kind::Choice,
                         .minimum = {},
                         .maximum = {},
                         .value = {0},
                         .labels = {"Luminance", "Weight seen"},
                         .marks = {}};
    return {accommodation, eye, planes, quantity};
}

/// The controls of the light field lab: those of labControls, and which item is looked at.
inline std::vector<ViewControl> fullControls()
{
    auto controls = labControls();
    controls.push_back({.id = "item",
                        .title = "Look at",
                        .unit = {},
                        .help = "A finished item, or whatever is being solved.",
                        .kind = ViewControl::Kind::Choice,
                        .minimum = {},
                        .maximum = {},
                        .value = {0},
                        .labels = {"current", "seed 1", "seed 2"},
                        .marks = {}});
    controls[3].title = "Show planes";
    controls[3].labels = {"sRGB", "linear", "×4", "weight seen"};
    return controls;
}

} // namespace vergence::test
