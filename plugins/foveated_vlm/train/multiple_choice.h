#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugins/foveated_vlm/model/evaluation.h"
#include "plugins/foveated_vlm/train/batch_loader.h"
#include "plugins/foveated_vlm/train/evaluator.h"

namespace vergence::fvlm {

/// A question about a clip with the answers to choose from.
struct Question {
    Index clip = 0;
    std::string prompt;
    std::vector<std::string> options; ///< at least two
    int correct = 0;
};

struct ChoiceReport {
    double accuracy = 0; ///< share of questions answered right
    double chance = 0;   ///< mean of 1 / options
    double constant = 0; ///< best share that always the same option number reaches
    std::vector<int> chosen;
};

/// Answers with the option whose tokens have the lowest mean negative log-likelihood; frames are
/// encoded once for all options. Specification, section 12.
ChoiceReport answerQuestions(Stream& stream, const Evaluator::Parts& parts,
                             const std::vector<Question>& questions, Mode mode,
                             const std::function<bool()>& isStopped = {});

} // namespace vergence::fvlm
