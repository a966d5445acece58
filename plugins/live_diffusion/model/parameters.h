#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/compute/graph/parameter.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

/// How weights start. Training: normal, deviation 1/√fan-in, biases 0, ends of residual branches 0
/// where the network says so. Bench: the same deviation everywhere, biases too, no zeros, ends of
/// residual branches halved; for measuring speed without weights.
enum class Start : std::uint8_t { Training, Bench };

struct ParameterSettings {
    DType master = DType::F32;  ///< F32 or F64
    DType compute = DType::F32; ///< as master, or F16 or BF16 beside F32
    bool trains = false;        ///< gradients exist, weight decay for matrices alone
    double weightDecay = 0.01;
};

/// Declares and allocates the weights of several programs, which share no name, in their order.
/// Values are 0. Kept statistics are never trained.
std::unique_ptr<ParameterSet> declareParameters(Stream& stream, std::shared_ptr<Device> device,
                                                const std::vector<const Program*>& programs,
                                                const ParameterSettings& settings = {});

/// Fills one weight, the `index`-th of all that are declared; the same bits as all at once.
void fillStart(Stream& stream, const ProgramWeight& weight, std::uint64_t index, Start start,
               std::uint64_t seed, const Tensor& value);
/// Fills all weights; the same bits for the same programs and seed on every device.
void initialiseParameters(Stream& stream, ParameterSet& parameters,
                          const std::vector<const Program*>& programs, Start start,
                          std::uint64_t seed);

} // namespace vergence::live
