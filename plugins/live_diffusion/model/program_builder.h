#pragma once

#include <string>

#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

/// Writes a program operation by operation. Values and weights are named after the operations:
/// block, dot, local name; shapes of results follow from the inputs. finish() checks everything.
class ProgramBuilder {
public:
    explicit ProgramBuilder(std::string name);

    int input(const std::string& name, Index channels, Index height, Index width,
              bool mayBeShared = false);
    void beginBlock(std::string name) { m_block = std::move(name); } ///< of what follows

    struct Conv {
        Index channels = 0; ///< of the result
        int kernel = 3;
        int stride = 1;
        int padding = 1;
        bool endsResidual = false;
        bool startsAtZero = false;
    };
    int convolution(const std::string& name, int x, const Conv& conv);
    int transposedConvolution(const std::string& name, int x, const Conv& conv);

    struct Dense {
        Index channels = 0;
        bool hasBias = true;
        Rate rate = Rate::Evaluation;
        bool endsResidual = false;
        bool startsAtZero = false;
    };
    int linear(const std::string& name, int x, const Dense& dense);

    int groupNorm(const std::string& name, int x, int groups);
    int layerNorm(const std::string& name, int x);
    int batchNorm(const std::string& name, int x);

    /// Silu, Gelu, Tanh, GatedGelu, UpsampleNearest2, UpsampleBilinear2, MaxPool2.
    int unary(OpKind kind, const std::string& name, int x, Rate rate = Rate::Evaluation);
    int add(const std::string& name, int a, int b, Rate rate = Rate::Evaluation);
    int addChannels(const std::string& name, int x, int vector);
    int addTable(const std::string& name, int x);
    /// `channels` = 0 pads nothing.
    int concat(const std::string& name, const std::vector<int>& parts, Index channels = 0);
    int slice(const std::string& name, int x, Index first, Index channels);
    int selfAttention(const std::string& name, int qkv, int heads, Index window = 0);
    int crossAttention(const std::string& name, int q, int keysAndValues, int bias, int heads);
    int meanPool(const std::string& name, int x, Index side);
    int sinusoid(const std::string& name, int x, Index channels, double scale);
    int plane(const std::string& name, int x, Index side, double scale);
    int learned(const std::string& name, Index channels, Index pixels);

    const ProgramValue& value(int id) const { return m_program.value(id); }
    Index channels(int id) const { return value(id).channels; }
    ProgramWeight& weightOf(const std::string& name); ///< for what is unusual about its start
    void output(int value, const std::string& name);  ///< renames the value
    Program finish();

private:
    ProgramOp makeOp(OpKind kind, const std::string& name, std::vector<int> inputs) const;
    int push(ProgramOp op, Index channels, Index height, Index width);
    int addWeight(const std::string& name, Shape shape, WeightRole role, Index fanIn = 1);
    void addNormWeights(ProgramOp& op, Index channels);
    void addLayerWeights(ProgramOp& op, Shape shape, Index channels, Index fanIn, bool hasBias,
                         bool endsResidual, bool startsAtZero);

    Program m_program;
    std::string m_block;
};

} // namespace vergence::live
