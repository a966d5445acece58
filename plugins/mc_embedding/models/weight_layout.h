#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/artifact/weights.h"
#include "plugins/mc_embedding/compute/model_zoo.h"

namespace vergence::mc_embedding {

/// How a file of weights names its image tower. Specification, section 2.3.
enum class WeightLayout { Transformers, OpenClip, OpenClipTimm };

/// By the names that are there; throws InputError where no image tower is.
WeightLayout weightLayout(const WeightFile& file);
std::string nameOf(WeightLayout layout); ///< "transformers", "open_clip"

/// Names of a layout to those of the encoder's parameters.
NameMap visionNames(WeightLayout layout);

/// Throws InputError where the extents of the file's image tower are another model's; names both.
void expectTower(const WeightFile& file, WeightLayout layout, const TowerShape& tower);

/// model.safetensors, open_clip_model.safetensors or an index of several in a folder, or a file
/// itself. Throws InputError where a folder holds pickled checkpoints alone.
std::filesystem::path weightPath(const std::filesystem::path& folder);
/// SHA-256 of the file, or of all files of an index one after another. `isStopped` is asked every
/// few megabytes; the result is then empty.
std::string weightDigest(const std::filesystem::path& path,
                         const std::function<bool()>& isStopped = {});

} // namespace vergence::mc_embedding
