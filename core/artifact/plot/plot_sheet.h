#pragma once

#include <string>

#include "core/view/diagram.h"

namespace vergence::plot {

// What plots and tables are put together from.

inline constexpr double kTitle = 16, kFace = 13, kSmall = 12; ///< sizes of faces, px
inline constexpr double kEdge = 12;                           ///< free on every side

/// An empty drawing of this size that keeps its aspect.
Diagram sheet(double width, double height);
Diagram::Text label(double x, double y, std::string text, double size = kFace,
                    std::string colour = "text", std::string anchor = "centre");
Diagram::Line straight(double x0, double y0, double x1, double y1, std::string colour = "muted",
                       double width = 1);
Diagram::Polygon rectangle(double x0, double y0, double x1, double y1, std::string colour,
                           double opacity, std::string tip);
/// At most `width` long in the small face, "…" where something is cut.
std::string shortened(std::string text, double width);
/// Everything of `from` moved by (dx, dy), added to `to`.
void addMoved(Diagram& to, Diagram from, double dx, double dy);

} // namespace vergence::plot
