#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/live_diffusion/engine/switches.h"
#include "plugins/live_diffusion/model/program.h"
#include "plugins/live_diffusion/profile/peaks.h"

namespace vergence::live {

/// Work and compulsory traffic of one operation of an evaluation: what any implementation with
/// these switches has to do at least.
struct OpCost {
    std::string name, block;
    OpKind kind = OpKind::Add;
    /// Convolution 2·Ho·Wo·Cout·Cin·k², product 2MNK, attention 4·h·Sq·Skv·d.
    std::int64_t flop = 0;
    std::int64_t bytes = 0;     ///< inputs, weights, output; GroupNorm reads twice
    std::int64_t leastFlop = 0; ///< by the algorithm with the fewest multiplications
    double intensity() const { return bytes == 0 ? 0 : double(flop) / double(bytes); }
};

/// Fused: activation in its normalisation, time bias in the convolution's bias, residual read by
/// the product before it, channels never concatenated, upsampling in the gather of its convolution.
/// Otherwise each primitive is one operation. Naive attention writes its scores, reads and writes
/// them for the softmax and reads them for the second product. `rows`: of the batch, which read the
/// weights once.
std::vector<OpCost> opCosts(const Program& program, const Switches& switches, int rows = 1);

/// Bytes of one element of activations and weights.
int elementBytes(Precision precision);

/// Least seconds of an evaluation: Σ max(FLOP/peak, bytes/bandwidth). Against roofs that were
/// measured here, the fewest multiplications count: what no program could do faster. Data sheets
/// are held against all of them, as published bounds are.
double lowerBound(const std::vector<OpCost>& ops, const DevicePeaks& peaks, Precision precision);
/// Both switched as the name says: fp16, flash, fused, NHWC; and strict fp32, naive, unfused.
double fusedHalfBound(const Program& program, const DevicePeaks& peaks);
double strictSingleBound(const Program& program, const DevicePeaks& peaks);

/// Dependent kernels × 1.8 µs: what launches alone take, whatever the device.
double latencyFloor(int kernels);

/// How much longer a tick of a stream batch of `rows` takes at least than one evaluation, fused and
/// fp16: near `rows` where one row already fills the device, 1 where launches are all that counts.
double streamBatchBound(const Program& program, const DevicePeaks& peaks, int rows, int kernels);

} // namespace vergence::live
