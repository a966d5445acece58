#include "plugins/mc_embedding/models/text_passes.h"

#include "core/artifact/artifact_store.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/io/image_set.h"

namespace vergence::mc_embedding {

Matrix maskedPasses(Stream& stream, const TextTower& tower, std::span<const TextContext> texts,
                    const Perturbation& dropout, std::span<const PassId> passes)
{
    expects(dropout.kind == Perturbation::Kind::Dropout && dropout.rates.empty(),
            "maskedPasses: texts take dropout with one probability");
    TextMasks masks{dropout.seed, dropout.p, {}};
    std::vector<std::vector<int>> contexts;
    for (const PassId pass : passes) {
        for (const TextContext& text : texts) {
            contexts.push_back(text.ids);
            masks.keys.push_back(sequenceKey(maskIdOf(sha256Hex(text.text)), pass));
        }
    }
    return tower.features(stream, contexts, masks);
}

} // namespace vergence::mc_embedding
