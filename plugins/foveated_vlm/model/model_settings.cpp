#include "plugins/foveated_vlm/model/model_settings.h"

#include <cmath>
#include <fmt/format.h>

#include "core/artifact/hf_config.h"

namespace vergence::fvlm {

namespace {
DinoConfig dino(Index width, int heads, int registers)
{
    DinoConfig config;
    config.width = width;
    config.heads = heads;
    config.hidden = 4 * width;
    config.registers = registers;
    return config;
}

DinoConfig tinyDino(Index frameSize)
{
    DinoConfig config = dino(64, 4, 0);
    config.layers = 3;
    config.patch = 8;
    config.grid = frameSize / config.patch;
    config.deviation = 1 / std::sqrt(64.0); // 0.02 suits widths in the hundreds
    return config;
}

/// Small enough to learn a drawn task within a minute. Positions stand out from the start, as large
/// as the patches that they are added to: who is asked for a place has to find it.
DinoConfig miniDino(Index frameSize)
{
    DinoConfig config = tinyDino(frameSize);
    config.layers = 2;
    config.positionDeviation = 1;
    return config;
}

LlamaConfig llama(Index width, int layers, int heads, int keyHeads, Index hidden)
{
    LlamaConfig config;
    config.width = width;
    config.layers = layers;
    config.heads = heads;
    config.keyHeads = keyHeads;
    config.hidden = hidden;
    return config;
}

LlamaConfig tinyLlama()
{
    LlamaConfig config = llama(96, 3, 3, 1, 256);
    config.vocabulary = 512;
    config.theta = 10000;
    config.deviation = 1 / std::sqrt(96.0);
    return config;
}

LlamaConfig miniLlama()
{
    LlamaConfig config = llama(64, 2, 2, 1, 176);
    config.vocabulary = 512;
    config.theta = 10000;
    config.deviation = 1 / std::sqrt(64.0);
    return config;
}

LlamaConfig largeLlama()
{
    LlamaConfig config = llama(2048, 24, 32, 32, 8192);
    config.theta = 130000;
    config.deviation = 0.02;
    return config;
}

LlamaConfig mediumLlama()
{
    LlamaConfig config = llama(960, 32, 15, 5, 2560);
    config.deviation = 0.02;
    return config;
}
} // namespace

std::optional<DinoConfig> knownVit(const std::string& name, Index frameSize)
{
    if (name == "tiny")
        return tinyDino(frameSize);
    if (name == "mini")
        return miniDino(frameSize);
    if (name == "dinov2-small" || name == "dinov2-with-registers-small")
        return dino(384, 6, name == "dinov2-small" ? 0 : 4);
    if (name == "dinov2-base" || name == "dinov2-with-registers-base")
        return dino(768, 12, name == "dinov2-base" ? 0 : 4);
    return {};
}

std::optional<LlamaConfig> knownLlm(const std::string& name)
{
    constexpr std::string_view kInstruct = "-instruct";
    const std::string base =
        name.ends_with(kInstruct) ? name.substr(0, name.size() - kInstruct.size()) : name;
    if (name == "tiny")
        return tinyLlama();
    if (name == "mini")
        return miniLlama();
    if (base == "smollm2-135m")
        return llama(576, 30, 9, 3, 1536);
    if (base == "smollm2-360m")
        return mediumLlama();
    if (base == "smollm2-1.7b")
        return largeLlama();
    return {};
}

DinoConfig vitOfFolder(const std::filesystem::path& folder)
{
    const HfConfig file = HfConfig::read(folder);
    const HfDino read = dinoConfig(file);
    if (read.activation != "gelu")
        file.complain(fmt::format("hidden_act is `{}`; the tower has erf-GELU (`gelu`) alone",
                                  read.activation));
    if (read.channels != 3 || !read.hasQueryKeyValueBias)
        file.complain("the tower needs num_channels 3 and qkv_bias true");
    DinoConfig config;
    config.width = read.hiddenSize;
    config.layers = static_cast<int>(read.layers);
    config.heads = static_cast<int>(read.heads);
    config.hidden = read.mlpSize;
    config.patch = static_cast<int>(read.patchSize);
    config.grid = read.imageSize / read.patchSize;
    config.registers = static_cast<int>(read.registers);
    config.epsilon = read.epsilon;
    return config;
}

LlamaConfig llmOfFolder(const std::filesystem::path& folder)
{
    const HfConfig file = HfConfig::read(folder);
    const HfLlama read = llamaConfig(file);
    if (const std::string activation = file.text("hidden_act", "silu"); activation != "silu")
        file.complain(
            fmt::format("hidden_act is `{}`; the language model has `silu` alone", activation));
    LlamaConfig config;
    config.width = read.hiddenSize;
    config.layers = static_cast<int>(read.layers);
    config.heads = static_cast<int>(read.heads);
    config.keyHeads = static_cast<int>(read.keyHeads);
    config.headSize = read.headSize;
    config.hidden = read.intermediateSize;
    config.vocabulary = read.vocabularySize;
    config.theta = read.ropeTheta;
    config.epsilon = read.epsilon;
    config.tied = read.tiesEmbeddings;
    config.deviation = file.real("initializer_range", 0.02);
    return config;
}

} // namespace vergence::fvlm
