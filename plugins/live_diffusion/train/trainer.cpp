#include "plugins/live_diffusion/train/trainer.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/train/diffusion_loss.h"

namespace vergence::live {

namespace {

constexpr Index kMostSkips = 24; ///< in a row: from 2²⁴ the scale is 1 by then

// Draws of an update; the rows have theirs apart.
constexpr std::uint32_t kRolloutDraw = 0, kStepsDraw = 1;

double numberOf(Graph& graph, Value value, Stream& stream)
{
    if (!value)
        return 0;
    const Tensor& tensor = graph.tensor(value);
    return tensor.dtype() == DType::F64 ? tensor.toHost<double>(stream).front()
                                        : static_cast<double>(tensor.toHost<float>(stream).front());
}

} // namespace

Trainer::Trainer(Stream& stream, TapeNetwork& network, const PairSource& source,
                 const TrainSettings& settings)
    : m_network(network),
      m_settings(settings),
      m_maker(source, settings.samples, network.settings().grid, network.settings().patch),
      m_tape(stream, network),
      m_watch(kMostSkips)
{
    check(settings);
    ParameterSet& parameters = network.parameters();
    m_graph = std::make_unique<Graph>(stream, parameters.device(),
                                      Graph::Options{true, parameters.computeType()});
    m_adam = std::make_unique<Adam>(parameters, stream,
                                    AdamOptions{.beta1 = settings.beta1,
                                                .beta2 = settings.beta2,
                                                .epsilon = settings.epsilon,
                                                .clipNorm = settings.clipNorm});
    m_average = std::make_unique<MovingAverage>(parameters, stream, settings.average);
}

Trainer::~Trainer() = default;

bool Trainer::usesScale() const
{
    return m_network.parameters().computeType() == DType::F16;
}

TrainRecord Trainer::step(Stream& stream)
{
    expects(!isDone(), "Trainer: all updates are done");
    TrainRecord record;
    record.isRolledOut =
        m_maker.draw(m_updates, kRolloutDraw) < m_settings.rolloutChanceAt(m_updates);
    record.rate = m_settings.rateAt(m_updates);
    record.lossScale = usesScale() ? m_scaler.scale() : 1;
    const SampleBatch batch = nextBatch(record.isRolledOut);

    m_graph->reset();
    m_graph->setRandom(m_settings.samples.seed, static_cast<std::uint64_t>(m_updates));
    m_network.parameters().zeroGradients(stream);
    const DiffusionLoss loss =
        diffusionLoss(*m_graph, m_network, batch, m_maker.schedule(), m_settings);
    m_graph->backward(loss.total, record.lossScale);
    record.loss = numberOf(*m_graph, loss.total, stream);
    record.prediction = numberOf(*m_graph, loss.prediction, stream);
    record.blend = numberOf(*m_graph, loss.blend, stream);
    if (!usesScale())
        expectFinite(record.loss, m_updates, "loss");
    applyGradients(stream, record);
    record.update = ++m_updates;
    return record;
}

void Trainer::applyGradients(Stream& stream, TrainRecord& record)
{
    ParameterSet& parameters = m_network.parameters();
    if (record.lossScale != 1)
        scale(stream, 1 / record.lossScale, parameters.gradients(), parameters.gradients());
    m_adam->setRates(stream, std::vector<double>(parameters.groups().size(), record.rate));
    m_adam->step(stream);
    record.gradientNorm = m_adam->gradientNorm(stream);
    record.isSkipped = !std::isfinite(record.gradientNorm);
    if (usesScale())
        m_scaler.update(!record.isSkipped);
    m_skipped += record.isSkipped ? 1 : 0;
    m_watch.check(m_updates + 1 - m_skipped, m_skipped, m_updates);
    if (!record.isSkipped)
        m_average->update(stream);
}

/// With a roll-out, history and memory are the model's own outputs of the frames just before,
/// made in one or two steps without gradients.
SampleBatch Trainer::nextBatch(bool isRolledOut)
{
    if (!isRolledOut)
        return m_maker.make(m_maker.rows(m_updates), m_updates);
    const Index rolled = m_settings.rolledFrames;
    const std::vector<SampleRow> rows = m_maker.rows(m_updates, rolled - 1);
    Index earliest = rolled - 1;
    for (const SampleRow& row : rows)
        earliest = std::min(earliest, row.frame);
    const Sampler sampler(m_maker.schedule(),
                          {.prediction = m_settings.samples.prediction,
                           .steps = m_maker.draw(m_updates, kStepsDraw) < 0.5 ? 1 : 2,
                           .strength = m_settings.samples.startStrength,
                           .clampsClean = true});
    OwnFrames own;
    std::vector<float> noise;
    for (Index back = earliest; back >= 1; --back) {
        const SampleBatch batch = m_maker.make(rows, m_updates, back, own);
        if (noise.empty())
            noise = m_maker.startNoise(m_updates);
        own[back] = m_tape.denoise(batch, sampler, 1, noise);
    }
    return m_maker.make(rows, m_updates, 0, own);
}

Trainer::AverageScope::AverageScope(Trainer& trainer, Stream& stream)
    : m_trainer(trainer),
      m_stream(stream)
{
    ParameterSet& parameters = trainer.m_network.parameters();
    m_values = parameters.values().clone(stream);
    stream.copy(parameters.values().data(), trainer.m_average->values().data(), m_values.bytes());
    parameters.refreshShadows(stream);
}

Trainer::AverageScope::~AverageScope()
{
    ParameterSet& parameters = m_trainer.m_network.parameters();
    m_stream.copy(parameters.values().data(), m_values.data(), m_values.bytes());
    parameters.refreshShadows(m_stream);
}

NamedTensors Trainer::tensors() const
{
    return trainerState(m_network.parameters(), m_adam.get(), m_average.get());
}

nlohmann::json Trainer::state() const
{
    return {{"updates", m_updates},
            {"skipped", m_skipped},
            {"loss_scale", m_scaler.scale()},
            {"clean_updates", m_scaler.clean()},
            {"seed", m_settings.samples.seed}};
}

void Trainer::restore(Stream& stream, const nlohmann::json& state, const NamedTensors& saved)
{
    try {
        const auto updates = state.at("updates").get<Index>();
        const auto skipped = state.at("skipped").get<Index>();
        const auto lossScale = state.at("loss_scale").get<double>();
        const auto clean = state.at("clean_updates").get<Index>();
        if (state.at("seed").get<std::uint32_t>() != m_settings.samples.seed)
            throw InputError("The saved training drew its samples by another seed.");
        restoreTrainerState(stream, tensors(), saved, m_network.parameters());
        m_scaler.restore(lossScale, clean);
        m_updates = updates;
        m_skipped = skipped;
    } catch (const nlohmann::json::exception& error) {
        throw InputError(std::string("The saved training's state cannot be read: ") + error.what());
    }
}

} // namespace vergence::live
