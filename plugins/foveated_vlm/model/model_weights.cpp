#include "plugins/foveated_vlm/model/model_weights.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/safetensors.h"
#include "core/base/file.h"
#include "core/compute/ops/pointwise.h"

namespace vergence::fvlm {

namespace {
constexpr const char* kVit = "encoder.dino.";
constexpr const char* kLanguage = "llm.";
constexpr const char* kMaskToken = "encoder.dino.embeddings.mask_token";

NameMap withoutWrappers()
{
    NameMap names;
    names.dropPrefix("_orig_mod.").dropPrefix("module.");
    return names;
}

bool hasOriginalNames(const WeightFile& file)
{
    return std::any_of(file.entries().begin(), file.entries().end(), [](const WeightEntry& entry) {
        return entry.name.find("blocks.0.attn.qkv") != std::string::npos;
    });
}

/// From the names of the DINOv2 code to those of Hugging Face.
void translateOriginal(NameMap& names)
{
    names.replace("blocks.", "encoder.layer.")
        .replace(".attn.qkv.", ".attention.qkv.")
        .replace(".attn.proj.", ".attention.output.dense.")
        .replace(".ls1.gamma", ".layer_scale1.lambda1")
        .replace(".ls2.gamma", ".layer_scale2.lambda1")
        .replace("patch_embed.proj.", "embeddings.patch_embeddings.projection.")
        .replace("pos_embed", "embeddings.position_embeddings")
        .replace("cls_token", "embeddings.cls_token")
        .replace("mask_token", "embeddings.mask_token")
        .replace("register_tokens", "embeddings.register_tokens");
    // The final norm alone starts so; norms of blocks have numbers.
    names.replace("norm.weight", "layernorm.weight").replace("norm.bias", "layernorm.bias");
}

void passOverExtras(NameMap& names, const FoveatedModel& model)
{
    names.ignore("rotary_emb.inv_freq");
    if (model.settings().llm.tied)
        names.ignore("lm_head.weight");
}

HostTensor hostTensor(Stream& stream, const Tensor& value, std::string name, DType type)
{
    HostTensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = type;
    tensor.shape = value.shape();
    Tensor converted = value;
    if (value.dtype() != type) {
        converted = Tensor::empty(value.device(), value.shape(), type);
        cast(stream, value, converted);
    }
    tensor.bytes.resize(converted.bytes());
    stream.copy(tensor.bytes.data(), converted.data(), converted.bytes());
    stream.synchronize();
    return tensor;
}

/// What starts with `prefix`, without it.
std::vector<HostTensor> partOf(Stream& stream, const FoveatedModel& model,
                               const std::string& prefix, const ExportSettings& settings)
{
    std::vector<HostTensor> tensors;
    const ParameterSet& parameters = model.parameters();
    for (const auto& [name, window] : parameters.fileEntries()) {
        if (name.starts_with(prefix))
            tensors.push_back(hostTensor(stream, parameters.named(name), name.substr(prefix.size()),
                                         settings.type));
    }
    const bool holdsLanguage = prefix.empty() || prefix == kLanguage;
    if (holdsLanguage && settings.repeatsHead && model.settings().llm.tied) {
        const int embedding = model.language().embedding();
        tensors.push_back(hostTensor(
            stream, parameters[embedding].value,
            (prefix.empty() ? kLanguage : std::string()) + "lm_head.weight", settings.type));
    }
    return tensors;
}

const char* torchName(DType type)
{
    return type == DType::BF16 ? "bfloat16" : type == DType::F16 ? "float16" : "float32";
}

nlohmann::json vitConfig(const DinoConfig& vit, const ExportSettings& settings)
{
    const bool hasRegisters = vit.registers > 0;
    nlohmann::json json{
        {"architectures", {hasRegisters ? "Dinov2WithRegistersModel" : "Dinov2Model"}},
        {"model_type", hasRegisters ? "dinov2_with_registers" : "dinov2"},
        {"hidden_size", vit.width},
        {"num_hidden_layers", vit.layers},
        {"num_attention_heads", vit.heads},
        {"mlp_ratio", vit.hidden / vit.width},
        {"patch_size", vit.patch},
        {"image_size", vit.grid * vit.patch},
        {"num_channels", 3},
        {"hidden_act", "gelu"},
        {"layer_norm_eps", vit.epsilon},
        {"layerscale_value", 1.0},
        {"qkv_bias", true},
        {"use_swiglu_ffn", false},
        {"torch_dtype", torchName(settings.type)}};
    if (hasRegisters)
        json["num_register_tokens"] = vit.registers;
    return json;
}

nlohmann::json languageConfig(const LlamaConfig& llm, const ExportSettings& settings)
{
    return {{"architectures", {"LlamaForCausalLM"}},
            {"model_type", "llama"},
            {"hidden_size", llm.width},
            {"intermediate_size", llm.hidden},
            {"num_hidden_layers", llm.layers},
            {"num_attention_heads", llm.heads},
            {"num_key_value_heads", llm.keyHeads},
            {"head_dim", llm.headSize > 0 ? llm.headSize : llm.width / llm.heads},
            {"vocab_size", llm.vocabulary},
            {"rope_theta", llm.theta},
            {"rms_norm_eps", llm.epsilon},
            {"max_position_embeddings", settings.longestText},
            {"hidden_act", "silu"},
            {"attention_bias", false},
            {"mlp_bias", false},
            {"tie_word_embeddings", llm.tied},
            {"bos_token_id", settings.beginToken},
            {"eos_token_id", settings.endToken},
            {"pad_token_id", settings.endToken},
            {"torch_dtype", torchName(settings.type)}};
}

void saveFolder(const std::filesystem::path& folder, const nlohmann::json& config,
                const std::vector<HostTensor>& tensors)
{
    std::filesystem::create_directories(folder);
    writeFileAtomic(folder / "config.json", config.dump(2) + "\n");
    writeSafetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
}
} // namespace

WeightReport loadVit(Stream& stream, FoveatedModel& model, const std::filesystem::path& path,
                     const std::function<bool()>& isStopped)
{
    const WeightFile file = WeightFile::open(path);
    NameMap names = withoutWrappers();
    names.dropPrefix("dinov2.").dropPrefix("dinov2_with_registers.").under(kVit);
    if (hasOriginalNames(file))
        translateOriginal(names);
    return loadWeights(stream, model.parameters(), file, names, {kMaskToken}, isStopped);
}

WeightReport loadLanguage(Stream& stream, FoveatedModel& model, const std::filesystem::path& path,
                          const std::function<bool()>& isStopped)
{
    NameMap names = withoutWrappers();
    names.under(kLanguage);
    passOverExtras(names, model);
    return loadWeights(stream, model.parameters(), WeightFile::open(path), names, {}, isStopped);
}

WeightReport loadCheckpointWeights(Stream& stream, FoveatedModel& model,
                                   const std::filesystem::path& path,
                                   const std::vector<std::string>& initialised,
                                   const std::function<bool()>& isStopped)
{
    NameMap names = withoutWrappers();
    names.replace("query_output_proj.", "output_proj.");
    passOverExtras(names, model);
    std::vector<std::string> mayMiss = initialised;
    mayMiss.push_back(kMaskToken);
    return loadWeights(stream, model.parameters(), WeightFile::open(path), names, mayMiss,
                       isStopped);
}

void saveCheckpointWeights(Stream& stream, const FoveatedModel& model,
                           const std::filesystem::path& file, const ExportSettings& settings,
                           const std::map<std::string, std::string>& metadata)
{
    writeSafetensors(file, partOf(stream, model, "", settings), metadata);
}

void saveForOthers(Stream& stream, const FoveatedModel& model, const std::filesystem::path& folder,
                   const ExportSettings& settings,
                   const std::map<std::string, std::string>& metadata)
{
    saveFolder(folder / "vit", vitConfig(model.settings().vit, settings),
               partOf(stream, model, kVit, settings));
    saveFolder(folder / "llm", languageConfig(model.settings().llm, settings),
               partOf(stream, model, kLanguage, settings));
    std::vector<HostTensor> connector = partOf(stream, model, "", settings);
    std::erase_if(connector, [](const HostTensor& tensor) {
        return tensor.name.starts_with(kVit) || tensor.name.starts_with(kLanguage);
    });
    writeSafetensors(folder / "connector.safetensors", connector, metadata);
}

} // namespace vergence::fvlm
