#pragma once

#include <string>
#include <vector>

#include "plugins/mc_embedding/statistics/reliability.h"

namespace vergence::mc_embedding {

/// One judged cell of a summary.
struct GateCell {
    std::string model;
    int passes = 0;
    bool isPost = false; ///< of normalised features
    Reliability reliability;
};

/// What follows from all cells. Specification, section 8.2.
struct GateDecision {
    enum class Kind {
        Go,       ///< a cell is usable
        Extend,   ///< more passes may make one usable
        Stop,     ///< all models fail, each with so many passes that more do not help
        Undecided ///< no cell has two trials
    };
    Kind kind = Kind::Undecided;
    Figure passesWanted;     ///< Extend: for the ICC gate, of the best cell
    bool isNegative = false; ///< outline rule: ICC < 0.5 for all models, pre-norm, T = 64
    std::string sentence;
};

/// Passes from which on a failure is final.
inline constexpr int kFinalPasses = 256;

GateDecision gateDecision(const std::vector<GateCell>& cells);

} // namespace vergence::mc_embedding
