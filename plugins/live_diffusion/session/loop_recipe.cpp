#include "plugins/live_diffusion/session/loop_recipe.h"

namespace vergence::live {

std::unique_ptr<FrameLoop> LoopRecipe::build() const
{
    Networks own = networks;
    return std::make_unique<FrameLoop>(
        shelf->network(own, switches, FrameLoop::rowsNeeded(settings)), settings);
}

std::unique_ptr<FrameLoop> LoopRecipe::build(const QualityLevel& level) const
{
    LoopRecipe reduced = *this;
    reduced.settings = reducedTo(level, settings);
    return reduced.build();
}

std::vector<QualityLevel> LoopRecipe::ladder() const
{
    const UnetSettings unet = unetSettings(networks.config());
    const QualityLevel best{stepsOf(settings), static_cast<int>(unet.patch),
                            static_cast<int>(unet.frameSize())};
    if (!networks.config().deadline.isOn)
        return {best};
    auto ladder = qualityLadder(best);
    std::erase_if(ladder, [&](const QualityLevel& level) {
        return level.patch != best.patch || level.size != best.size;
    });
    return ladder;
}

LoopSettings reducedTo(const QualityLevel& level, LoopSettings settings)
{
    settings.steps = level.steps;
    return settings;
}

} // namespace vergence::live
