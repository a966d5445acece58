#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/artifact/weights.h"
#include "plugins/foveated_vlm/model/foveated_model.h"

namespace vergence::fvlm {

// Reports name what was loaded, missing, unexpected and of another shape; missing or mismatched
// ones throw InputError unless said otherwise. Prefixes of wrappers ("_orig_mod.", "module.") are
// dropped, a head that repeats the embedding and tables of rotation are passed over. `isStopped` is
// asked between tensors and ends it early; the model is then of no use.

/// Folder or file of DINOv2 in the names of Hugging Face ("dinov2." allowed) or of the original
/// ("blocks.0.attn.qkv.weight").
WeightReport loadVit(Stream& stream, FoveatedModel& model, const std::filesystem::path& path,
                     const std::function<bool()>& isStopped = {});
/// Folder or file of a Llama model.
WeightReport loadLanguage(Stream& stream, FoveatedModel& model, const std::filesystem::path& path,
                          const std::function<bool()>& isStopped = {});
/// A checkpoint of the whole model, ours or a published one ("encoder.query_output_proj" stands for
/// output_proj). With `initialised`, parameters that start so may be missing.
WeightReport loadCheckpointWeights(Stream& stream, FoveatedModel& model,
                                   const std::filesystem::path& path,
                                   const std::vector<std::string>& initialised = {},
                                   const std::function<bool()>& isStopped = {});

struct ExportSettings {
    DType type = DType::F32;  ///< F32, BF16, F16
    bool repeatsHead = false; ///< writes lm_head.weight though it is the embedding
    // For the config.json of the language model.
    Index longestText = 8192;
    int beginToken = 1, endToken = 2;
};
/// One file of everything under the names of FoveatedModel.
void saveCheckpointWeights(Stream& stream, const FoveatedModel& model,
                           const std::filesystem::path& file, const ExportSettings& settings,
                           const std::map<std::string, std::string>& metadata);
/// Folders vit/ and llm/ (config.json, model.safetensors) that other programs load, and
/// connector.safetensors. Throws OutputError.
void saveForOthers(Stream& stream, const FoveatedModel& model, const std::filesystem::path& folder,
                   const ExportSettings& settings,
                   const std::map<std::string, std::string>& metadata);

} // namespace vergence::fvlm
