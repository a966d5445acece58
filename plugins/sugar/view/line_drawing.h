#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plugins/sugar/compute/camera.h"

namespace vergence::sugar {

using Rgb = std::array<std::uint8_t, 3>;

/// RGBA8 pixels, rows from the top.
struct Canvas {
    std::span<std::uint8_t> pixels;
    int width = 0, height = 0;
};

/// A straight line, one or more pixels wide, blended by coverage.
void drawLine(const Canvas& canvas, double x0, double y0, double x1, double y1, const Rgb& colour,
              double width = 1);

/// A camera as it stands in the scene: pyramid from its centre to the corners of its picture.
struct Frustum {
    Camera camera;
    Rgb colour{};
    bool isActive = false;                     ///< drawn thicker
    std::span<const std::uint8_t> thumbnail{}; ///< [h, w, 3], or empty
    int thumbnailWidth = 0, thumbnailHeight = 0;
};

/// Draws frusta of length `size` (world units) into a picture seen by `viewer`; those that stand
/// beside the viewer are left out.
void drawFrusta(const Canvas& canvas, const Camera& viewer, const std::vector<Frustum>& frusta,
                double size);

/// The frustum whose centre or picture is nearest to a pixel, at most `reach` px away.
std::optional<std::size_t> frustumAt(const Camera& viewer, const std::vector<Frustum>& frusta,
                                     double size, double x, double y, double reach);

} // namespace vergence::sugar
