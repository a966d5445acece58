#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/artifact/hf_config.h"
#include "plugins/mc_embedding/models/weight_layout.h"

namespace vergence::mc_embedding {

/// As `hidden_act` of a config.json has it: "quick_gelu", "gelu", "gelu_pytorch_tanh".
std::string activationName(Activation activation);
/// `hidden_act` of a tower's section. Throws InputError for what the lab does not compute.
Activation hiddenActivation(const HfConfig& tower);
/// What open_clip computes for a CLIP model and one of its towers: `quick_gelu`, false where it is
/// not there, else GELU as `act_kwargs` has it.
Activation openClipActivation(const HfConfig& model, const HfConfig& tower);

/// A tower of the zoo as the configuration beside its weights describes it: activation, epsilon and
/// side of pictures are the file's, and a note says what differs from the published model. Throws
/// InputError where the file describes another tower than `tower`, which the weights were found to
/// have, or asks for what the lab does not compute.
TowerShape describedTower(const std::filesystem::path& folder, WeightLayout layout,
                          const TowerShape& tower, std::vector<std::string>& notes);

} // namespace vergence::mc_embedding
