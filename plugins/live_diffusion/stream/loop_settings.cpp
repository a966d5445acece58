#include "plugins/live_diffusion/stream/loop_settings.h"

#include "core/base/error.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

namespace {

bool isShare(double value)
{
    return value >= 0 && value <= 1;
}

} // namespace

void check(const LoopSettings& settings)
{
    const auto& s = settings;
    expects(s.steps >= 1 && s.steps <= 64, "loop settings: 1 to 64 steps");
    expects(s.strength > 0 && s.strength <= 1, "loop settings: a strength above 0, up to 1");
    expects(isShare(s.eta), "loop settings: eta of 0 to 1");
    expects(isShare(s.freshness), "loop settings: freshness of the noise of 0 to 1");
    expects(s.historyNoise >= 0 && s.historyNoise <= kMostHistoryNoise,
            "loop settings: history noise of 0 to 0.7");
    expects(isShare(s.blend), "loop settings: a blend of 0 to 1");
    expects(s.memoryStride >= 1, "loop settings: a memory stride of at least 1");
    expects(s.cutCosine >= -1 && s.cutCosine <= 1,
            "loop settings: a cut below a cosine of −1 to 1");
    expects(isShare(s.driftGuard), "loop settings: a drift guard of 0 to 1");
    expects(s.similarity >= 0 && s.similarity < 1, "loop settings: a similarity of 0 to below 1");
    expects(s.guidance.gamma >= 0 && s.guidance.gamma <= 100,
            "loop settings: a guidance of 0 to 100");
    expects(isShare(s.guidance.delta), "loop settings: a share of the negative of 0 to 1");
}

int stepsOf(const LoopSettings& settings)
{
    return settings.sampler == SamplerKind::Turbo ? 1 : settings.steps;
}

Sampler samplerOf(const LoopSettings& settings)
{
    SamplerSettings result;
    result.kind = settings.sampler;
    result.prediction = settings.prediction;
    result.steps = stepsOf(settings);
    result.strength = settings.strength;
    result.eta = settings.sampler == SamplerKind::Ddim ? settings.eta : 0;
    result.clampsClean = settings.clampsEstimate;
    return {NoiseSchedule(settings.curve, settings.zeroTerminalSnr), result};
}

} // namespace vergence::live
