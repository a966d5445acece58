#pragma once

#include <cstdint>
#include <functional>

#include "core/compute/graph/parameter.h"

namespace vergence::mc_embedding {

/// Apart from the numbers of image towers.
inline constexpr std::uint32_t kTextDemoOwner = 1u << 16;

/// Normal weights of section 14 from Philox purpose 6, parameter i being owned by firstOwner + i;
/// equal on all devices. `isStopped` is asked before each of them; the rest is then left out.
void setDemoValues(Stream& stream, ParameterSet& parameters, std::uint64_t seed,
                   std::uint32_t firstOwner = 0, const std::function<bool()>& isStopped = {});

} // namespace vergence::mc_embedding
