#include "plugins/light_field/optics_diagram.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "plugins/light_field/compute/eye_view.h"

namespace vergence::light_field {

namespace {

const char* reason(Rejection rejection)
{
    switch (rejection) {
    case Rejection::None:
        return "reaches the panel";
    case Rejection::LensAperture:
        return "stopped by the lens aperture";
    case Rejection::LensletGap:
        return "lost between lenslets";
    case Rejection::ArrayEdge:
        return "misses the lenslet array";
    case Rejection::PanelEdge:
        return "misses the panel";
    case Rejection::Baffle:
        return "stopped by a baffle";
    }
    return "";
}

/// Where things stand in the drawing: mm for the display, then a second axis in dioptres to its
/// right.
struct Layout {
    double panelZ, halfHeight, axisLeft, axisRight, nearest, farthest;

    double axisX(double vergence) const
    {
        return axisRight -
               (vergence - farthest) / std::max(nearest - farthest, 1e-6) * (axisRight - axisLeft);
    }
};

Layout layoutFor(const SweepItem& item, const Optics& optics)
{
    Layout layout{};
    layout.panelZ = optics.panelZ();
    layout.halfHeight = std::max(optics.panelSize / 2, optics.retinaDistance / 2) + 4;
    layout.axisLeft = layout.panelZ + 22;
    layout.axisRight = layout.axisLeft + 80;
    const DepthRange range = item.scene.depthRange();
    layout.nearest = 1000.0 / range.nearMm;
    layout.farthest = 1000.0 / range.farMm;
    if (centralDepthPlane(optics)) {
        for (int k = 0; k < optics.planes(); ++k) {
            const PlaneGeometry plane = planeGeometry(optics, k);
            if (plane.usable && plane.vergence < 15) {
                layout.nearest = std::max(layout.nearest, plane.vergence);
                layout.farthest = std::min(layout.farthest, plane.vergence);
            }
        }
    }
    const double margin = 0.08 * std::max(layout.nearest - layout.farthest, 0.5);
    layout.nearest += margin;
    layout.farthest = std::max(0.0, layout.farthest - margin);
    return layout;
}

void addEyeAndDisplay(Diagram& d, const Optics& optics, const EyeState& eye, const Layout& layout)
{
    const double eyeRadius = optics.retinaDistance / 2, half = optics.panelSize / 2;
    d.shapes.push_back(
        {"eye", -eyeRadius, eye.y, 2 * eyeRadius, 2 * eyeRadius, "muted", "eye", false, ""});
    for (const double side : {-1.0, 1.0}) {
        Diagram::Line iris;
        iris.x = {0, 0};
        iris.y = {eye.y + side * optics.pupilDiameter / 2,
                  eye.y + side * (optics.pupilDiameter / 2 + 3)};
        iris.width = 2;
        iris.label = "pupil";
        d.lines.push_back(iris);
    }
    const double aperture = optics.tunableAperture > 0 ? optics.tunableAperture : 2 * half + 4;
    d.shapes.push_back(
        {"lens", optics.tunableZ, 0, 3, aperture, "accent", "tunable lens", false, "tunable_z"});
    d.shapes.push_back({"rectangle", optics.lensletZ, 0, 0.8, 2 * half, "accent", "microlens array",
                        false, "mla_z"});
    d.shapes.push_back(
        {"rectangle", layout.panelZ + 0.5, 0, 1, 2 * half, "text", "panel", true, ""});
    if (const auto plane = centralDepthPlane(optics)) {
        Diagram::Line line;
        line.x = {*plane, *plane};
        line.y = {-half, half};
        line.colour = "muted";
        line.isDashed = true;
        line.label = fmt::format("central depth plane, {:.1f} mm", *plane);
        d.lines.push_back(line);
    }
    const double below = -layout.halfHeight + 1;
    for (const auto& [x, text] :
         {std::pair(-eyeRadius, "eye"), std::pair(optics.tunableZ, "tunable lens"),
          std::pair(optics.lensletZ, "lenslets + panel")})
        d.texts.push_back({x, below, text, "muted", "centre"});
}

void addDioptreAxis(Diagram& d, const SweepItem& item, const Optics& optics, const Layout& layout)
{
    const double y = -layout.halfHeight + 6;
    d.lines.push_back(
        {{layout.axisLeft, layout.axisRight}, {y, y}, "text", 1, false, "seen distance, dioptres"});
    const double step = layout.nearest - layout.farthest > 4 ? 1.0 : 0.5;
    for (double q = std::ceil(layout.farthest / step) * step; q <= layout.nearest; q += step) {
        const double x = layout.axisX(q);
        d.lines.push_back({{x, x}, {y - 0.6, y + 0.6}, "text", 1, false, ""});
        d.texts.push_back({x, y - 2.2, fmt::format("{:g} D", q), "muted", "centre"});
    }
    const DepthRange range = item.scene.depthRange();
    const double left = layout.axisX(1000.0 / range.nearMm),
                 right = layout.axisX(1000.0 / range.farMm);
    d.shapes.push_back(
        {"rectangle", (left + right) / 2, y + 4, std::max(right - left, 0.5), 3, "accent",
         fmt::format("scene: {:.0f} to {:.0f} mm", range.nearMm, range.farMm), true, ""});
    if (!centralDepthPlane(optics))
        return;
    for (int k = 0; k < optics.planes(); ++k) {
        const PlaneGeometry plane = planeGeometry(optics, k);
        if (!plane.usable || plane.vergence < layout.farthest || plane.vergence > layout.nearest)
            continue;
        const double x = layout.axisX(plane.vergence);
        d.lines.push_back({{x, x},
                           {y + 7, layout.halfHeight - 4},
                           fmt::format("series {}", k % 16),
                           2,
                           false,
                           fmt::format("plane {}: f {:.2f} mm, seen at {:.1f} mm, {:.2f} D", k,
                                       plane.focalLength, plane.distance, plane.vergence)});
        d.texts.push_back({x, layout.halfHeight - 2.5, fmt::format("{}", k), "muted", "centre"});
    }
    d.texts.push_back({(layout.axisLeft + layout.axisRight) / 2, -layout.halfHeight + 1,
                       "seen distance of the planes", "muted", "centre"});
}

void addRays(Diagram& d, const Optics& optics, const EyeState& eye, const PixelPosition& pixel)
{
    constexpr int kSamples = 3;
    const double slope = pixelSlopeY(optics, pixel.row);
    const double retinaY = eye.y - optics.retinaDistance * slope;
    for (const RayPath& ray : tracePixel(optics, eye, kSamples, pixel.row, pixel.column)) {
        Diagram::Line line;
        line.x = {-optics.retinaDistance, 0, optics.tunableZ, optics.lensletZ, optics.panelZ()};
        line.y = {retinaY, ray.pupil[1], ray.tunable[1], ray.lenslet[1], ray.panel[1]};
        if (ray.rejection == Rejection::LensAperture) {
            line.x.resize(3);
            line.y.resize(3);
        } else if (ray.rejection != Rejection::None && ray.rejection != Rejection::PanelEdge &&
                   ray.rejection != Rejection::Baffle) {
            line.x.resize(4);
            line.y.resize(4);
        }
        line.colour = fmt::format("series {}", ray.plane % 16);
        line.isDashed = ray.rejection != Rejection::None;
        line.label = fmt::format("plane {}: {}", ray.plane, reason(ray.rejection));
        d.lines.push_back(line);
    }
}

} // namespace

Diagram opticsDiagram(const SweepItem& item, const Geometry& geometry, const EyeState& eye,
                      std::optional<PixelPosition> pixel)
{
    const Optics& optics = geometry.optics;
    const Layout layout = layoutFor(item, optics);
    Diagram d;
    d.left = -optics.retinaDistance - 4;
    d.right = layout.axisRight + 4;
    d.bottom = -layout.halfHeight - 1;
    d.top = layout.halfHeight + 1;
    d.xTitle = "mm from the pupil (left), dioptres (right)";
    addEyeAndDisplay(d, optics, eye, layout);
    addDioptreAxis(d, item, optics, layout);
    if (pixel && !item.config.isSeedProfile())
        addRays(d, optics, eye, *pixel);
    return d;
}

} // namespace vergence::light_field
