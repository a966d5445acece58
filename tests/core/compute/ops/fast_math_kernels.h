#pragma once

#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence::test {

enum class Function : int { Exponential, ErrorFunction, HyperbolicTangent, Logarithm, NormalTail };

/// y[i] = f(x[i]) for `count` floats on the device, in packs.
inline const Kernel<void(Function, const float*, float*, Index)> applyFunction{"test.fast_math"};
/// out[2 i], out[2 i + 1] = sine and cosine of x[i] turns.
inline const Kernel<void(const float*, float*, Index)> sineCosine{"test.sine_cosine"};

} // namespace vergence::test
