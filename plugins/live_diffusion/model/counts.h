#pragma once

#include <cstdint>

#include "plugins/live_diffusion/model/program.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

// Exact counts, padded channels included. One multiplication with its addition is 2 FLOP; only
// convolutions, linear layers and the two products of attention count.

/// Of one batch row; 0 where the kind does not count.
std::int64_t flopOf(const Program& program, const ProgramOp& op);

/// Fewest that any algorithm of the libraries takes: Winograd's with tiles of 4×4 results has 36
/// multiplications where a 3×3 convolution has 144.
std::int64_t leastFlopOf(const Program& program, const ProgramOp& op);
inline constexpr std::int64_t kWinogradSaving = 4;

/// Elements that an operation must move at least, for one batch row: inputs once (GroupNorm reads
/// twice), the output once, weights once.
struct ElementTraffic {
    std::int64_t inputs = 0, weights = 0, outputs = 0;
    std::int64_t sum() const { return inputs + weights + outputs; }
};
ElementTraffic trafficOf(const Program& program, const ProgramOp& op);

/// Scores that naive attention stores for one batch row, heads · queries · keys; 0 for others.
std::int64_t scoresOf(const Program& program, const ProgramOp& op);
std::int64_t largestScores(const Program& program); ///< over all operations

/// Of an evaluation of one batch row.
struct FlopShares {
    std::int64_t wideConvolutions = 0;  ///< kernel > 1, also transposed
    std::int64_t pointConvolutions = 0; ///< kernel 1
    std::int64_t linear = 0;
    std::int64_t attention = 0;
    std::int64_t sum() const { return wideConvolutions + pointConvolutions + linear + attention; }
};
/// Of the operations of that rate.
FlopShares flopShares(const Program& program, Rate rate = Rate::Evaluation);
/// Of one evaluation of one batch row, as published counts have it.
std::int64_t flopPerEvaluation(const Program& program);

std::int64_t parameterCount(const Program& program);

/// What the denoiser and its memory encoder have together.
struct ModelCounts {
    std::int64_t parameters = 0;
    std::int64_t flopPerEvaluation = 0;
    std::int64_t flopPerWrite = 0; ///< encoder, and keys and values of 16 tokens in each layer
    Index timeWidth = 0;           ///< ΣC_out of the time table
    int crossAttentions = 0;
    std::int64_t cacheElements = 0; ///< keys and values of 264 tokens in all layers
};
ModelCounts countModel(const UnetSettings& settings);

} // namespace vergence::live
