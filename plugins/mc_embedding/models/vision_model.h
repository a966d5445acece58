#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "plugins/mc_embedding/compute/encoder.h"
#include "plugins/mc_embedding/io/preprocess.h"

namespace vergence::mc_embedding {

/// An encoder with its weights and the way pictures enter it.
struct VisionModel {
    std::string key;
    std::unique_ptr<Encoder> encoder;
    Preprocess preprocess;
    std::string source;             ///< folder, or "random weights"
    std::string layout;             ///< "transformers", "open_clip", "random"
    std::string weightsSha256;      ///< of the weight file(s), or of the generated values
    std::vector<std::string> notes; ///< what its files or the user have otherwise than published
};

struct VisionModelOptions {
    DType compute = DType::F32;
    std::string activation = "canonical"; ///< canonical, quick, erf, tanh
    int imageSize = 0; ///< side of the preprocessed picture, px; 0: the model's own
    std::uint64_t demoSeed = 42;
    EncoderOptions encoder;
    std::function<bool()> isStopped; ///< asked while weights are read; the model is then of no use
};

/// From a local Hugging Face or open_clip folder, whose configuration file is followed; random
/// weights of the demo (section 14) where `folder` is empty. Throws InputError: no such model,
/// weights of another model (names both), a configuration that contradicts them, a missing tensor,
/// pickled checkpoint.
VisionModel loadVisionModel(Stream& stream, std::shared_ptr<Device> device, const std::string& key,
                            const std::filesystem::path& folder,
                            const VisionModelOptions& options = {});

/// What can be said of a folder of weights before they are read.
struct FolderReport {
    std::string summary; ///< "clip_b32: transformers layout, pictures of 224 px, gelu"
    std::vector<std::string> notes;
    std::string unusable;      ///< why nothing can be measured with it: the model is left out
    std::string contradiction; ///< what its configuration gets wrong: the run is refused
};
FolderReport inspectFolder(const std::string& key, const std::filesystem::path& folder);

/// Normal weights of section 14 from Philox purpose 6, equal on all devices. Of no use where
/// `isStopped` said yes meanwhile.
void setDemoWeights(Stream& stream, Encoder& encoder, std::uint64_t seed,
                    const std::function<bool()>& isStopped = {});

} // namespace vergence::mc_embedding
