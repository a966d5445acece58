#include "plugins/live_diffusion/train/train_settings.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/compute/optim/schedule.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

namespace {
void expectsShare(double value, const char* name)
{
    expects(value >= 0 && value <= 1, std::string(name) + " is outside [0, 1]");
}
} // namespace

double TrainSettings::rateAt(Index update) const
{
    const vergence::Schedule schedule{ScheduleKind::Cosine, warmup, updates, leastRate, 0};
    return schedule.rate(update + (warmup > 0 ? 1 : 0), rate);
}

double TrainSettings::rolloutChanceAt(Index update) const
{
    const double first = (1 - rolloutShare) * static_cast<double>(updates);
    if (rolloutShare == 0 || static_cast<double>(update) < first)
        return 0;
    const double part =
        (static_cast<double>(update) - first) / std::max(1.0, static_cast<double>(updates) - first);
    return rolloutChance * std::min(1.0, part);
}

void check(const TrainSettings& s)
{
    const SampleSettings& samples = s.samples;
    expects(samples.batch >= 1, "batch is below 1");
    expectsShare(samples.dropsInput, "dropsInput");
    expectsShare(samples.dropsHistory, "dropsHistory");
    expectsShare(samples.dropsMemory, "dropsMemory");
    expectsShare(samples.dropsAll, "dropsAll");
    expectsShare(samples.startsAnew, "startsAnew");
    expectsShare(samples.startShare, "startShare");
    expects(samples.startStrength > 0 && samples.startStrength <= 1,
            "startStrength is outside (0, 1]");
    expects(samples.mostHistoryNoise >= 0 && samples.mostHistoryNoise <= kMostHistoryNoise,
            "mostHistoryNoise is outside [0, 0.7]");
    expects(samples.memoryFrames >= 0 && samples.memoryFrames <= kMemorySlots,
            "memoryFrames is outside 0 … 16");
    expects(samples.memoryStride >= 1, "memoryStride is below 1");
    expects(s.gamma > 0, "gamma is not positive");
    expects(s.blendWeight >= 0, "blendWeight is negative");
    expects(s.warmup >= 0 && s.updates > s.warmup,
            "updates must be more than those of the warm-up");
    expects(s.rate > 0 && s.epsilon > 0 && s.clipNorm >= 0,
            "rate, epsilon or clipNorm is negative");
    expectsShare(s.leastRate, "leastRate");
    expects(s.average >= 0 && s.average < 1, "average is outside [0, 1)");
    expectsShare(s.rolloutShare, "rolloutShare");
    expectsShare(s.rolloutChance, "rolloutChance");
    expects(s.rolledFrames >= 1 && s.rolledFrames <= 16, "rolledFrames is outside 1 … 16");
}

} // namespace vergence::live
