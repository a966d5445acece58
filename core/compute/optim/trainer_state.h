#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/compute/graph/parameter.h"
#include "core/compute/optim/adam.h"

namespace vergence {

/// Tensors of a device by name; handles of live memory.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Everything that makes a continued run equal to one that never stopped: values under the names of
/// model files, "adam.first_moment.NAME", "adam.second_moment.NAME" of what is trained,
/// "adam.counters", "average.NAME". Bits are kept: all in their own type. Dense; `optimizer` and
/// `average` may be null.
NamedTensors trainerState(const ParameterSet& parameters, const Adam* optimizer,
                          const MovingAverage* average = nullptr);

/// Copies `saved` (host or device memory) into the tensors of `state` and refreshes the shadows.
/// Throws InputError naming the first tensor that is missing, unknown or of another shape or type;
/// then nothing was changed.
void restoreTrainerState(Stream& stream, const NamedTensors& state, const NamedTensors& saved,
                         ParameterSet& parameters);

} // namespace vergence
