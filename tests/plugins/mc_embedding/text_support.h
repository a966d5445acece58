#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/artifact/safetensors.h"
#include "core/artifact/tokenizer/byte_alphabet.h"
#include "core/artifact/weights.h"
#include "core/base/file.h"
#include "core/compute/nn/siglip.h"
#include "tests/support/device_table.h"

namespace vergence::mc_embedding::fixtures {

using Json = nlohmann::json;

/// Folders of text models in miniature: width 16, 2 heads, 2 blocks, 8 places, 12 features, with
/// weights that are sines.
struct SmallText {
    static constexpr Index kWidth = 16, kHidden = 40, kContext = 8, kFeatures = 12;
    static constexpr int kLayers = 2, kHeads = 2;

    bool isSiglip = false;
    double phase = 0.5; ///< another one makes another model

    Index vocabulary() const { return isSiglip ? 290 : 518; }

    /// model.safetensors, config.json and the tokenizer, as transformers lays them out.
    void write(const std::filesystem::path& folder) const
    {
        writeWeights(folder / "model.safetensors");
        const Json text{{"hidden_size", kWidth},
                        {"intermediate_size", kHidden},
                        {"num_hidden_layers", kLayers},
                        {"num_attention_heads", kHeads},
                        {"max_position_embeddings", kContext},
                        {"vocab_size", vocabulary()},
                        {"hidden_act", isSiglip ? "gelu_pytorch_tanh" : "quick_gelu"}};
        const Json config{{"model_type", isSiglip ? "siglip" : "clip"}, {"text_config", text}};
        writeFileAtomic(folder / "config.json", config.dump());
        writeTokenizer(folder);
    }
    void writeWeights(const std::filesystem::path& path) const
    {
        const auto device = vergence::test::devices().devices.front();
        const auto stream = device->createStream();
        ParameterSet parameters(device);
        const Declaration where(parameters, {});
        const TowerConfig tower{kWidth,
                                kLayers,
                                kHeads,
                                kHidden,
                                isSiglip ? Activation::GeluTanh : Activation::QuickGelu,
                                1e-5};
        if (isSiglip)
            SiglipTextTower(where, tower, vocabulary(), kContext, kFeatures);
        else
            ClipTextTower(where, tower, vocabulary(), kContext, kFeatures);
        where.other("logit_scale", {1});
        if (isSiglip)
            where.other("logit_bias", {1});
        parameters.allocate(*stream);
        for (int i = 0; i < parameters.count(); ++i)
            fill(*stream, parameters[i], i);
        saveWeights(*stream, parameters, path, DType::F32);
    }
    /// The same numbers under the names of open_clip, with q, k, v stacked.
    void writeOpenClipTwin(const std::filesystem::path& from,
                           const std::filesystem::path& folder) const
    {
        const SafetensorsFile file = readSafetensors(from / "model.safetensors");
        std::vector<HostTensor> tensors;
        for (const HostTensor& tensor : file.tensors) {
            if (tensor.name.find(".k_proj.") != std::string::npos ||
                tensor.name.find(".v_proj.") != std::string::npos)
                continue; // with their q_proj
            HostTensor twin =
                tensor.name.find(".q_proj.") == std::string::npos ? tensor : stacked(file, tensor);
            twin.name = openClipName(tensor.name);
            if (twin.name == "text_projection")
                twin = transposed(twin);
            tensors.push_back(std::move(twin));
        }
        tensors.push_back(
            HostTensor::from<float>("visual.conv1.weight", {1}, std::vector<float>{1}));
        writeSafetensors(folder / "open_clip_model.safetensors", tensors);
        const Json text{{"context_length", kContext},
                        {"vocab_size", vocabulary()},
                        {"width", kWidth},
                        {"heads", kHeads},
                        {"layers", kLayers},
                        {"norm_kwargs", {{"eps", 1e-5}}}};
        Json config{{"model_cfg", {{"embed_dim", kFeatures}, {"text_cfg", text}}}};
        if (!isSiglip)
            config["model_cfg"]["quick_gelu"] = true;
        writeFileAtomic(folder / "open_clip_config.json", config.dump());
        writeTokenizer(folder);
    }
    void writeTokenizer(const std::filesystem::path& folder) const
    {
        if (isSiglip)
            writeFileAtomic(folder / "tokenizer.json", gemma().dump());
        else
            writeClipTokenizer(folder);
    }

private:
    void fill(Stream& stream, const Parameter& parameter, int k) const
    {
        std::vector<float> values(static_cast<std::size_t>(parameter.value.size()));
        const bool isNorm =
            parameter.name.find("norm") != std::string::npos && parameter.name.ends_with("weight");
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double s = std::sin(phase + 1.3 * k + 0.9 * static_cast<double>(i));
            values[i] = static_cast<float>(isNorm ? 1 + 0.1 * s : 0.3 * s);
        }
        if (parameter.name == "logit_scale")
            values = {static_cast<float>(std::log(50.0))};
        if (parameter.name == "logit_bias")
            values = {-10};
        stream.copy(parameter.value.data(), values.data(), parameter.value.bytes());
    }
    static HostTensor stacked(const SafetensorsFile& file, const HostTensor& query)
    {
        HostTensor all = query;
        all.shape[0] *= 3;
        for (const char* other : {".k_proj.", ".v_proj."}) {
            std::string name = query.name;
            name.replace(name.find(".q_proj."), 8, other);
            const HostTensor& part = *file.find(name);
            all.bytes.insert(all.bytes.end(), part.bytes.begin(), part.bytes.end());
        }
        return all;
    }
    static HostTensor transposed(const HostTensor& tensor)
    {
        const auto values = tensor.as<float>();
        const auto rows = static_cast<std::size_t>(tensor.shape[0]);
        const std::size_t columns = values.size() / rows;
        std::vector<float> turned(values.size());
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c)
                turned[c * rows + r] = values[r * columns + c];
        }
        return HostTensor::from<float>(tensor.name, {tensor.shape[1], tensor.shape[0]}, turned);
    }
    std::string openClipName(std::string name) const
    {
        const std::vector<std::pair<std::string, std::string>> parts{
            {"text_model.embeddings.token_embedding.weight", "token_embedding.weight"},
            {"text_model.embeddings.position_embedding.weight", "positional_embedding"},
            {"text_model.encoder.layers.", "transformer.resblocks."},
            {"text_model.final_layer_norm.", "ln_final."},
            {"text_model.head.", "text_projection."},
            {"text_projection.weight", isSiglip ? "text_projection.weight" : "text_projection"},
            {"layer_norm1", "ln_1"},
            {"layer_norm2", "ln_2"},
            {"self_attn.q_proj.", "attn.in_proj_"},
            {"self_attn.out_proj", "attn.out_proj"},
            {"mlp.fc1", "mlp.c_fc"},
            {"mlp.fc2", "mlp.c_proj"}};
        for (const auto& [from, to] : parts) {
            if (const auto at = name.find(from); at != std::string::npos)
                name.replace(at, from.size(), to);
        }
        return isSiglip && !name.starts_with("logit_") ? "text." + name : name;
    }
    /// Bytes alone, and bytes at the ends of words: ids 0 … 511, four merges, start, end.
    static void writeClipTokenizer(const std::filesystem::path& folder)
    {
        Json vocabulary;
        int next = 0;
        for (const char* end : {"", "</w>"}) {
            for (int byte = 0; byte < 256; ++byte)
                vocabulary[spelledByte(static_cast<unsigned char>(byte)) + end] = next++;
        }
        for (const char* piece : {"ca", "cat</w>", "ph", "pho", "<|startoftext|>", "<|endoftext|>"})
            vocabulary[piece] = next++;
        writeFileAtomic(folder / "vocab.json", vocabulary.dump());
        writeFileAtomic(folder / "merges.txt",
                        std::string_view("#version: 0.2\nc a\nca t</w>\np h\nph o\n"));
    }
    /// Specials, bytes, "▁" and letters: ids 0 … 286; merges up to 289.
    static Json gemma()
    {
        Json vocabulary{{"<pad>", 0}, {"<eos>", 1}, {"<bos>", 2}, {"<unk>", 3}};
        int next = 4;
        for (int byte = 0; byte < 256; ++byte)
            vocabulary[namedByte(byte)] = next++;
        vocabulary["▁"] = next++;
        for (char c = 'a'; c <= 'z'; ++c)
            vocabulary[std::string(1, c)] = next++;
        for (const char* piece : {"ca", "cat", "▁cat"})
            vocabulary[piece] = next++;
        return {
            {"normalizer", {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}},
            {"model",
             {{"type", "BPE"},
              {"byte_fallback", true},
              {"vocab", vocabulary},
              {"merges", {"c a", "ca t", "▁ cat"}}}}};
    }
};

} // namespace vergence::mc_embedding::fixtures
