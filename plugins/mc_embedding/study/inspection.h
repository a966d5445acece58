#pragma once

#include "core/plugin/lab_inspector.h"
#include "plugins/mc_embedding/mc_embedding_config.h"

namespace vergence::mc_embedding {

/// What the folders of weights hold, from names, shapes and configuration files alone. Errors are
/// what a run is refused for, warnings name the models that it leaves out. Nothing where no model
/// has a folder.
DataReport inspectedModels(const McEmbeddingConfig& config);

} // namespace vergence::mc_embedding
