#pragma once

#include <cstdint>

#include "core/compute/tensor.h"

namespace vergence::fvlm {

// Queries that know nothing of the frame they are put to, in place of the model's own: what is lost
// with them is what looking is worth. `queries` [slots, Q], of any floating type; results are
// [rows, Q], rows at least slots, the rest 0. A function of seed and batch.

/// Normal numbers, deviation and mean as those of `queries`.
Tensor randomQueries(Stream& stream, const Tensor& queries, Index rows, std::uint64_t seed,
                     std::uint64_t batch);
/// The model's own, dealt to other frames and clips.
Tensor shuffledQueries(Stream& stream, const Tensor& queries, Index rows, std::uint64_t seed,
                       std::uint64_t batch);

} // namespace vergence::fvlm
