#pragma once

#include <cstdint>
#include <vector>

#include "plugins/foveated_vlm/clips/synthetic_clips.h"

namespace vergence::fvlm {

/// What is drawn of clip `id`.
SyntheticScene syntheticScene(const SyntheticSettings& settings, std::uint64_t id);

/// The colour that a wrong answer names instead of the subject's.
int wrongColour(const SyntheticSettings& settings, std::uint64_t id, int colour);

/// Still background of clip `id`, soft noise: [3, size, size] in [0, 255].
std::vector<float> syntheticBackground(const SyntheticSettings& settings, std::uint64_t id);

/// Paints an object as it is in frame `frame` over `picture` [3, size, size].
void paintObject(const SyntheticObject& object, int frame, int size, std::vector<float>& picture);

} // namespace vergence::fvlm
