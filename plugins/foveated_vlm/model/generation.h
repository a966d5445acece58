#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plugins/foveated_vlm/model/forward.h"

namespace vergence::fvlm {

struct GenerationSettings {
    Mode mode = Mode::CoarseFine;
    int refinements = 1;
    int newTokens = 50;     ///< at most
    int stopToken = 2;      ///< ends a text; not part of it
    double temperature = 0; ///< 0: the most likely token (smallest id of equals); 0.7 samples
    double nucleus = 0.9;   ///< smallest set of tokens of at least that probability
    std::uint64_t seed = 0; ///< a draw depends on (seed, sequence, place) alone
};

/// Continues every sequence of the batch (its last text token is the end of the prompt, for
/// instance of the generation prefix) token by token; logits of the last position only. Returns the
/// new tokens of each. The tape of `pass` records no gradients and is reset on the way. `isStopped`
/// is asked between tokens and ends all texts.
std::vector<std::vector<int>> generate(const ForwardPass& pass, const FoveatedModel& model,
                                       const MicroBatch& batch, const GenerationSettings& settings,
                                       const std::function<bool()>& isStopped = {});

/// The index of the token that `uniform` in [0, 1) draws from the nucleus of softmax(logits /
/// temperature). Source: The Curious Case of Neural Text Degeneration (2020), section 3.1.
int drawNucleus(const std::vector<float>& logits, double temperature, double nucleus,
                double uniform);

} // namespace vergence::fvlm
