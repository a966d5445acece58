#include "plugins/live_diffusion/session/settings.h"

#include <algorithm>

#include "core/compute/device.h"
#include "core/config/schema.h"

namespace vergence::live {

namespace {

UnetSettings unetOfSize(const LiveDiffusionConfig& config, const std::string& size)
{
    UnetSettings settings = unetSettings(sizeOfName(size), config.frameSize, config.highQuality);
    settings.channelRounding = std::max(1, config.channelRounding);
    settings.hasAttentionAtLevel0 = config.attentionLevel0;
    settings.hasWindowAttention = config.windowAttention;
    settings.isMisaligned = config.misaligned;
    return settings;
}

BetaCurve curveOf(const std::string& name)
{
    if (name == "linear")
        return BetaCurve::Linear;
    return name == "scaled_linear" ? BetaCurve::ScaledLinear : BetaCurve::Cosine;
}

SceneKind sceneKind(const std::string& name)
{
    if (name == "cuts")
        return SceneKind::Cuts;
    if (name == "static")
        return SceneKind::StaticNoise;
    if (name == "interference")
        return SceneKind::Interference;
    return name == "checker" ? SceneKind::Checker : SceneKind::Orbits;
}

SamplerKind samplerOf(const std::string& name)
{
    if (name == "dpm")
        return SamplerKind::DpmSolver2M;
    if (name == "lcm")
        return SamplerKind::Consistency;
    return name == "turbo" ? SamplerKind::Turbo : SamplerKind::Ddim;
}

GuidanceKind guidanceOf(const std::string& name)
{
    if (name == "full")
        return GuidanceKind::Full;
    if (name == "self_negative")
        return GuidanceKind::SelfNegative;
    return name == "onetime_negative" ? GuidanceKind::OnetimeNegative : GuidanceKind::None;
}

Precision precisionOf(const std::string& name, const Device& device)
{
    if (name == "tf32")
        return Precision::Tf32;
    const bool hasFast = !device.isCpu() && precisionChoice(device, Precision::Fp16).isAvailable;
    if (name == "fp16" || (name == "auto" && hasFast))
        return Precision::Fp16;
    return name == "bf16" ? Precision::Bf16 : Precision::Fp32;
}

} // namespace

UnetSettings unetSettings(const LiveDiffusionConfig& config)
{
    return unetOfSize(config, config.modelSize);
}

UnetSettings trainedUnet(const LiveDiffusionConfig& config)
{
    return unetOfSize(config, config.trainSize == "same" ? config.modelSize : config.trainSize);
}

LoopSettings loopSettings(const LiveDiffusionConfig& config)
{
    LoopSettings loop;
    loop.mode = config.mode == "dream"     ? StreamMode::Dream
                : config.mode == "restore" ? StreamMode::Restore
                                           : StreamMode::Restyle;
    loop.curve = curveOf(config.curve);
    loop.zeroTerminalSnr = config.zeroTerminalSnr;
    loop.prediction = config.prediction == "v" ? Prediction::V : Prediction::Epsilon;
    loop.sampler = samplerOf(config.sampler);
    loop.steps = loop.sampler == SamplerKind::Turbo ? 1 : config.steps;
    loop.strength = config.strength;
    loop.eta = config.eta;
    loop.clampsEstimate = config.clampEstimate;
    loop.start = config.start == "noise"      ? StartFrom::Noise
                 : config.start == "previous" ? StartFrom::Previous
                                              : StartFrom::Input;
    loop.noise = config.noise == "fresh"        ? StartNoise::Fresh
                 : config.noise == "correlated" ? StartNoise::Correlated
                                                : StartNoise::Fixed;
    loop.freshness = config.freshness;
    loop.usesHistory = config.history;
    loop.historyNoise = config.historyNoise;
    loop.blend = config.blend;
    loop.usesMemory = config.memory;
    loop.memoryStride = config.memoryStride;
    loop.cutCosine = config.cutCosine;
    loop.flushesMemoryOnCut = config.flushOnCut;
    loop.guidance = {guidanceOf(config.guidance), config.gamma, config.delta};
    loop.driftGuard = config.driftGuard;
    loop.isStreamBatch = config.streamBatch;
    loop.filtersSimilar = config.filterSimilar;
    loop.similarity = config.similarity;
    loop.seed = static_cast<std::uint32_t>(config.seed);
    return loop;
}

Switches switchesOf(const LiveDiffusionConfig& config, const Device& device,
                    std::vector<std::string>* changes)
{
    Switches wanted;
    wanted.precision = precisionOf(config.precision, device);
    wanted.layout = config.layout == "nchw"      ? Layout::Nchw
                    : config.layout == "blocked" ? Layout::Blocked
                                                 : Layout::Nhwc;
    wanted.attention = config.attention == "naive" ? AttentionKind::Naive : AttentionKind::Flash;
    wanted.fusion = config.fusion;
    wanted.tuned = config.tuned;
    wanted.channelRounding = config.channelRounding;
    wanted.graph = config.graph && !device.isCpu();
    wanted.collapsedUpsampling = config.collapsedUpsampling;
    return availableSwitches(device, wanted, changes);
}

std::vector<ClosedChoice> closedChoices(const Device& device)
{
    std::vector<ClosedChoice> closed;
    for (const SwitchChoice& choice : switchChoices(device))
        if (!choice.isAvailable)
            closed.push_back(
                {choice.key, choice.value == "on" ? "true" : choice.value, choice.reason});
    return closed;
}

std::vector<ClosedChoice> closedAfterStream()
{
    static const ConfigSchema schema = liveDiffusionSchema();
    std::vector<ClosedChoice> closed;
    for (const Field& field : schema.fields())
        if (field.isLive)
            closed.push_back({field.key, "", "The stream is over; this counts for a new run."});
    return closed;
}

SceneSettings sceneSettings(const LiveDiffusionConfig& config)
{
    const bool isLearnt =
        config.network == "unet" && (config.weights == "trained" || config.has("distill"));
    return {sceneKind(config.source), config.frameSize, config.frameSize,
            static_cast<std::uint32_t>(config.seed) + (isLearnt ? kHeldOutFilms : 0)};
}

SourceSettings sourceSettings(const LiveDiffusionConfig& config)
{
    SourceSettings source;
    source.kind = config.source == "images"   ? SourceKind::Images
                  : config.source == "video"  ? SourceKind::Video
                  : config.source == "camera" ? SourceKind::Camera
                                              : SourceKind::Scene;
    source.scene = sceneSettings(config);
    source.fps = config.fps;
    source.path = config.path;
    if (source.kind == SourceKind::Camera)
        source.camera.device = config.path.string();
    return source;
}

LiveSettings liveSettings(const LiveDiffusionConfig& config)
{
    LiveSettings live;
    live.waiting = config.waiting == "latest" ? Waiting::LatestWins
                   : config.waiting == "fifo" ? Waiting::FifoOfTwo
                                              : Waiting::EveryFrame;
    live.play.loops = config.loop;
    live.play.isPaced = config.paced || config.source == "camera";
    live.play.speed = config.speed;
    live.deadline.isOn = config.deadlineKeeper;
    live.deadline.budget = config.budget / 1000;
    return live;
}

TrainSettings trainSettings(const LiveDiffusionConfig& config)
{
    TrainSettings train;
    train.samples.prediction = config.prediction == "v" ? Prediction::V : Prediction::Epsilon;
    train.samples.curve = curveOf(config.curve);
    train.samples.zeroTerminalSnr = config.zeroTerminalSnr;
    train.samples.batch = config.batch;
    train.samples.startStrength = config.strength;
    train.samples.seed = static_cast<std::uint32_t>(config.seed);
    train.updates = config.trainUpdates;
    train.rate = config.learningRate;
    train.warmup = static_cast<Index>(config.warmup);
    train.average = config.ema;
    train.rolloutShare = config.rolloutShare;
    return train;
}

} // namespace vergence::live
