#include "plugins/light_field/problem.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace vergence::light_field {

std::shared_ptr<Geometry> makeGeometry(Stream& stream, const std::shared_ptr<Device>& device,
                                       const SweepItem& item)
{
    const LightFieldConfig& c = item.config;
    auto geometry = std::make_shared<Geometry>();
    geometry->optics = opticsOf(c, item.scene);
    if (c.isSeedProfile()) {
        geometry->training = geometry->heldOut = {EyeState{0, 0, 0}};
        geometry->solving = std::make_shared<SeedOperator>(stream, device, geometry->optics,
                                                           c.eyeFocal, c.raysPerPixel);
        geometry->evaluating = std::make_shared<SeedOperator>(stream, device, geometry->optics,
                                                              c.eyeFocal, c.evalRays);
    } else {
        const EyeStateSettings settings = eyeStatesOf(c, item.scene);
        geometry->training = trainingStates(settings);
        geometry->heldOut = heldOutStates(settings);
        geometry->tables = std::make_shared<TableOperator>(stream, device, geometry->optics,
                                                           geometry->training, c.raysPerPixel);
        geometry->solving = geometry->tables;
        geometry->evaluating = std::make_shared<TableOperator>(stream, device, geometry->optics,
                                                               geometry->heldOut, c.evalRays);
    }
    geometry->solving->setTileRays(c.tileRays);
    geometry->evaluating->setTileRays(c.tileRays);
    return geometry;
}

bool sharesGeometry(const SweepItem& item, const SweepItem& other)
{
    if (item.config.sweep == "parameter")
        return false;
    const bool followsScene = item.config.planeSpacing == "auto" || item.config.accRange == "auto";
    if (!followsScene || item.config.sweep == "boards")
        return true;
    const DepthRange a = item.scene.depthRange(), b = other.scene.depthRange();
    return a.nearMm == b.nearMm && a.farMm == b.farMm;
}

namespace {

LaneScene laneScene(const SweepItem& item)
{
    return {item.scene, item.channels};
}

} // namespace

int targetRaysOf(const LightFieldConfig& config)
{
    return config.gtRays > 0 ? config.gtRays : config.raysPerPixel;
}

std::size_t renderedTogether(std::span<const SweepItem* const> items, const Geometry& geometry)
{
    constexpr double kMostBytes = 512e6; // of the pictures side by side, which are soon dropped
    const double side = geometry.optics.renderResolution;
    const double states =
        static_cast<double>(std::max(geometry.training.size(), geometry.heldOut.size()));
    const double lanes = kMostBytes / (states * side * side * sizeof(float));
    const std::size_t most = lanes >= kMaxLanes ? kMaxLanes : lanes >= 4 ? 4 : 1;
    std::size_t count = 1;
    while (count < items.size() && count < most &&
           sharesHits(laneScene(*items[0]), laneScene(*items[count])))
        ++count;
    return count;
}

std::vector<ItemTargets> makeTargets(Stream& stream, const std::shared_ptr<Device>& device,
                                     std::span<const SweepItem* const> items,
                                     const Geometry& geometry,
                                     const std::function<bool()>& isStopped)
{
    expects(!items.empty(), "makeTargets: at least one item is needed");
    const LightFieldConfig& c = items[0]->config;
    std::vector<LaneScene> scenes;
    for (const SweepItem* item : items)
        scenes.push_back(laneScene(*item));
    const auto render = [&](const std::vector<EyeState>& states, int rays) {
        const Targets together =
            c.isSeedProfile()
                ? renderSeedTargets(stream, device, geometry.optics, c.eyeFocal, rays, scenes)
                : renderTargets(stream, device, geometry.optics, states, rays, scenes, isStopped);
        return items.size() == 1 ? std::vector<Targets>{together} : separateLanes(stream, together);
    };
    const auto mustStop = [&] {
        if (!isStopped)
            return false;
        stream.synchronize();
        return isStopped();
    };
    if (mustStop())
        return {};
    auto training = render(geometry.training, targetRaysOf(c));
    if (mustStop())
        return {};
    auto heldOut = render(geometry.heldOut, c.evalRays);
    std::vector<ItemTargets> targets;
    for (std::size_t i = 0; i < items.size(); ++i)
        targets.push_back({std::move(training[i]), std::move(heldOut[i])});
    return targets;
}

} // namespace vergence::light_field
