#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence::live {

// A network described as data: values, weights, and operations in the order in which they run.
// Training, inference, counting, profiling and export all walk the same description. Shapes are
// those of one batch row; how a reader lays them out in memory is its own matter.

/// What an operation computes. x, y: [C, H, W] of one batch row; the formulas of Convolution,
/// GroupNorm, attention and so on are those of core/compute/dense.h and core/compute/ops.
enum class OpKind : std::uint8_t {
    /// Cross-correlation, weight [Cout, kernel, kernel, Cin], bias [Cout]; kernel, stride, padding.
    Convolution,
    /// Derivative of a convolution with respect to its input: weight [Cin, kernel, kernel, Cout],
    /// bias [Cout]; kernel, stride, padding. H becomes (H − 1)·stride + kernel − 2·padding.
    TransposedConvolution,
    /// Every pixel (token) alone: weight [Cout, Cin], bias [Cout] or none.
    Linear,
    GroupNorm, ///< per row, over C/groups · H · W; weight, bias [C]; groups, epsilon
    LayerNorm, ///< per pixel, over C; weight, bias [C]; epsilon
    /// (x − mean) / √(variance + epsilon) · weight + bias with the kept statistics, all [C].
    BatchNorm,
    Silu,
    Gelu,      ///< exact form
    GatedGelu, ///< [2F, H, W] = (a, b) → a · gelu(b), [F, H, W]; exact form
    Tanh,
    Add,         ///< inputs of one shape
    AddChannels, ///< x [C, H, W] + e [C, 1, 1], e per batch row
    AddTable,    ///< x [C, H, W] + weight [H·W, C]
    /// Channels of all inputs one after the other, then zeros up to the channels of the output;
    /// with one input it only pads.
    Concat,
    Slice, ///< channels first … first + C of the output
    /// Packed q, k, v [3C, H, W] → [C, H, W], tokens are pixels; heads; window.
    SelfAttention,
    /// q [C, H, W], packed k and v [2C, keys, 1], bias [1, keys, 1] added to the scores → [C, H,
    /// W]; heads.
    CrossAttention,
    UpsampleNearest2,
    /// Corners of pixels aligned with those of the input (half-pixel centres), border clamped.
    UpsampleBilinear2,
    MaxPool2,
    /// Output row i is the mean of input rows ⌊i·H/h⌋ … ⌈(i+1)·H/h⌉ − 1; columns alike.
    AdaptiveMeanPool,
    /// x [1, 1, 1] → [cos(s·x·f_i), sin(s·x·f_i)], f_i = 10000^(−i/half), half = ⌊C/2⌋, s =
    /// scale; a channel left over is 0.
    Sinusoid,
    Plane,   ///< x [1, 1, 1] → scale · x in every pixel
    Learned, ///< no input: weight [H·W, C], the same for every batch row
};
std::string_view nameOf(OpKind kind); ///< "Convolution", …

/// How often an operation has to run. Training runs all of them together.
enum class Rate : std::uint8_t {
    Evaluation,  ///< each time the network is evaluated
    TimeTable,   ///< for each step of the sampler, once until steps or history bucket change
    MemoryWrite, ///< for each write to the memory bank (16 new tokens), and for the null token
};
std::string_view nameOf(Rate rate);

/// A tensor between operations, [channels, height, width] per batch row. Tokens are pixels, row by
/// row; a vector has one pixel.
struct ProgramValue {
    std::string name; ///< that of the operation, or of the input
    Index channels = 0, height = 1, width = 1;
    int producer = -1; ///< operation that writes it; −1: an input
    /// May be one for all batch rows (the memory); otherwise each row has its own.
    bool mayBeShared = false;

    Index pixels() const { return height * width; }
    Index size() const { return channels * pixels(); }
};

/// What a weight starts from and whether it is trained.
enum class WeightRole : std::uint8_t {
    Matrix,          ///< of convolutions and linear layers
    Bias,            ///< of the same
    NormScale,       ///< 1
    NormShift,       ///< 0
    Table,           ///< positions, tokens
    RunningMean,     ///< 0, not trained, no parameter
    RunningVariance, ///< 1, not trained, no parameter
};

struct ProgramWeight {
    std::string name; ///< "d1.0.c1.weight"
    Shape shape;      ///< as OpKind says; a bias or norm [C]
    WeightRole role = WeightRole::Matrix;
    Index fanIn = 1;           ///< products summed in one output of the layer
    bool startsAtZero = false; ///< in training
    bool endsResidual = false; ///< of the last layer of a residual branch
    int constantElement = -1;  ///< this one element starts at constantValue, always
    double constantValue = 0;

    bool isParameter() const
    {
        return role != WeightRole::RunningMean && role != WeightRole::RunningVariance;
    }
    Index size() const { return elementCount(shape); }
};

/// One operation. Only the attributes that its kind names mean something.
struct ProgramOp {
    OpKind kind = OpKind::Add;
    std::string name;  ///< "d1.0.c1": unique, stable; its weights are named after it
    std::string block; ///< "d1.0": neighbours of one block have one result that is used outside
    Rate rate = Rate::Evaluation;
    std::vector<int> inputs; ///< values, in the order that the kind says
    int output = -1;         ///< value

    int weight = -1, bias = -1;   ///< weights; −1: none
    int mean = -1, variance = -1; ///< of BatchNorm

    int kernel = 1, stride = 1, padding = 0;
    int groups = 1;
    double epsilon = 1e-5;
    int heads = 1;
    Index window = 0; ///< side of the windows that self-attention stays within; 0: all tokens
    Index first = 0;
    double scale = 1;
};

/// The network. Inputs come first among the values; every operation reads what stands before it.
struct Program {
    std::string name; ///< "unet S"
    std::vector<ProgramValue> values;
    std::vector<ProgramWeight> weights;
    std::vector<ProgramOp> ops;
    std::vector<int> inputs, outputs; ///< values

    const ProgramValue& value(int id) const { return values.at(static_cast<std::size_t>(id)); }
    const ProgramWeight& weight(int id) const { return weights.at(static_cast<std::size_t>(id)); }
    const ProgramOp& op(int id) const { return ops.at(static_cast<std::size_t>(id)); }
    int findValue(std::string_view name) const;  ///< −1: there is none
    int findWeight(std::string_view name) const; ///< −1: there is none
    int findOp(std::string_view name) const;     ///< −1: there is none
    /// Operations that read each value, ascending.
    std::vector<std::vector<int>> readers() const;
};

/// The part of a program that `outputs` (values of it) need: inputs that are left keep their names,
/// weights theirs.
Program partOf(const Program& program, const std::vector<int>& outputs);

/// Throws ContractError that names the operation where something does not fit: order, shapes,
/// weights, names twice, a block with two results.
void checkProgram(const Program& program);

} // namespace vergence::live
