#include "plugins/foveated_vlm/session/drawn_clips.h"

#include <algorithm>
#include <cmath>

#include "plugins/foveated_vlm/clips/grid_clips.h"
#include "plugins/foveated_vlm/clips/synthetic_clips.h"

namespace vergence::fvlm {

namespace {

constexpr Index kTokenizerClips = 2'048;

/// Which of all clips of a task a set holds.
struct Range {
    std::uint64_t seed = 0;
    Index count = 0;
    std::uint64_t firstId = 0;
};

Range rangeOf(const FoveatedVlmConfig& config, DrawnSet set)
{
    if (set == DrawnSet::Tokenizer)
        return {0, kTokenizerClips, SyntheticClips::kValidationIds};
    if (set == DrawnSet::HeldOut)
        return {config.seed, std::max(config.evalSamples, config.captionClips),
                SyntheticClips::kValidationIds};
    return {config.seed,
            config.clipCount > 0 ? Index{config.clipCount}
                                 : std::max<Index>(1, config.totalMicroSteps() * config.batch),
            0};
}

GridSettings gridOf(const FoveatedVlmConfig& config, const Range& range)
{
    GridSettings settings;
    settings.content = gridTask(config.task)->content;
    settings.side = config.cells;
    settings.size = config.size;
    settings.frames = config.frames;
    settings.seed = range.seed;
    settings.count = range.count;
    settings.firstId = range.firstId;
    return settings;
}

SyntheticSettings objectsOf(const FoveatedVlmConfig& config, const Range& range)
{
    SyntheticSettings settings;
    settings.task = syntheticTaskFromName(config.task);
    settings.size = config.size;
    settings.frames = config.frames;
    settings.fewestObjects = std::min(settings.fewestObjects, config.objects);
    settings.mostObjects = config.objects;
    settings.seed = range.seed;
    settings.count = range.count;
    settings.firstId = range.firstId;
    return settings;
}

} // namespace

std::unique_ptr<ClipSource> drawnClips(const FoveatedVlmConfig& config, DrawnSet set)
{
    const Range range = rangeOf(config, set);
    if (config.isGrid())
        return std::make_unique<GridClips>(gridOf(config, range));
    return std::make_unique<SyntheticClips>(objectsOf(config, range));
}

double blindNats(const FoveatedVlmConfig& config)
{
    return config.isGrid() ? std::log(kGridAnswers) : blindNats(syntheticTaskFromName(config.task));
}

} // namespace vergence::fvlm
