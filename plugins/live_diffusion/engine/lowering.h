#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugins/live_diffusion/engine/switches.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

// A program as a list of steps for one set of switches: which operations run together, how images
// lie, and which buffers they write.

/// What one step does. One kernel, or one product, unless said otherwise.
enum class StepKind {
    Import,      ///< planar F32 inputs of the program → an image
    Export,      ///< channels of an image → planar F32 output of the program
    Convolution, ///< with bias, addend per row, activation, residual as far as they are fused
    UpsampledConvolution, ///< nearest ×2 and the convolution; see ConvolutionAlgorithm
    TransposedConvolution,
    Linear,       ///< also pointwise convolutions with channels innermost
    JoinedLinear, ///< of two inputs that stand for their concatenation: two products
    QkvLinear,    ///< q, k and v one after the other: three products
    Norm,         ///< GroupNorm, SiLU where fused; one or two inputs; two kernels
    LayerNorm,
    Affine, ///< bias, addend per row or batch norm, alone
    Silu,
    Gelu,
    GatedGelu,
    Add,
    Concat, ///< as many copies as inputs
    Slice,
    Relayout,       ///< planar ↔ channels innermost
    SelfAttention,  ///< flash; three kernels where naive
    CrossAttention, ///< the same, for each batch row
    Upsample,
    Rare, ///< see RareKind
};

/// Memory of one image or matrix per batch row.
struct Buffer {
    Index channels = 0, height = 1, width = 1;
    bool channelsLast = true;
    int alias = -1; ///< lies where this buffer does, which is not read any more

    Index size() const { return channels * height * width; } ///< elements of a row
};

struct Step {
    StepKind kind = StepKind::Add;
    int op = -1;              ///< of the program: attributes, weights, name; −1: Relayout
    std::vector<int> inputs;  ///< buffers
    std::vector<int> sources; ///< values of the program: of Import; keys and bias of CrossAttention
    int output = -1;          ///< buffer; −1: Export
    int target = -1;          ///< value: of Export
    Index firstChannel = 0;   ///< of Export
    int residual = -1;        ///< buffer added to the result
    bool ownsBias = true;     ///< the op's own bias is part of the step
    int time = -1;            ///< AddChannels op whose addend per row (with the op's bias) is added
    int batchNorm = -1;       ///< BatchNorm op folded into the weights
    bool silu = false;        ///< follows, before the residual
};

struct StepList {
    std::vector<Buffer> buffers;
    std::vector<Step> steps;
    std::vector<int> outputs; ///< buffers of the program's outputs where they stay there
};

struct LoweringSettings {
    Layout layout = Layout::Nhwc;
    bool fusion = true;
    /// Outputs become planar F32; otherwise they stay in their buffers to the end.
    bool exportsOutputs = true;
    /// Operations that run; values of others are given from outside.
    std::function<bool(const ProgramOp&)> runs;
};

StepList lowerProgram(const Program& program, const LoweringSettings& settings);

/// Kernels, products and copies that a step starts. Upsampling and its convolution count two; an
/// algorithm that does both at once starts one.
int kernelsOf(const Program& program, const Step& step, AttentionKind attention);

std::string nameOf(StepKind kind); ///< "convolution", "group norm", …

} // namespace vergence::live
