#pragma once

#include "plugins/light_field/problem.h"
#include "plugins/light_field/result.h"

namespace vergence::light_field {

// What a run says in its log, one line each.

/// Rays, unknowns and memory of both operators, and how long they took to build.
void logGeometry(const Geometry& geometry, double seconds);
void logTargets(std::size_t items, const Geometry& geometry, double seconds);
/// `number` of `count`, counted from 1.
void logItemStart(const SweepItem& item, int number, int count);
void logItemEnd(const SweepItem& item, const ItemResult& result);

} // namespace vergence::light_field
