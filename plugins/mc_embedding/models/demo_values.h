#pragma once

#include <cstdint>

#include "core/compute/graph/parameter.h"

namespace vergence::mc_embedding {

/// Apart from the numbers of image towers.
inline constexpr std::uint32_t kTextDemoOwner = 1u << 16;

/// Normal weights of section 14 from Philox purpose 6, parameter i being owned by firstOwner + i;
/// equal on all devices.
void setDemoValues(Stream& stream, ParameterSet& parameters, std::uint64_t seed,
                   std::uint32_t firstOwner = 0);

} // namespace vergence::mc_embedding
