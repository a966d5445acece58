#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace vergence {
class Config;
class ConfigSchema;
} // namespace vergence

namespace vergence::fvlm {

/// Every parameter of the lab with its default. Specification, section 2.
struct FoveatedVlmConfig {
    std::uint64_t seed = 42;

    std::string variant = "B";                                       ///< A, B, joint, dpo
    std::string vit = "dinov2-small", llm = "smollm2-135m-instruct"; ///< names, or folders
    std::string weights = "random";                                  ///< random, hf_dir, checkpoint
    std::filesystem::path checkpoint; ///< file of weights to start from
    std::filesystem::path tokenizer;  ///< folder; empty: that of the language model, or the demo's
    std::string positionMode = "size";

    std::string queryMode = "deep";
    int queryDim = 384;
    double queryStd = 1;
    bool queryBias = false;
    double temperature = 1;
    int topk = 0;
    int refinements = 1;
    std::string firstQuery = "learned"; ///< or prompt
    std::string visualNorm = "scale";
    double visualScale = 0.14;
    bool asRun = false; ///< quirks of the first published run

    double lambdaCoarse = 0, lambdaRecon = 0.5, lambdaContrast = 0, entropyMargin = 0;
    bool weightRefinements = false;
    std::string textMask = "answer";
    double dpoBeta = 0.1;
    std::string headKind = "film";
    int headFilm = 512;
    std::vector<int> headWidths = {64, 128, 256};

    std::string order = "frames_text";

    std::filesystem::path clips;    ///< folder, shard or set of shards; empty: drawn
    std::filesystem::path captions; ///< JSONL; empty: beside the clips
    std::filesystem::path shards;   ///< where decoded clips go; empty: into the run's folder
    std::string task = "ask";
    int objects = 3, cells = 4;
    int clipCount = 0; ///< 0: as many as the run looks at
    int frames = 8, size = 224;
    std::string fit = "crop", sampling = "uniform_n";
    std::string latents = "patch_basis"; ///< patch_basis, vae, file
    std::filesystem::path latentsPath;   ///< folder of the encoder, or shard
    std::string dataMode = "auto";
    double holdOut = 0.05;
    double textOnly = 0;
    int textLimit = 512;
    std::int64_t framesPerBatch = 256, tokensPerBatch = 16'384;
    std::string systemMessage = "You describe what you see.";
    std::string prompt = "What happens in the video?";

    int batch = 8, gradAccum = 4;
    std::int64_t microSteps = 0, samples = 1'000'000; ///< exactly one is above 0
    double lrConnector = 1e-3, lrVit = 1e-5, lrLlm = 1e-5, lrTarget = 3e-5;
    std::string schedule = "cosine";
    double warmup = 0.03; ///< share of the updates; above 1: their count
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0.01, clip = 1;
    bool decayAll = false;
    bool freezeVit = false, freezeLlm = false;
    int staticQueries = 1; ///< of the coarse look; more than one in controls beside, no key
    std::vector<int> controlTokens = {1}; ///< visual tokens a frame of each control beside
    std::string control = "none";         ///< or coarse_only, beside
    std::string precision = "auto", recompute = "none";
    double ema = 0;
    double maxEpochs = 20;

    int evalEvery = 500, evalSamples = 1'000; ///< updates; samples
    int logEvery = 20;                        ///< micro-steps
    int captionClips = 8, captionTokens = 50;
    std::filesystem::path compareWith; ///< run of the matched control

    int gazeClips = 4; ///< whose attention is exported
    int gazeSize = 128;
    bool duplicateHead = false;

    bool isDrawn() const { return clips.empty(); }
    bool isGrid() const; ///< drawn clips are grids whose cells are asked for
    bool hasText() const { return variant != "A"; }
    bool hasLatents() const { return variant == "A" || variant == "joint"; }
    /// Micro-steps of the run, whichever of the two keys says so.
    std::int64_t totalMicroSteps() const;
};

ConfigSchema foveatedVlmSchema();
FoveatedVlmConfig readFoveatedVlmConfig(const Config& config);
/// By key, as TOML, what must not differ where a run goes on; for its checkpoints.
std::map<std::string, std::string> decisiveValues(const Config& config);

} // namespace vergence::fvlm
