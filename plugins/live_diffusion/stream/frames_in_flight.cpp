#include "plugins/live_diffusion/stream/frames_in_flight.h"

#include <atomic>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/compute/stream.h"
#include "plugins/live_diffusion/stream/frame_loop.h"
#include "plugins/live_diffusion/stream/pieces.h"

namespace vergence::live {

namespace {

/// Values that are worth a thread.
constexpr Index kGrain = 1 << 14;

bool areFinite(std::span<const float> values)
{
    constexpr std::uint32_t kExponent = 0x7F800000u;
    std::uint32_t bad = 0;
    for (const float value : values)
        bad |= (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent;
    return bad == 0;
}

} // namespace

FrameStepper::FrameStepper(FrameNetwork& network, const LoopSettings& settings, Device& cpu)
    : m_network(&network),
      m_settings(settings),
      m_sampler(samplerOf(settings)),
      m_noise(settings.seed),
      m_stream(cpu.createStream()),
      m_values(static_cast<std::size_t>(network.shape().values())),
      m_cells(static_cast<std::size_t>(network.shape().cells()))
{
    const int needed = FrameLoop::rowsNeeded(settings);
    expects(needed <= network.maxRows(),
            fmt::format("frame loop: these settings need {} batch rows, the network was prepared "
                        "for {}",
                        needed, network.maxRows()));
    const auto most = static_cast<std::size_t>(needed);
    m_rows.reserve(most);
    m_negativeOf.resize(most);
    m_predictions.resize(most * m_values);
    m_logits.resize(most * m_cells);
    m_startNoise.resize(m_values);
    m_stepNoise.resize(m_values);
}

std::span<float> FrameStepper::prediction(std::size_t row)
{
    return std::span(m_predictions).subspan(row * m_values, m_values);
}

std::span<const float> FrameStepper::logits(std::size_t row) const
{
    return std::span(m_logits).subspan(row * m_cells, m_cells);
}

void FrameStepper::begin(FlyingFrame& frame, std::span<const float> init)
{
    if (m_settings.noise != StartNoise::Fixed || !m_hasFixedNoise)
        startNoise(*m_stream, m_noise, m_settings.noise, m_settings.freshness, frame.noise,
                   m_startNoise);
    m_hasFixedNoise = m_settings.noise == StartNoise::Fixed;
    for (auto* values : {&frame.x, &frame.clean, &frame.previousClean, &frame.reference})
        values->resize(m_values);
    m_sampler.begin(init, m_startNoise, frame.x);
    frame.step = 0;
    frame.isFinite = true;
}

bool FrameStepper::needsNegative(const FlyingFrame& frame) const
{
    if (!isGuided(m_settings.guidance))
        return false;
    const GuidanceKind kind = m_settings.guidance.kind;
    return kind == GuidanceKind::Full || (kind == GuidanceKind::OnetimeNegative && frame.step == 0);
}

void FrameStepper::gatherRows(std::span<FlyingFrame* const> frames)
{
    m_rows.clear();
    for (const FlyingFrame* frame : frames) {
        EvalRow row;
        row.x = frame->x;
        row.input = frame->input;
        row.history = frame->history;
        row.timestep = m_sampler.times()[static_cast<std::size_t>(frame->step)];
        row.historyBucket = frame->bucket;
        row.seesMemory = m_settings.usesMemory;
        m_rows.push_back(row);
    }
    for (std::size_t i = 0; i < frames.size(); ++i) {
        m_negativeOf[i] = 0;
        if (!needsNegative(*frames[i]))
            continue;
        EvalRow row = m_rows[i];
        row.input = row.history = {};
        row.seesMemory = false;
        m_negativeOf[i] = m_rows.size();
        m_rows.push_back(row);
    }
}

void FrameStepper::guideFrame(FlyingFrame& frame, std::size_t row)
{
    const GuidanceSettings& guidance = m_settings.guidance;
    if (!isGuided(guidance))
        return;
    const double alpha = m_sampler.alpha(frame.step), sigma = m_sampler.sigma(frame.step);
    if (alpha <= 0) // pure noise says nothing of the picture: nothing to guide
        return;
    GuidanceStep<float> step{frame.x, prediction(row), frame.reference, alpha, sigma};
    if (guidance.kind == GuidanceKind::Full)
        step.negative = prediction(m_negativeOf[row]);
    else if (guidance.kind == GuidanceKind::OnetimeNegative && m_negativeOf[row] > 0)
        estimateOf<float>(m_settings.prediction, frame.x, prediction(m_negativeOf[row]), alpha,
                          sigma, frame.reference);
    guide(guidance, m_settings.prediction, step);
}

void FrameStepper::stepFrame(FlyingFrame& frame, std::size_t row)
{
    std::swap(frame.clean, frame.previousClean);
    const bool hasPrevious = m_sampler.usesPrevious(frame.step);
    const bool hasNoise = m_sampler.usesNoise(frame.step);
    if (hasNoise)
        m_noise.stepNormals(*m_stream, frame.noise, frame.step, m_stepNoise);
    const std::span<const float> predicted = prediction(row);
    std::atomic<bool> isFinite = frame.isFinite && areFinite(logits(row));
    const auto pieces = [&](Index first, Index last) {
        const auto at = static_cast<std::size_t>(first);
        const auto count = static_cast<std::size_t>(last - first);
        const auto part = [&](auto& values) { return std::span(values).subspan(at, count); };
        SamplerStep<float> step{
            part(frame.x), predicted.subspan(at, count), part(frame.clean), {}, {}};
        if (hasPrevious)
            step.previousClean = part(frame.previousClean);
        if (hasNoise)
            step.noise = part(m_stepNoise);
        m_sampler.step(frame.step, step);
        if (!areFinite(step.clean))
            isFinite = false;
    };
    inPieces(m_stream.get(), static_cast<Index>(m_values), kGrain, pieces);
    frame.isFinite = isFinite;
    ++frame.step;
}

FrameStepper::Cost FrameStepper::advance(std::span<FlyingFrame* const> frames)
{
    Cost cost;
    if (frames.empty())
        return cost;
    gatherRows(frames);
    const double start = steadySeconds();
    m_network->evaluate({m_rows}, {std::span(m_predictions).first(m_rows.size() * m_values),
                                   std::span(m_logits).first(m_rows.size() * m_cells)});
    const double evaluated = steadySeconds();
    for (std::size_t i = 0; i < frames.size(); ++i) {
        guideFrame(*frames[i], i);
        stepFrame(*frames[i], i);
    }
    cost.evaluations = static_cast<int>(m_rows.size());
    cost.networkSeconds = evaluated - start;
    cost.samplerSeconds = steadySeconds() - evaluated;
    return cost;
}

} // namespace vergence::live
