#pragma once

#include <vector>

#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// All numbers of a dense tensor of floating type; waits for the stream.
std::vector<double> toDoubles(Stream& stream, const Tensor& tensor);

} // namespace vergence::fvlm
