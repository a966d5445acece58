#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/compute/nn/dino.h"
#include "core/compute/nn/llama.h"
#include "plugins/foveated_vlm/encoder/gaze_encoder.h"

namespace vergence::fvlm {

/// What the model learns to say: text after its visual tokens, the latent of the next frame, or
/// both from one pass.
enum class Variant { Captions, Latents, Joint };

/// How a visual token y enters the language model, s being ModelSettings::visualScale: Scale s·y;
/// TokenRms s·y / √(mean y² + 1e-6) per token; BatchStd s·y / √(v + 1e-12), v the variance of all
/// numbers of the batch, which couples samples and lets later frames leak into earlier ones (in the
/// sequential mode the batch is one step); None y.
enum class VisualNorm { Scale, TokenRms, BatchStd, None };

/// FramesText: frames, then all text, so that no text reaches the gaze. PromptFramesAnswer: the
/// prompt stands first and steers it.
enum class SequenceOrder { FramesText, PromptFramesAnswer };

/// The query of a clip's first frame: learned, the same for all; or made like all others from the
/// state before its token, which a prompt that stands first has.
enum class FirstQuery { Learned, Prompt };

enum class HeadKind { Film, Mlp, CrossAttention };

/// Predicts the next latent [4, height, width] from a state and the latent before it.
struct HeadSettings {
    HeadKind kind = HeadKind::Film;
    Index hidden =
        512; ///< Film: of the map from the state; Mlp: a quarter of its two hidden layers
    std::vector<Index> widths = {4, 64, 128, 256}; ///< channels; the decoder goes back through them
    Index height = 32, width = 32;
};

struct ModelSettings {
    Variant variant = Variant::Captions;
    DinoConfig vit;
    QuerySettings query;
    int staticQueries = 1; ///< of the coarse look; the slots of a clip take them in turn
    LlamaConfig llm;
    VisualNorm norm = VisualNorm::Scale;
    double visualScale = 0.14;
    SequenceOrder order = SequenceOrder::FramesText;
    FirstQuery firstQuery = FirstQuery::Learned;
    HeadSettings head; ///< not for Captions
    bool freezesVit = false, freezesLlm = false;
    bool decaysAll = false; ///< biases, norms, scales, tokens and tables too, as the original did
    double weightDecay = 0.01;
    Savings savings;
    /// Blocks of the tower keep their inputs alone and are run again in backward().
    bool recomputesVit = false, recomputesLlm = false;
    /// As the first run was: mode tokens of deviation 1, the text before them a row of zeros, no
    /// learned tokens for text. With query settings and norm that fit (section 17).
    bool seedAsRun = false;

    bool hasText() const { return variant != Variant::Latents; }
    bool hasLatents() const { return variant != Variant::Captions; }
};

/// "mini" and "tiny" (patch 8, positions of their own grid, frameSize / 8), "dinov2-small",
/// "dinov2-base", "dinov2-with-registers-small", "dinov2-with-registers-base". Nothing for another
/// name.
std::optional<DinoConfig> knownVit(const std::string& name, Index frameSize);
/// "mini", "tiny" (vocabulary 512), "smollm2-135m", "smollm2-360m", "smollm2-1.7b", each with or
/// without
/// "-instruct". Nothing for another name.
std::optional<LlamaConfig> knownLlm(const std::string& name);

/// Extents from the config.json of a folder in the layout of Hugging Face. Throws InputError that
/// names the key: also for what the towers do not do (SwiGLU, other activations than erf-GELU).
DinoConfig vitOfFolder(const std::filesystem::path& folder);
LlamaConfig llmOfFolder(const std::filesystem::path& folder);

} // namespace vergence::fvlm
