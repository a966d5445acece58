#include "plugins/live_diffusion/session/settings.h"

#include <algorithm>

#include "core/compute/device.h"
#include "core/config/schema.h"

namespace vergence::live {

namespace {

SceneKind sceneKind(FilmKind film)
{
    switch (film) {
    case FilmKind::Cuts:
        return SceneKind::Cuts;
    case FilmKind::Static:
        return SceneKind::StaticNoise;
    case FilmKind::Interference:
        return SceneKind::Interference;
    case FilmKind::Checker:
        return SceneKind::Checker;
    default:
        return SceneKind::Orbits;
    }
}

SourceKind sourceKind(FilmKind film)
{
    switch (film) {
    case FilmKind::Images:
        return SourceKind::Images;
    case FilmKind::Video:
        return SourceKind::Video;
    case FilmKind::Camera:
        return SourceKind::Camera;
    default:
        return SourceKind::Scene;
    }
}

Precision fastestPrecision(const Device& device)
{
    const bool hasHalf = !device.isCpu() && precisionChoice(device, Precision::Fp16).isAvailable;
    return hasHalf ? Precision::Fp16 : Precision::Fp32;
}

} // namespace

LoopSettings loopSettings(const LiveDiffusionConfig& config)
{
    LoopSettings loop = config.loop;
    loop.steps = stepsOf(loop);
    loop.seed = static_cast<std::uint32_t>(config.seed);
    return loop;
}

Switches switchesOf(const LiveDiffusionConfig& config, const Device& device,
                    std::vector<std::string>* changes)
{
    Switches wanted = config.switches;
    wanted.precision = config.precision.value_or(fastestPrecision(device));
    wanted.graph = wanted.graph && !device.isCpu();
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
        config.network == NetworkKind::Unet &&
        (config.weights == WeightsFrom::Training || config.has(PartKind::Distill));
    return {sceneKind(config.source), config.frameSize, config.frameSize,
            static_cast<std::uint32_t>(config.seed) + (isLearnt ? kHeldOutFilms : 0)};
}

SourceSettings sourceSettings(const LiveDiffusionConfig& config)
{
    SourceSettings source;
    source.kind = sourceKind(config.source);
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
    live.waiting = config.waiting;
    live.play = config.play;
    live.play.isPaced = config.play.isPaced || config.source == FilmKind::Camera;
    live.deadline = config.deadline;
    live.deadline.budget = config.budget / 1000;
    return live;
}

TrainSettings trainSettings(const LiveDiffusionConfig& config)
{
    TrainSettings train = config.train;
    train.samples.prediction = config.loop.prediction;
    train.samples.curve = config.loop.curve;
    train.samples.zeroTerminalSnr = config.loop.zeroTerminalSnr;
    train.samples.startStrength = config.loop.strength;
    train.samples.seed = static_cast<std::uint32_t>(config.seed);
    train.updates = config.trainUpdates;
    train.warmup = static_cast<Index>(config.warmup);
    return train;
}

} // namespace vergence::live
