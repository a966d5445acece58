#include "tests/support/chaos/chaos_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <thread>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace vergence::chaos {

namespace {

constexpr int kSide = 32; // px of the picture

void sleepMs(double milliseconds)
{
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

void computeFor(double milliseconds)
{
    const double end = steadySeconds() + milliseconds * 1e-3;
    volatile double sink = 1;
    while (steadySeconds() < end)
        sink = std::sqrt(sink + 1);
}

/// Waits in pieces, so that a stop is heard; false where it was.
bool waitUnlessStopped(const RunContext& context, double milliseconds)
{
    constexpr double kPiece = 50;
    for (; milliseconds > 0 && !context.stopRequested(); milliseconds -= kPiece)
        sleepMs(std::min(milliseconds, kPiece));
    return !context.stopRequested();
}

} // namespace

void ChaosRun::prepare(RunContext& context)
{
    context.phase(1, 1, "stirring");
    waitUnlessStopped(context, static_cast<double>(m_config.prepareMs));
    ViewControl level;
    level.id = "level";
    level.title = "Level";
    level.minimum = {0};
    level.maximum = {1};
    level.value = {m_level};
    context.declareControls({level});
    if (m_config.scene)
        context.declareStreams({{"scene", "Scene", StreamKind::Splats, "Spheres on a floor.", ""}});
}

StepOutcome ChaosRun::step(RunContext& context)
{
    if (!m_isContinued || !m_config.onlyOnce) {
        misbehave(context);
        if (context.step() == m_config.waitAt) {
            while (waitUnlessStopped(context, 1000)) {
            }
            return StepOutcome::Interrupted;
        }
    }
    flood(context);
    if (m_config.busy)
        computeFor(m_config.stepMs);
    else if (m_config.stepMs > 100 && !waitUnlessStopped(context, m_config.stepMs))
        return StepOutcome::Interrupted;
    else if (m_config.stepMs <= 100)
        sleepMs(m_config.stepMs);
    const double rate = context.config().get<double>("rate");
    const auto index = static_cast<std::uint64_t>(context.step());
    m_state = 0.9 * m_state + 0.1 * rate * context.rng(0).uniform(index);
    context.record("train/loss", m_state);
    if (context.framesDue())
        draw(context);
    return context.step() + 1 < m_config.steps ? StepOutcome::Continue : StepOutcome::Done;
}

void ChaosRun::misbehave(RunContext& context)
{
    const std::int64_t step = context.step();
    if (step == m_config.segvAt) {
        volatile int* nowhere = nullptr;
        *nowhere = 1;
    }
    if (step == m_config.abortAt)
        std::abort();
    if (step == m_config.throwAt)
        throw Error(fmt::format("Chaos was told to fail at step {}.", step),
                    static_cast<ExitCode>(m_config.exitCode));
    if (step == m_config.badAllocAt)
        throw std::bad_alloc();
    if (step == m_config.nanAt) {
        context.record("train/loss", std::numeric_limits<double>::quiet_NaN());
        throw NumericsError(
            fmt::format("train/loss is not finite at step {}. Lower the rate.", step));
    }
    while (step == m_config.hangAt)
        sleepMs(1000);
    if (m_config.leakMib > 0)
        m_leaks.emplace_back(static_cast<std::size_t>(m_config.leakMib) << 20, 'x');
}

void ChaosRun::flood(RunContext& context)
{
    if (m_config.flood <= 0)
        return;
    const double now = steadySeconds();
    if (m_floodStart < 0)
        m_floodStart = now;
    const auto due = static_cast<std::int64_t>((now - m_floodStart) * m_config.flood);
    for (; m_floodLines < due; ++m_floodLines)
        log("chaos").info("line {} of the flood at step {}", m_floodLines, context.step());
}

void ChaosRun::save(RunContext&, Checkpoint& checkpoint)
{
    sleepMs(static_cast<double>(m_config.saveMs));
    checkpoint.tensors.push_back(HostTensor::from<double>("state", {1}, std::array{m_state}));
    if (m_config.checkpointMib > 0) {
        const std::vector<float> padding(
            (static_cast<std::size_t>(m_config.checkpointMib) << 20) / sizeof(float), 0.5f);
        checkpoint.tensors.push_back(
            HostTensor::from<float>("padding", {static_cast<Index>(padding.size())}, padding));
    }
}

void ChaosRun::load(RunContext&, const Checkpoint& checkpoint)
{
    m_state = checkpoint.tensor("state").as<double>()[0];
    m_isContinued = true;
}

void ChaosRun::finish(RunContext& context)
{
    waitUnlessStopped(context, static_cast<double>(m_config.finishMs));
    context.artifacts().writeText("summary.txt", fmt::format("loss {:.17g}\n", m_state), "summary",
                                  "Summary");
}

void ChaosRun::view(RunContext& context, const ViewInput& input)
{
    m_level = input.scalar("level").value_or(m_level);
    m_scene.take(input);
    draw(context);
}

void ChaosRun::draw(RunContext& context)
{
    std::array<float, kSide * kSide> pixels{};
    for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
            const double ramp = static_cast<double>(x + y) / (2 * (kSide - 1));
            pixels[static_cast<std::size_t>(y * kSide + x)] =
                static_cast<float>(m_level * ramp + 0.1 * m_state);
        }
    }
    context.frames().publishLinear("picture", pixels, kSide, kSide, 1, context.step());
    if (m_config.scene)
        drawScene(context);
}

void ChaosRun::drawScene(RunContext& context)
{
    Frame frame = m_scene.draw("scene");
    frame.info.step = context.step();
    context.frames().publish(std::move(frame.info), frame.pixels);
}

} // namespace vergence::chaos
