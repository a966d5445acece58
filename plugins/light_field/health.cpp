#include "plugins/light_field/health.h"

#include <cmath>

#include <fmt/format.h>

namespace vergence::light_field {

namespace {

/// Planes whose seen distance lies outside the visible depths of the scene by more than 0.6 D, or
/// that no eye can focus.
int planesOutside(const SweepItem& item, const Optics& optics)
{
    if (!centralDepthPlane(optics))
        return 0;
    constexpr double kTolerance = 0.6; // dioptres
    const DepthRange range = item.scene.depthRange();
    int outside = 0;
    for (int k = 0; k < optics.planes(); ++k) {
        const PlaneGeometry plane = planeGeometry(optics, k);
        if (!plane.usable || plane.vergence > 1000.0 / range.nearMm + kTolerance ||
            plane.vergence < 1000.0 / range.farMm - kTolerance)
            ++outside;
    }
    return outside;
}

double adequacyOf(const SweepItem& item, const Geometry& geometry)
{
    return samplingAdequacy(geometry.optics, static_cast<int>(geometry.training.size()),
                            item.config.raysPerPixel);
}

double meanOf(Stream& stream, const Tensor& tensor)
{
    double sum = 0;
    const auto values = tensor.toHost<float>(stream);
    for (const float value : values)
        sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

} // namespace

nlohmann::json healthTable(Stream& stream, const SweepItem& item, const Geometry& geometry,
                           const ItemTargets& targets)
{
    const Optics& optics = geometry.optics;
    nlohmann::json rows = nlohmann::json::array();
    const auto add = [&](const char* name, std::string value) {
        rows.push_back({name, std::move(value)});
    };
    add("profile", item.config.isSeedProfile() ? "seed-exact (faults included)" : "physical");
    if (!item.config.isSeedProfile()) {
        const double adequacy = adequacyOf(item, geometry);
        add("samples per texel", fmt::format("{:.1f} ({})", adequacy,
                                             adequacy < 2   ? "too few"
                                             : adequacy < 8 ? "few"
                                                            : "good"));
    }
    add("region of interest",
        fmt::format("{:.1f} % of the pixels", 100 * meanOf(stream, targets.training.roi)));
    if (centralDepthPlane(optics)) {
        add("planes outside the scene's depths",
            fmt::format("{} of {}", planesOutside(item, optics), optics.planes()));
        add("widest plane spacing", fmt::format("{:.2f} D", widestPlaneSpacing(optics)));
    }
    add("training states", fmt::format("{}", geometry.training.size()));
    add("held-out states", fmt::format("{}", geometry.heldOut.size()));
    add("lenslet diffraction",
        fmt::format("{:.1f} µm radius, texel {:.1f} µm", lensletDiffractionRadius(optics) * 1e3,
                    optics.panelSize / optics.panelResolution * 1e3));
    add("tables or index lists",
        fmt::format("{:.1f} MiB", static_cast<double>(geometry.solving->bytes()) / (1 << 20)));
    return {
        {"id", "health"}, {"title", "Health"}, {"columns", {"figure", "value"}}, {"rows", rows}};
}

std::vector<std::string> healthWarnings(const SweepItem& item, const Geometry& geometry)
{
    std::vector<std::string> sentences;
    if (item.config.isSeedProfile())
        return sentences;
    if (const double adequacy = adequacyOf(item, geometry); adequacy < 2)
        sentences.push_back(fmt::format(
            "Only {:.1f} samples touch a texel; what is not sampled is not optimised.", adequacy));
    if (geometry.training.size() == 1)
        sentences.push_back("Single-state fit: quality elsewhere is not constrained.");
    if (const int outside = planesOutside(item, geometry.optics);
        outside > geometry.optics.planes() / 2)
        sentences.push_back(fmt::format("{} of {} planes lie outside the depths of the scene.",
                                        outside, geometry.optics.planes()));
    return sentences;
}

} // namespace vergence::light_field
