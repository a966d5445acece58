#pragma once

#include "plugins/mc_embedding/mc_embedding_config.h"

namespace vergence::mc_embedding {

/// Checks over several fields: unknown models, experiments, sites and metrics, values that
/// contradict each other, folders that are missing.
void addRules(SchemaBuilder<McEmbeddingConfig>& builder);

} // namespace vergence::mc_embedding
