#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plugins/light_field/compute/evaluation.h"
#include "plugins/light_field/compute/seed_operator.h"
#include "plugins/light_field/compute/table_operator.h"
#include "plugins/light_field/sweep.h"

namespace vergence::light_field {

/// The geometry of an item: display, eye states and both operators. Items of equal geometry share
/// it.
struct Geometry {
    Optics optics;
    std::vector<EyeState> training, heldOut;
    std::shared_ptr<LinearOperator> solving;    ///< training states, rays_per_pixel samples
    std::shared_ptr<LinearOperator> evaluating; ///< held-out states, eval_rays samples
    std::shared_ptr<TableOperator> tables;      ///< `solving` in profile P, null in profile S
};

std::shared_ptr<Geometry> makeGeometry(Stream& stream, const std::shared_ptr<Device>& device,
                                       const SweepItem& item);
/// Whether `item` may use the geometry made for `other`.
bool sharesGeometry(const SweepItem& item, const SweepItem& other);

/// What the eye should see of an item, for training and for held-out states.
struct ItemTargets {
    Targets training, heldOut;
};
/// Samples of the training targets.
int targetRaysOf(const LightFieldConfig& config);

/// Number of items at the front of `items` whose targets are best rendered together.
std::size_t renderedTogether(std::span<const SweepItem* const> items, const Geometry& geometry);
/// Targets of items that renderedTogether() counts; one item is always allowed. Empty where
/// `isStopped` said so meanwhile.
std::vector<ItemTargets> makeTargets(Stream& stream, const std::shared_ptr<Device>& device,
                                     std::span<const SweepItem* const> items,
                                     const Geometry& geometry,
                                     const std::function<bool()>& isStopped = {});

} // namespace vergence::light_field
