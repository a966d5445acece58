#include "plugins/light_field/problem.h"

#include <array>

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

ItemTargets makeTargets(Stream& stream, const std::shared_ptr<Device>& device,
                        const SweepItem& item, const Geometry& geometry)
{
    const LightFieldConfig& c = item.config;
    const std::array<LaneScene, 1> scenes = {LaneScene{item.scene, item.channels}};
    const int rays = c.gtRays > 0 ? c.gtRays : c.raysPerPixel;
    if (c.isSeedProfile())
        return {renderSeedTargets(stream, device, geometry.optics, c.eyeFocal, rays, scenes),
                renderSeedTargets(stream, device, geometry.optics, c.eyeFocal, c.evalRays, scenes)};
    return {renderTargets(stream, device, geometry.optics, geometry.training, rays, scenes),
            renderTargets(stream, device, geometry.optics, geometry.heldOut, c.evalRays, scenes)};
}

} // namespace vergence::light_field
