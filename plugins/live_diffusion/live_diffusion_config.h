#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vergence {
class Config;
class ConfigSchema;
} // namespace vergence

namespace vergence::live {

/// Every parameter of the lab with its default. Specification, sections 3 to 9 and 13 to 15.
struct LiveDiffusionConfig {
    std::uint64_t seed = 1;
    /// What the run does, one after the other: train, distill, stream, ab, profile, drift, onnx.
    std::vector<std::string> parts = {"stream"};

    std::string network = "unet"; ///< unet, oracle, replica_a, replica_b
    std::string modelSize = "pico";
    int frameSize = 64; ///< px
    bool highQuality = false;
    bool attentionLevel0 = false, windowAttention = false, misaligned = false;
    std::string weights = "shipped"; ///< shipped, bench, file, trained
    std::filesystem::path weightsFile;

    std::string source = "orbits"; ///< a scene, images, video, camera
    std::filesystem::path path;    ///< folder, video or device
    double fps = 25;
    bool paced = false, loop = true;
    double speed = 1;

    std::string mode = "restyle";
    std::string curve = "cosine";
    bool zeroTerminalSnr = false;
    std::string prediction = "v";
    std::string sampler = "ddim";
    int steps = 2;
    double strength = 0.6, eta = 0;
    bool clampEstimate = true;
    std::string start = "input", noise = "fixed";
    double freshness = 0.3;
    std::string guidance = "none";
    double gamma = 1, delta = 1;

    bool history = true, memory = true, flushOnCut = false;
    double historyNoise = 0.05, blend = 1, cutCosine = 0.5, driftGuard = 0;
    int memoryStride = 4;
    bool streamBatch = false, filterSimilar = false;
    double similarity = 0.98;

    bool deadlineKeeper = false;
    double budget = 40; ///< ms
    std::string waiting = "every";

    std::string precision = "auto", layout = "nhwc", attention = "flash";
    bool fusion = true, tuned = true, graph = true, collapsedUpsampling = true;
    int channelRounding = 8;

    int streamFrames = 250;
    double streamSeconds = 0; ///< at most; 0: no limit

    int trainUpdates = 2'000, batch = 8, trainClips = 64;
    double trainSeconds = 0;
    double learningRate = 2e-4;
    double warmup = 500; ///< updates
    double ema = 0.999;
    double rolloutShare = 0.2;      ///< last part of the training in which the model feeds itself
    std::string trainSize = "same"; ///< or nano, pico, …
    int sampleEvery = 250;          ///< updates between pictures of held-out clips

    int distillUpdates = 500;

    int abFrames = 40;
    double abSeconds = 0;

    int driftFrames = 500;
    bool driftGrid = true;

    int onnxOpset = 17;
    std::string onnxPrecision = "fp32";
    bool onnxFrame = false;

    std::string exportClip = "gif"; ///< none, gif, png, mp4
    bool exportSideBySide = true, exportOverlay = true;

    bool has(const std::string& part) const;
};

ConfigSchema liveDiffusionSchema();
LiveDiffusionConfig readLiveDiffusionConfig(const Config& config);

/// Names that `parts` may hold, in the order in which they are usually run.
const std::vector<std::string>& partNames();

} // namespace vergence::live
