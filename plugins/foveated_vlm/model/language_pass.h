#pragma once

#include <memory>

#include "core/compute/nn/llama.h"

namespace vergence::fvlm {

/// Runs a language model several times on one tape. Where `joins`, each weight matrix gets its
/// gradient from one product over the rows of all runs, made when the derivative of the first run
/// is reached; the derivative of every later run must lead there, as it does where a run makes the
/// queries of the next. Blocks that are recomputed or watched by a hook are not joined.
class LanguagePass {
public:
    LanguagePass(const ForwardPass& pass, const LlamaModel& model, bool joins);

    /// x [B, S, H] → states after the final norm. Causal, positions from 0.
    Value states(Value x);

private:
    struct Waiting; ///< products of weight gradients that are not made yet

    Value block(int index, Value x);
    Value linear(const LinearLayer& layer, Value x, Value residual = {});

    ForwardPass m_pass;
    const LlamaModel& m_model;
    std::shared_ptr<Waiting> m_waiting; ///< null: not joined
    int m_runs = 0;
};

} // namespace vergence::fvlm
