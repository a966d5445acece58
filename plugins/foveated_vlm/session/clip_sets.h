#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/compute/device.h"
#include "plugins/foveated_vlm/clips/clip_source.h"
#include "plugins/foveated_vlm/foveated_vlm_config.h"
#include "plugins/foveated_vlm/shards/predecode.h"

namespace vergence::fvlm {

/// What a run learns from and what it is tested on: two sources of drawn clips, or one of files
/// that is split.
struct ClipSets {
    std::unique_ptr<ClipSource> training;
    std::unique_ptr<ClipSource> drawnHeldOut;   ///< null where files are split
    std::vector<Index> members, heldOutMembers; ///< clips of training and of heldOut()
    std::unique_ptr<LatentSource> latents;      ///< of training; null where none are wanted
    std::unique_ptr<LatentSource> drawnLatents; ///< of drawnHeldOut
    PredecodeReport decoded;                    ///< of files that were brought to shards
    std::vector<std::string> withoutText;       ///< ids of clips that nothing is said of

    const ClipSource& heldOut() const { return drawnHeldOut ? *drawnHeldOut : *training; }
    const LatentSource* heldOutLatents() const
    {
        return drawnHeldOut ? drawnLatents.get() : latents.get();
    }
};

/// What opening clips tells of itself while it goes on.
struct OpeningHooks {
    std::function<void(const std::string&)> doing;
    std::function<bool()> isStopped;
};

/// Opens or draws the clips, leaves out those that variant and task cannot use, splits them, and
/// finds their latents. Decoded clips and latents go to `folder`
/// unless the configuration names another. Empty
/// where it was stopped. Throws InputError: nothing there, frames of another size than the
/// configuration's, too few clips for a batch, latents that belong to others.
ClipSets openClipSets(const FoveatedVlmConfig& config, const std::filesystem::path& folder,
                      const std::shared_ptr<Device>& device, const OpeningHooks& hooks);

} // namespace vergence::fvlm
