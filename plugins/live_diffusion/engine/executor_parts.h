#pragma once

#include "plugins/live_diffusion/engine/executor.h"
#include "plugins/live_diffusion/engine/image_kernels.h"

namespace vergence::live {

// What executor.cpp and step_calls.cpp share.

/// One linear layer's weight, or a part of it.
struct LinearPart {
    Tensor weight; ///< [N, K]; without memory where only the packed copy is read
    std::shared_ptr<const PackedWeight> packed;
};

struct Executor::Layer {
    std::unique_ptr<Convolution> convolution;
    std::vector<LinearPart> parts;
    Tensor scale, shift; ///< F32 [C]: norms, biases, folded batch norms
    Tensor table;        ///< F32 [pixels, C]
    Tensor transposed;   ///< weight of a transposed convolution
    Tensor keys;         ///< [264, 2C] of a cross-attention
    std::size_t bytes = 0;
};

/// Buffers that live during one step only.
struct StepTemporaries {
    std::vector<std::size_t> bytes;
    Index roomNumbers = 0;
};

struct Executor::Instance {
    int rows = 1;
    MemoryPlan plan;
    std::vector<std::size_t> bufferAt;                 ///< per buffer: index into the plan
    std::vector<std::vector<std::size_t>> temporaryAt; ///< per step: indices into the plan
    std::vector<Call> calls;                           ///< per step; empty until it is needed
    std::unique_ptr<StepGraph> graph;
};

/// Makes the call of each step of one instance.
class StepBuilder {
public:
    StepBuilder(Executor& executor, const Executor::Instance& instance);
    std::function<void(Stream&)> call(std::size_t step) const;
    static StepTemporaries temporaries(const Executor& executor, std::size_t step, int rows);

private:
    using Call = std::function<void(Stream&)>;
    Call importCall(std::size_t s) const;
    Call exportCall(const Step& step) const;
    Call convolutionCall(std::size_t s) const;
    Call transposedCall(std::size_t s) const;
    Call linearCall(std::size_t s) const;
    Call qkvCall(std::size_t s) const;
    Call normCall(std::size_t s) const;
    Call layerNormCall(std::size_t s) const;
    Call affineCall(std::size_t s) const;
    Call activationCall(const Step& step) const;
    Call addCall(const Step& step) const;
    Call concatCall(const Step& step) const;
    Call sliceCall(const Step& step) const;
    Call relayoutCall(const Step& step) const;
    Call selfAttentionCall(std::size_t s) const;
    Call crossAttentionCall(std::size_t s) const;
    Call attentionCall(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                       const Tensor& bias, std::size_t s) const;
    Call rareCall(std::size_t s) const;

    const Step& stepOf(std::size_t s) const { return m_e.m_list.steps[s]; }
    const ProgramOp& opOf(const Step& step) const { return m_e.m_program.op(step.op); }
    const Buffer& bufferOf(int id) const
    {
        return m_e.m_list.buffers[static_cast<std::size_t>(id)];
    }
    void* memory(std::size_t planned) const;
    Tensor temporary(std::size_t s, std::size_t which, Shape shape, DType type) const;
    Tensor image(int buffer) const { return m_e.buffer(buffer, m_instance.rows); }
    Tensor matrix(int buffer) const; ///< [rows · pixels, C], channels last
    ImageShape imageShape(int buffer) const;
    float* room() const;
    /// Bias of a step: its own, or the rows of the time table; null where there is none.
    const float* biasOf(std::size_t s, Index& stride) const;

    Executor& m_e;
    const Executor::Instance& m_instance;
};

} // namespace vergence::live
