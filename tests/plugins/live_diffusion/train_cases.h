#pragma once

#include "plugins/live_diffusion/model/unet_settings.h"
#include "plugins/live_diffusion/train/sample_maker.h"
#include "tests/plugins/live_diffusion/apart.h"

namespace vergence::live {

/// Nano on frames of 16 pixels.
inline UnetSettings nano()
{
    return unetSettings(Size::Nano, 16);
}

inline ScenePairs films(Index count, int size = 16)
{
    return ScenePairs({.height = size, .width = size, .seed = 3}, count);
}

/// Every row differs in what it is about.
inline SampleBatch mixedBatch(SampleMaker& maker)
{
    std::vector<SampleRow> rows(3);
    rows[0] = {.frame = 20, .time = 120, .historyNoise = 0.3, .firstWrite = 12, .writes = 2};
    rows[1] = {.clip = 1, .frame = 7, .time = 40, .dropsInput = true, .firstWrite = 3, .writes = 1};
    rows[2] = {.frame = 9, .time = 800, .isStart = true, .dropsHistory = true};
    return maker.make(rows, 5);
}

} // namespace vergence::live
