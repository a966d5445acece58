#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/compute/view.h"

namespace vergence {

/// A Hugging Face `config.json`, or a section of one. Every complaint is an InputError that names
/// the file, the key and what stands there.
class HfConfig {
public:
    /// A file, or a folder that holds config.json.
    static HfConfig read(const std::filesystem::path& path);
    HfConfig(nlohmann::json object, std::string source);

    bool has(const std::string& key) const; ///< there and not null
    /// A whole number from `least` on; `fallback` where the key is absent, an error without one.
    Index whole(const std::string& key, std::optional<Index> fallback = {}, Index least = 1) const;
    double real(const std::string& key, std::optional<double> fallback = {}) const;
    bool flag(const std::string& key, std::optional<bool> fallback = {}) const;
    /// A token id, or the first of a list of them; nothing where absent.
    std::optional<Index> token(const std::string& key) const;
    std::string text(const std::string& key, std::optional<std::string> fallback = {}) const;
    /// An object within; empty (all defaults) where absent and `optional`.
    HfConfig section(const std::string& key, bool optional = false) const;
    const std::string& source() const { return m_source; } ///< "model/config.json, vision_config"

    [[noreturn]] void complain(const std::string& reason) const;

private:
    const nlohmann::json* find(const std::string& key) const;
    const nlohmann::json& need(const std::string& key, const char* kind) const;

    nlohmann::json m_object;
    std::string m_source;
};

/// Llama family.
struct HfLlama {
    Index hiddenSize = 0, intermediateSize = 0, layers = 0, heads = 0, keyHeads = 0, headSize = 0;
    Index vocabularySize = 0, longestContext = 0;
    double ropeTheta = 10000, epsilon = 1e-6;
    bool tiesEmbeddings = false;
    std::optional<Index> beginToken, endToken, padToken;
};
/// Throws InputError also where heads do not divide evenly or RoPE is scaled.
HfLlama llamaConfig(const HfConfig& config);

/// DINOv2, with or without registers.
struct HfDino {
    Index hiddenSize = 0, mlpSize = 0, layers = 0, heads = 0;
    Index imageSize = 0, patchSize = 0, channels = 3, registers = 0;
    double epsilon = 1e-6, layerScale = 1;
    bool hasQueryKeyValueBias = true;
    std::string activation = "gelu";
};
/// Throws InputError where use_swiglu_ffn is true.
HfDino dinoConfig(const HfConfig& config);

/// Image or text tower of CLIP and SigLIP.
struct HfTower {
    Index hiddenSize = 0, intermediateSize = 0, layers = 0, heads = 0;
    double epsilon = 1e-5;
    std::string activation; ///< quick_gelu, gelu, gelu_pytorch_tanh
    // image
    Index imageSize = 0, patchSize = 0, channels = 3;
    // text
    Index vocabularySize = 0, longestText = 0;
    std::optional<Index> beginToken, endToken, padToken;
};
struct HfClip {
    bool isSiglip = false;
    HfTower image;
    std::optional<HfTower> text;
    Index projectionSize = 0; ///< D; for SigLIP the width of the image tower
};
/// model_type clip, siglip or siglip2 (or their vision models alone); keys that the ecosystem
/// leaves out where they hold the default of the model class are filled in.
HfClip clipConfig(const HfConfig& config);

} // namespace vergence
