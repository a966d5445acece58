#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/compute/graph/parameter.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

/// What a weight file says about the network beside its tensors.
struct ModelDescription {
    UnetSettings settings;
    std::string prediction = "v";    ///< "epsilon" or "v"
    std::string schedule = "cosine"; ///< of the noise it was trained with
    std::string mode = "restyle";    ///< "restyle", "restore", "dream"
    bool isConsistencyModel = false; ///< distilled: may be run with 1 to 4 consistency steps
    std::map<std::string, std::string> notes; ///< anything else, kept as it is
};

/// Writes `path` (safetensors) and beside it the same name with the ending .json. Tensors have the
/// names of the programs and lie K·R·S·C. Throws OutputError.
void saveModel(Stream& stream, const ParameterSet& parameters, const ModelDescription& description,
               const std::filesystem::path& path, DType type = DType::F32);

/// The JSON beside a weight file. Throws InputError that names the key at fault.
ModelDescription readModelDescription(const std::filesystem::path& path);

/// Reads the tensors of `path` into the parameters, converting floating types on the way. Throws
/// InputError that lists every fault in a sentence of its own before anything is written: a weight
/// that is missing, a tensor that belongs to no weight, another shape (both are named), a type that
/// is no floating type (both are named).
void loadModel(Stream& stream, ParameterSet& parameters, const std::filesystem::path& path);

} // namespace vergence::live
