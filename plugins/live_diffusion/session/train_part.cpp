#include "plugins/live_diffusion/session/train_part.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/host_tensors.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/run/publish.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/pixel_blocks.h"
#include "plugins/live_diffusion/model/stop_scope.h"
#include "plugins/live_diffusion/quality/frame_quality.h"
#include "plugins/live_diffusion/session/shown.h"
#include "plugins/live_diffusion/session/strip_state.h"
#include "plugins/live_diffusion/stream/frame_grid.h"

namespace vergence::live {

namespace {

constexpr Index kSampledFrames = 3; ///< pictures of the strip
constexpr Index kSampleGap = 8;     ///< frames from one to the next
constexpr double kLossDecay = 0.98;

} // namespace

TrainPart::TrainPart(Networks& networks) : m_networks(networks) {}
TrainPart::~TrainPart() = default;

void TrainPart::begin(RunContext& context)
{
    const LiveDiffusionConfig& config = m_networks.config();
    m_unet = trainedUnet(config);
    const int side = static_cast<int>(m_unet.frameSize());
    m_pairs = std::make_unique<ScenePairs>(
        SceneSettings{SceneKind::Orbits, side, side, static_cast<std::uint32_t>(config.seed)},
        config.trainClips);
    ParameterSettings parameters;
    parameters.trains = true;
    if (const Switches switches = m_networks.switches(); switches.precision == Precision::Fp16)
        parameters.compute = DType::F16;
    else if (switches.precision == Precision::Bf16)
        parameters.compute = DType::BF16;
    m_network =
        std::make_unique<TapeNetwork>(context.stream(), context.device(), m_unet, parameters);
    m_network->initialise(context.stream(), Start::Training, config.seed);
    m_trainer =
        std::make_unique<Trainer>(context.stream(), *m_network, *m_pairs, trainSettings(config));
}

bool TrainPart::isOver() const
{
    const double limit = m_networks.config().trainSeconds;
    return m_trainer->isDone() || (limit > 0 && m_seconds >= limit);
}

bool TrainPart::advance(RunContext& context)
{
    if (isSampleDue())
        sample(context); // before anything is learnt, and what a stop has left out
    if (isOver())
        return false; // a run that was stopped at the very end
    const double started = steadySeconds();
    const TrainRecord record = m_trainer->step(context.stream());
    m_seconds += steadySeconds() - started;
    if (!record.isSkipped) {
        m_meanLoss = m_firstLoss == 0 ? record.loss
                                      : kLossDecay * m_meanLoss + (1 - kLossDecay) * record.loss;
        if (m_firstLoss == 0)
            m_firstLoss = record.loss;
    }
    if (context.metricsDue()) {
        context.record("loss", record.loss);
        context.record("loss_mean", m_meanLoss);
        context.record("loss_blend", record.blend);
        if (std::isfinite(record.gradientNorm))
            context.record("grad_norm", record.gradientNorm);
        context.record("learning_rate", record.rate);
        if (record.lossScale != 1)
            context.record("loss_scale", record.lossScale);
        context.record("updates_per_s", static_cast<double>(m_trainer->updates()) / m_seconds);
    }
    if (isSampleDue())
        sampleUnlessStopped(context);
    return !isOver();
}

bool TrainPart::isSampleDue() const
{
    const Index updates = m_trainer->updates();
    return m_sampledAt != updates && (isOver() || updates % m_networks.config().sampleEvery == 0);
}

/// The update before it counts, whatever becomes of the pictures.
void TrainPart::sampleUnlessStopped(RunContext& context)
{
    try {
        sample(context);
    } catch (const Stopped&) { // the next step, after a resume, makes them
    }
}

std::int64_t TrainPart::stepsLeft() const
{
    return m_trainer == nullptr ? m_networks.config().trainUpdates
                                : m_trainer->settings().updates - m_trainer->updates();
}

std::shared_ptr<const HostWeights> TrainPart::averaged(RunContext& context)
{
    const Trainer::AverageScope scope(*m_trainer, context.stream());
    auto weights = hostWeights(context.stream(), m_network->parameters());
    context.stream().synchronize();
    return weights;
}

void TrainPart::sample(RunContext& context)
{
    const int side = static_cast<int>(m_unet.frameSize());
    const LoopSettings loop = m_networks.loop();
    UnetNetworkSettings settings{m_unet, m_networks.switches(), FrameLoop::rowsNeeded(loop)};
    settings.switches.tuned = false; // a few frames do not pay for it, and rounding stays the same
    FrameLoop frames(
        std::make_shared<UnetNetwork>(m_networks.device(), averaged(context), settings), loop);
    const auto scene =
        makeScene({SceneKind::Orbits, side, side,
                   kHeldOutFilms + static_cast<std::uint32_t>(m_networks.config().seed)});
    const auto host = makeCpuDevice(1);
    const auto stream = host->createStream();
    std::vector<float> input(static_cast<std::size_t>(scene->values())), target(input);
    // Planes of the whole frame are a network's of patch 1.
    const FrameGrid grid({1, side, side});
    const auto pictureOf = [&](std::span<const float> planes) {
        Image picture;
        grid.toPicture(planes, picture);
        return picture;
    };
    TrainingStrip::Moment moment{m_trainer->updates(), {}};
    TrainingStrip first; // its inputs and targets
    double sum = 0;
    const Index last = (kSampledFrames - 1) * kSampleGap;
    for (Index t = 0; t <= last; ++t) {
        scene->draw(*stream, t, input, target);
        const Image picture = pictureOf(input);
        frames.process(picture);
        std::vector<float> output(target.size());
        pixelShuffle(frames.values(), side, m_unet.patch, output);
        sum += psnr(output, target);
        if (t % kSampleGap != 0)
            continue;
        moment.outputs.push_back(frames.output());
        first.inputs.push_back(picture);
        first.targets.push_back(pictureOf(target));
    }
    m_sampledAt = moment.step;
    m_strip.inputs = std::move(first.inputs); // the same each time
    m_strip.targets = std::move(first.targets);
    m_strip.moments.push_back(std::move(moment));
    m_strip.note = fmt::format("loss {:.3g} to {:.3g}", m_firstLoss, m_meanLoss);
    context.record("held_out_psnr", sum / static_cast<double>(last + 1));
    publishImage(context, "training", trainingStrip(m_strip));
}

void TrainPart::view(RunContext& context, const ViewInput&)
{
    if (!m_strip.moments.empty())
        publishImage(context, "training", trainingStrip(m_strip));
}

void TrainPart::save(RunContext& context, Checkpoint& checkpoint)
{
    for (const auto& [name, tensor] : m_trainer->tensors())
        checkpoint.tensors.push_back(toHostTensor(context.stream(), name, tensor));
    checkpoint.state["trainer"] = m_trainer->state();
    checkpoint.state["train_seconds"] = m_seconds;
    checkpoint.state["train_losses"] = {m_firstLoss, m_meanLoss};
    checkpoint.state["train_sampled"] = m_sampledAt;
    saveStrip(m_strip, checkpoint);
}

void TrainPart::load(RunContext& context, const Checkpoint& checkpoint)
{
    try {
        NamedTensors saved;
        for (const HostTensor& tensor : checkpoint.tensors)
            if (!Shown::isTensor(tensor.name) && !isStripTensor(tensor.name))
                saved.emplace_back(tensor.name,
                                   Tensor::wrap(makeCpuDevice(1),
                                                const_cast<std::byte*>(tensor.bytes.data()),
                                                tensor.shape, tensor.dtype));
        m_trainer->restore(context.stream(), checkpoint.state.at("trainer"), saved);
        context.stream().synchronize();
        m_seconds = checkpoint.state.at("train_seconds").get<double>();
        m_firstLoss = checkpoint.state.at("train_losses").at(0).get<double>();
        m_meanLoss = checkpoint.state.at("train_losses").at(1).get<double>();
        m_sampledAt = checkpoint.state.value("train_sampled", m_trainer->updates());
        m_strip = loadStrip(checkpoint);
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
    }
}

void TrainPart::finish(RunContext& context)
{
    if (m_trainer == nullptr || m_trainer->updates() == 0)
        return;
    ArtifactStore& artifacts = context.artifacts();
    {
        const Trainer::AverageScope scope(*m_trainer, context.stream());
        ModelDescription description = m_networks.description();
        description.settings = m_unet;
        description.notes["updates"] = std::to_string(m_trainer->updates());
        description.notes["seed"] = std::to_string(m_networks.config().seed);
        saveModel(context.stream(), m_network->parameters(), description,
                  artifacts.pathFor(kTrainedWeights));
    }
    artifacts.add(kTrainedWeights, "weights", "Average of the weights");
    artifacts.add("weights/model.json", "weights", "What the weights are of");
    if (!m_strip.moments.empty())
        artifacts.writePng("training/strip.png", trainingStrip(m_strip), "picture",
                           "A film that was not learnt from, over the training");
    context.note("loss", {{"first", m_firstLoss}, {"last", m_meanLoss}});
    if (m_networks.config().weights == WeightsFrom::Training)
        m_networks.setWeights(averaged(context), m_unet, false);
    m_trainer = nullptr; // moments and gradients are not needed any more
    m_network = nullptr;
}

} // namespace vergence::live
