#pragma once

#include <functional>

#include "plugins/light_field/compute/solver.h"
#include "plugins/light_field/compute/table_operator.h"

namespace vergence::light_field {

/// A start for a solver: `settings.iterations` iterations with half the panel and half the eye view
/// resolution, at about a quarter of the cost, then enlarged between texel centres. [K, R, R, L] of
/// the full display `op`; both resolutions must be even. Stops early where `isStopped` says so.
Tensor coarsePlanes(Stream& stream, const TableOperator& op, const LaneScene& scene, int targetRays,
                    const SolverSettings& settings, const std::function<bool()>& isStopped);

/// Panels [K, R, R, L] at twice the resolution, bilinear between texel centres.
Tensor enlarged(Stream& stream, const Tensor& planes);

} // namespace vergence::light_field
