#pragma once

#include <memory>

#include "core/compute/nn/llama.h"

namespace vergence::fvlm {

/// Runs a language model several times on one tape. Where `joins`, each weight matrix gets its
/// gradient from one product over the rows of all runs, made when the derivative of the first run
/// is reached: every later run must reach it, which runs whose queries made one another do. Runs
/// that are recomputed, or that take no gradient, are not joined.
class LanguagePass {
public:
    LanguagePass(const ForwardPass& pass, const LlamaModel& model, bool joins);
    ~LanguagePass();

    /// x [B, S, H] → states after the final norm; causal.
    Value states(Value x);

private:
    struct Shared;
    Value block(int index, Value x, int run);

    const ForwardPass& m_pass;
    const LlamaModel& m_model;
    std::shared_ptr<Shared> m_shared; ///< null: not joined
    int m_runs = 0;
};

} // namespace vergence::fvlm
