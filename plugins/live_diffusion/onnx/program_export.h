#pragma once

#include <functional>
#include <vector>

#include "core/compute/graph/parameter.h"
#include "plugins/live_diffusion/model/program.h"
#include "plugins/live_diffusion/onnx/onnx_model.h"

namespace vergence::live {

struct OnnxOptions {
    OnnxType type = OnnxType::Float; ///< of weights and values: Float or Float16
    int opset = 17;                  ///< 17, or 21 ("modern": GroupNormalization)
    std::int64_t batch = 1;          ///< rows of every evaluation; the shapes are static
};

/// All numbers of a weight, in the order of its shape. Must live as long as the model.
using WeightSource = std::function<std::vector<float>(const ProgramWeight&)>;
WeightSource weightsOf(Stream& stream, const ParameterSet& parameters);

/// The program as an ONNX graph, channels first. Of the denoiser: inputs x, u, h [B, 3p², g, g], t,
/// b [B], mem [264, D], mem_bias [264]; outputs pred [B, 3p², g, g], blend [B, 1, g, g]. Of the
/// memory encoder: input frame [B, 3p², g, g]; outputs tokens [B, 16, D], null [1, D].
///
/// In Float16 everything is 16 bits wide but t, b and all that depends on them alone, and group
/// norms, which are computed in 32 bits. GroupNorm: opset 17 InstanceNormalization of groups, then
/// scale and shift per channel; opset 21 GroupNormalization. Attention: MatMul, Softmax, MatMul,
/// queries scaled before. Throws ContractError for options that are not offered and for operations
/// that the denoisers do not have.
OnnxModel exportProgram(const Program& program, const WeightSource& weights,
                        const OnnxOptions& options = {});

} // namespace vergence::live
