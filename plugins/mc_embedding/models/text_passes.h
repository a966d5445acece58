#pragma once

#include <string>

#include "plugins/mc_embedding/models/text_tower.h"

namespace vergence::mc_embedding {

/// A prompt as a tower reads it.
struct TextContext {
    std::string text; ///< cleaned; its SHA-256 gives the mask id
    std::vector<int> ids;
};

/// Features [passes · texts, D], pass by pass, under dropout.
Matrix maskedPasses(Stream& stream, const TextTower& tower, std::span<const TextContext> texts,
                    const Perturbation& dropout, std::span<const PassId> passes);

} // namespace vergence::mc_embedding
