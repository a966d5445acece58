#pragma once

#include <cstdint>
#include <span>

#include "plugins/foveated_vlm/clips/grid_clips.h"

namespace vergence::fvlm {

CellBox gridCellBox(const GridSettings& settings, GridPlace place);

/// One frame of clip `id`, RGB [3, size, size]: cells with a dark gap below and to the right of
/// each, a letter in its middle, or signs over soft noise that drifts.
void paintGrid(const GridSettings& settings, const GridScene& scene, std::uint64_t id, int frame,
               std::span<std::uint8_t> out);

} // namespace vergence::fvlm
