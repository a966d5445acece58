#pragma once

#include <vector>

#include "core/compute/tensor.h"

namespace vergence {

/// All numbers of a dense tensor of any element type in host memory, rounded to nearest even where
/// they are wider; waits for the stream. Whoever reads what a run computed reads it so: the type
/// is a setting of the run.
std::vector<float> toFloats(Stream& stream, const Tensor& tensor);
/// The same without rounding F64; other types pass through F32.
std::vector<double> toDoubles(Stream& stream, const Tensor& tensor);

} // namespace vergence
