#pragma once

#include <optional>

#include "core/view/diagram.h"
#include "plugins/light_field/problem.h"

namespace vergence::light_field {

/// Pixel of an eye view, fractions allowed.
struct PixelPosition {
    double row = 0, column = 0;

    bool operator==(const PixelPosition&) const = default;
};

/// Side view of the display to scale: eye, tunable lens, lenslets, panel, central depth plane; to
/// its right, on an axis in dioptres, where the planes are seen and what depths the scene has. With
/// a pixel: its rays, coloured by plane, rejected ones dashed with the reason.
Diagram opticsDiagram(const SweepItem& item, const Geometry& geometry, const EyeState& eye,
                      std::optional<PixelPosition> pixel);

} // namespace vergence::light_field
