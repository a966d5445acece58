#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugins/mc_embedding/statistics/reliability.h"

namespace vergence::mc_embedding {

/// A prompt of Exp 10.
struct StyledPrompt {
    std::string style; ///< a name of promptStyles()
    std::string text;
};
/// From vague to exact: vague, label, photo, attributes, scene.
const std::vector<std::string>& promptStyles();
/// `count` prompts, the styles in turn, words drawn by Philox purpose 2; no prompt twice.
std::vector<StyledPrompt> textUncertaintyPrompts(std::size_t count, std::uint64_t seed);
/// Number of different words that carry meaning: neither articles, prepositions and the like nor
/// words such as "something".
double specificity(const std::string& text);

/// Exp 10: spread of text features under masks on the linears of the text tower.
struct TextUncertaintyResult {
    struct Style {
        std::string name;
        std::size_t prompts = 0;
        double meanTrace = 0, meanSpecificity = 0;
    };
    std::vector<Style> styles;
    Figure correlation;       ///< Spearman of trace and specificity, all prompts
    Figure correlationWithin; ///< the same of what is left without the means of the styles
    Reliability trace;
};
/// scores [K, prompts] with `passes` passes each.
TextUncertaintyResult textUncertainty(std::span<const StyledPrompt> prompts, const Matrix& scores,
                                      int passes, double alpha = 0.05);
nlohmann::json toJson(const TextUncertaintyResult& result);

} // namespace vergence::mc_embedding
