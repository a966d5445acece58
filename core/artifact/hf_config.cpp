#include "core/artifact/hf_config.h"

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

HfConfig HfConfig::read(const std::filesystem::path& path)
{
    const auto file = std::filesystem::is_directory(path) ? path / "config.json" : path;
    const std::string source = file.string();
    return {parseJson(readFile(file), source), source};
}

HfConfig::HfConfig(nlohmann::json object, std::string source)
    : m_object(std::move(object)),
      m_source(std::move(source))
{
    if (!m_object.is_object())
        complain("it holds no object");
}

void HfConfig::complain(const std::string& reason) const
{
    throw InputError(fmt::format("Cannot use {}: {}.", m_source, reason));
}

const nlohmann::json* HfConfig::find(const std::string& key) const
{
    const auto found = m_object.find(key);
    return found == m_object.end() || found->is_null() ? nullptr : &*found;
}

bool HfConfig::has(const std::string& key) const
{
    return find(key) != nullptr;
}

const nlohmann::json& HfConfig::need(const std::string& key, const char* kind) const
{
    const nlohmann::json* value = find(key);
    if (!value)
        complain(fmt::format("`{}` ({}) is missing", key, kind));
    return *value;
}

Index HfConfig::whole(const std::string& key, std::optional<Index> fallback, Index least) const
{
    if (!has(key) && fallback)
        return *fallback;
    const nlohmann::json& value = need(key, "a whole number");
    const bool isWhole = value.is_number_integer() &&
                         (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1u << 31);
    if (!isWhole || value.get<Index>() < least)
        complain(fmt::format("`{}` is {} instead of a whole number from {} on", key, value.dump(),
                             least));
    return value.get<Index>();
}

double HfConfig::real(const std::string& key, std::optional<double> fallback) const
{
    if (!has(key) && fallback)
        return *fallback;
    const nlohmann::json& value = need(key, "a number");
    if (!value.is_number())
        complain(fmt::format("`{}` is {} instead of a number", key, value.dump()));
    return value.get<double>();
}

bool HfConfig::flag(const std::string& key, std::optional<bool> fallback) const
{
    if (!has(key) && fallback)
        return *fallback;
    const nlohmann::json& value = need(key, "true or false");
    if (!value.is_boolean())
        complain(fmt::format("`{}` is {} instead of true or false", key, value.dump()));
    return value.get<bool>();
}

std::string HfConfig::text(const std::string& key, std::optional<std::string> fallback) const
{
    if (!has(key) && fallback)
        return *fallback;
    const nlohmann::json& value = need(key, "a text");
    if (!value.is_string())
        complain(fmt::format("`{}` is {} instead of a text", key, value.dump()));
    return value.get<std::string>();
}

std::optional<Index> HfConfig::token(const std::string& key) const
{
    const nlohmann::json* value = find(key);
    if (!value)
        return {};
    if (!value->is_array())
        return whole(key, {}, 0);
    if (value->empty())
        return {};
    return HfConfig({{key, value->front()}}, m_source).whole(key, {}, 0);
}

HfConfig HfConfig::section(const std::string& key, bool optional) const
{
    const std::string source = m_source + ", " + key;
    if (optional && !has(key))
        return {nlohmann::json::object(), source};
    return {need(key, "an object"), source};
}

namespace {

void expectDivisible(const HfConfig& config, const char* what, Index whole, Index parts)
{
    if (whole % parts != 0)
        config.complain(fmt::format("{} {} is no multiple of {}", what, whole, parts));
}

/// What a model class assumes for keys that are left out.
struct TowerDefaults {
    Index hiddenSize, intermediateSize, layers, heads;
    double epsilon;
    const char* activation;
    Index patchSize = 0, vocabularySize = 0, longestText = 0;
};

HfTower towerOf(const HfConfig& config, const TowerDefaults& defaults)
{
    HfTower tower;
    tower.hiddenSize = config.whole("hidden_size", defaults.hiddenSize);
    tower.intermediateSize = config.whole("intermediate_size", defaults.intermediateSize);
    tower.layers = config.whole("num_hidden_layers", defaults.layers);
    tower.heads = config.whole("num_attention_heads", defaults.heads);
    tower.epsilon = config.real("layer_norm_eps", defaults.epsilon);
    tower.activation = config.text("hidden_act", defaults.activation);
    expectDivisible(config, "`hidden_size`", tower.hiddenSize, tower.heads);
    return tower;
}

HfTower imageTower(const HfConfig& config, const TowerDefaults& defaults)
{
    HfTower tower = towerOf(config, defaults);
    tower.patchSize = config.whole("patch_size", defaults.patchSize);
    tower.imageSize = config.whole("image_size", 224, tower.patchSize);
    tower.channels = config.whole("num_channels", 3);
    return tower;
}

HfTower textTower(const HfConfig& config, const TowerDefaults& defaults)
{
    HfTower tower = towerOf(config, defaults);
    tower.vocabularySize = config.whole("vocab_size", defaults.vocabularySize);
    tower.longestText = config.whole("max_position_embeddings", defaults.longestText);
    tower.beginToken = config.token("bos_token_id");
    tower.endToken = config.token("eos_token_id");
    tower.padToken = config.token("pad_token_id");
    return tower;
}

} // namespace

HfLlama llamaConfig(const HfConfig& config)
{
    HfLlama c;
    c.hiddenSize = config.whole("hidden_size");
    c.intermediateSize = config.whole("intermediate_size");
    c.layers = config.whole("num_hidden_layers");
    c.heads = config.whole("num_attention_heads");
    c.keyHeads = config.whole("num_key_value_heads", c.heads);
    if (!config.has("head_dim"))
        expectDivisible(config, "`hidden_size`", c.hiddenSize, c.heads);
    c.headSize = config.whole("head_dim", c.hiddenSize / c.heads);
    expectDivisible(config, "`num_attention_heads`", c.heads, c.keyHeads);
    c.vocabularySize = config.whole("vocab_size");
    c.longestContext = config.whole("max_position_embeddings", 2048);
    c.ropeTheta = config.real("rope_theta", 10000.0);
    c.epsilon = config.real("rms_norm_eps", 1e-6);
    c.tiesEmbeddings = config.flag("tie_word_embeddings", false);
    c.beginToken = config.token("bos_token_id");
    c.endToken = config.token("eos_token_id");
    c.padToken = config.token("pad_token_id");
    if (config.has("rope_scaling"))
        config.complain("`rope_scaling` is set, and scaled rotary positions are not supported");
    return c;
}

HfDino dinoConfig(const HfConfig& config)
{
    HfDino c;
    if (config.flag("use_swiglu_ffn", false))
        config.complain("`use_swiglu_ffn` is true, and only the plain MLP is supported");
    c.hiddenSize = config.whole("hidden_size");
    c.layers = config.whole("num_hidden_layers");
    c.heads = config.whole("num_attention_heads");
    c.mlpSize =
        static_cast<Index>(static_cast<double>(c.hiddenSize) * config.real("mlp_ratio", 4.0));
    if (c.mlpSize < 1)
        config.complain("`mlp_ratio` leaves the MLP no width");
    c.patchSize = config.whole("patch_size", 14);
    c.imageSize = config.whole("image_size", 224, c.patchSize);
    c.channels = config.whole("num_channels", 3);
    const bool hasRegisters = config.text("model_type", "dinov2") == "dinov2_with_registers";
    c.registers = config.whole("num_register_tokens", hasRegisters ? 4 : 0, 0);
    c.epsilon = config.real("layer_norm_eps", 1e-6);
    c.layerScale = config.real("layerscale_value", 1.0);
    c.hasQueryKeyValueBias = config.flag("qkv_bias", true);
    c.activation = config.text("hidden_act", "gelu");
    expectDivisible(config, "`hidden_size`", c.hiddenSize, c.heads);
    return c;
}

HfClip clipConfig(const HfConfig& config)
{
    const std::string type = config.text("model_type");
    const bool isSiglip = type.starts_with("siglip");
    if (!isSiglip && !type.starts_with("clip"))
        config.complain(fmt::format("`model_type` is {}; clip, siglip or siglip2 is needed", type));
    const bool isImageAlone = type.ends_with("vision_model");
    HfClip c;
    c.isSiglip = isSiglip;
    const TowerDefaults image =
        isSiglip ? TowerDefaults{768, 3072, 12, 12, 1e-6, "gelu_pytorch_tanh", 16}
                 : TowerDefaults{768, 3072, 12, 12, 1e-5, "quick_gelu", 32};
    const TowerDefaults text =
        isSiglip ? TowerDefaults{768, 3072, 12, 12, 1e-6, "gelu_pytorch_tanh", 0, 32000, 64}
                 : TowerDefaults{512, 2048, 12, 8, 1e-5, "quick_gelu", 0, 49408, 77};
    c.image = imageTower(isImageAlone ? config : config.section("vision_config", true), image);
    if (!isImageAlone && config.has("text_config"))
        c.text = textTower(config.section("text_config"), text);
    c.projectionSize = isSiglip ? c.image.hiddenSize : config.whole("projection_dim", 512);
    return c;
}

} // namespace vergence
