#pragma once

#include "core/base/enum_names.h"

namespace vergence {

/// What a network is computed in where its weights and activations are; sums, norms and statistics
/// are wider. Tf32: F32 in memory, rounded to 10 bits behind the point on the way into tensor
/// cores.
enum class Precision { Fp32, Tf32, Fp16, Bf16 };
constexpr auto namesOf(Precision)
{
    return std::array{EnumName{Precision::Fp32, "fp32"}, EnumName{Precision::Tf32, "tf32"},
                      EnumName{Precision::Fp16, "fp16"}, EnumName{Precision::Bf16, "bf16"}};
}

} // namespace vergence
