#include "plugins/live_diffusion/stream/frame_numbers.h"

#include <cmath>

#include "plugins/live_diffusion/stream/frames_in_flight.h"

namespace vergence::live {

namespace {

void setNoise(const LoopSettings& settings, std::uint32_t frame, FrameNumbers& numbers)
{
    const std::uint64_t key = FrameNoise(settings.seed).key();
    numbers.ownNoise = {key, frame};
    numbers.startNoise = {key, settings.noise == StartNoise::Fresh ? frame : 0};
    if (settings.noise != StartNoise::Correlated)
        return;
    const double a = settings.freshness;
    numbers.startShare = static_cast<float>(std::sqrt(1 - a * a));
    numbers.ownShare = static_cast<float>(a);
}

void setPictures(const LoopSettings& settings, const FrameSituation& situation,
                 FrameNumbers& numbers)
{
    const bool followsLast = situation.hasLast && !situation.isReset;
    const bool startsFromLast =
        followsLast && (settings.start == StartFrom::Previous || situation.isDream);
    numbers.start = settings.start == StartFrom::Noise ? FramePicture::None
                    : startsFromLast                   ? FramePicture::Last
                                                       : FramePicture::Input;
    numbers.history = !settings.usesHistory ? FramePicture::None
                      : followsLast         ? FramePicture::Last
                                            : FramePicture::Input;
    numbers.reference = situation.isDream ? FramePicture::Last : FramePicture::Input;
    numbers.seesInput = !situation.isDream;
    numbers.isAlone = !followsLast;
}

} // namespace

FramePlan planOf(const LoopSettings& settings, const Sampler& sampler)
{
    FramePlan plan;
    plan.steps = sampler.steps();
    for (int step = 0; step < plan.steps; ++step)
        plan.noisySteps |= std::uint64_t{sampler.usesNoise(step)} << step;
    plan.mixesStart = settings.noise == StartNoise::Correlated;
    plan.clampsEstimate = settings.clampsEstimate;
    plan.prediction = settings.prediction;
    if (FrameStepper::isGuided(settings.guidance))
        plan.guidance = settings.guidance.kind;
    return plan;
}

FrameNumbers numbersOf(const LoopSettings& settings, const Sampler& sampler,
                       const FrameSituation& situation)
{
    FrameNumbers numbers;
    setNoise(settings, situation.noise, numbers);
    setPictures(settings, situation, numbers);
    numbers.signal = static_cast<float>(sampler.alpha(0));
    numbers.spread = static_cast<float>(sampler.sigma(0));
    const double s = settings.historyNoise;
    numbers.historyShare = static_cast<float>(std::sqrt(1 - s * s));
    numbers.historyNoise = static_cast<float>(s);
    numbers.blend = static_cast<float>(settings.blend);
    numbers.gamma = static_cast<float>(settings.guidance.gamma);
    numbers.delta = static_cast<float>(settings.guidance.delta);
    for (int step = 0; step < sampler.steps(); ++step) {
        FrameNumbers::Step& at = numbers.steps[step];
        at.sampler = sampler.coefficients(step);
        at.alpha = static_cast<float>(sampler.alpha(step));
        at.sigma = static_cast<float>(sampler.sigma(step));
        at.isGuided = sampler.alpha(step) > 0;
    }
    return numbers;
}

} // namespace vergence::live
