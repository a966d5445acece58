#include "plugins/foveated_vlm/session/clip_sets.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stop_token>
#include <thread>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/patch_basis.h"
#include "plugins/foveated_vlm/session/drawn_clips.h"
#include "plugins/foveated_vlm/session/settings.h"
#include "plugins/foveated_vlm/shards/open_clips.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"
#include "plugins/foveated_vlm/shards/vae_latents.h"

namespace vergence::fvlm {

namespace {

std::vector<Index> allOf(const ClipSource& clips)
{
    std::vector<Index> members(static_cast<std::size_t>(clips.count()));
    std::iota(members.begin(), members.end(), Index{0});
    return members;
}

void draw(ClipSets& sets, const FoveatedVlmConfig& config)
{
    sets.training = drawnClips(config, DrawnSet::Training);
    sets.drawnHeldOut = drawnClips(config, DrawnSet::HeldOut);
    sets.members = allOf(*sets.training);
    sets.heldOutMembers = allOf(*sets.drawnHeldOut);
}

OpenSettings openSettings(const FoveatedVlmConfig& config, const std::filesystem::path& folder)
{
    OpenSettings settings;
    settings.predecode.decode.sampling = samplingFromName(config.sampling);
    settings.predecode.decode.fit = fitFromName(config.fit);
    settings.predecode.decode.size = config.size;
    settings.predecode.decode.frames = config.frames;
    settings.predecode.captions = config.captions;
    settings.cache = config.shards.empty() ? folder : config.shards;
    return settings;
}

/// Asks `isStopped` from a thread of its own, for work that takes a stop_token.
class StopWatch {
public:
    explicit StopWatch(const std::function<bool()>& isStopped)
        : m_watch([this, isStopped](const std::stop_token& over) {
              while (!over.stop_requested() && !(isStopped && isStopped()))
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
              if (!over.stop_requested())
                  m_source.request_stop();
          })
    {
    }
    std::stop_token token() const { return m_source.get_token(); }

private:
    std::stop_source m_source;
    std::jthread m_watch;
};

/// Whether a clip can be learnt from at all.
bool isUsable(const ClipInfo& info, const FoveatedVlmConfig& config)
{
    if (config.hasLatents() && info.frames < 2)
        return false;
    if (config.variant == "dpo")
        return !info.text.chosen.empty() && !info.text.rejected.empty();
    return !config.hasText() || !info.text.answer.empty();
}

void open(ClipSets& sets, const FoveatedVlmConfig& config, const std::filesystem::path& folder,
          const OpeningHooks& hooks)
{
    const StopWatch watch(hooks.isStopped);
    sets.training = openClips(
        config.clips, openSettings(config, folder),
        [&](const PredecodeProgress& progress) {
            hooks.doing(fmt::format("decoding clips: {} of {}", progress.done, progress.total));
        },
        watch.token(), &sets.decoded);
    if (!sets.training)
        return;
    const ClipSource& clips = *sets.training;
    if (clips.height() != config.size || clips.width() != config.size)
        throw InputError(fmt::format("The frames of {} have {} × {} px, the configuration says {}; "
                                     "set size to theirs, or decode the videos again.",
                                     config.clips.string(), clips.width(), clips.height(),
                                     config.size));
    ClipSplit split = splitClips(clips, config.holdOut, config.seed);
    const auto dropUnusable = [&](std::vector<Index>& members) {
        std::erase_if(members, [&](Index clip) {
            const ClipInfo info = clips.info(clip);
            if (isUsable(info, config))
                return false;
            sets.withoutText.push_back(std::to_string(info.id));
            return true;
        });
    };
    dropUnusable(split.training);
    dropUnusable(split.heldOut);
    sets.members = std::move(split.training);
    sets.heldOutMembers = std::move(split.heldOut);
    const auto most = static_cast<std::size_t>(config.evalSamples);
    if (sets.heldOutMembers.size() > most)
        sets.heldOutMembers.resize(most);
    if (sets.members.size() < static_cast<std::size_t>(config.batch))
        throw InputError(fmt::format(
            "{} gives {} clips to learn from, fewer than a batch of {}{}.", config.clips.string(),
            sets.members.size(), config.batch,
            sets.withoutText.empty()
                ? std::string()
                : fmt::format("; {} were left out because their text or frames do not suffice for "
                              "variant {}",
                              sets.withoutText.size(), config.variant)));
    const double epochs = static_cast<double>(config.totalMicroSteps()) * config.batch /
                          static_cast<double>(sets.members.size());
    if (epochs > config.maxEpochs)
        throw InputError(fmt::format("The run would pass over its {} clips {:.1f} times, more "
                                     "than max_epochs = {:g}; shorten it, or raise max_epochs if "
                                     "that is meant.",
                                     sets.members.size(), epochs, config.maxEpochs));
}

/// Latents of the autoencoder, made once and kept beside the decoded clips; null where it was
/// stopped.
std::unique_ptr<LatentSource> encodedLatents(const FoveatedVlmConfig& config,
                                             const ClipSource& clips,
                                             const std::filesystem::path& folder,
                                             const std::shared_ptr<Device>& device,
                                             const OpeningHooks& hooks)
{
    const bool isBf16 = precisionOf(config, device->info()).compute == DType::BF16;
    VaeProvider provider(device, config.latentsPath, isBf16 ? DType::BF16 : DType::F32);
    const std::filesystem::path target =
        (config.shards.empty() ? folder : config.shards) /
        fmt::format("latents-{}.fvshard",
                    sha256Hex(clips.digest() + provider.fingerprint()).substr(0, 16));
    std::filesystem::create_directories(target.parent_path());
    const StopWatch watch(hooks.isStopped);
    const bool isComplete = makeLatents(
        clips, provider, target,
        [&](Index done, Index total) {
            hooks.doing(fmt::format("encoding latents: {} of {}", done, total));
        },
        watch.token());
    return isComplete ? std::make_unique<ShardLatents>(target, clips) : nullptr;
}

} // namespace

ClipSets openClipSets(const FoveatedVlmConfig& config, const std::filesystem::path& folder,
                      const std::shared_ptr<Device>& device, const OpeningHooks& hooks)
{
    ClipSets sets;
    if (config.isDrawn())
        draw(sets, config);
    else
        open(sets, config, folder, hooks);
    if (!sets.training || !config.hasLatents())
        return sets;
    hooks.doing("finding latents");
    if (config.latents == "file")
        sets.latents = std::make_unique<ShardLatents>(config.latentsPath, *sets.training);
    else if (config.latents == "vae")
        sets.latents = encodedLatents(config, *sets.training, folder, device, hooks);
    else
        sets.latents = std::make_unique<PatchBasisLatents>(*sets.training);
    if (!sets.latents)
        return {};
    if (sets.drawnHeldOut)
        sets.drawnLatents =
            std::make_unique<PatchBasisLatents>(*sets.drawnHeldOut, sets.latents->statistics());
    return sets;
}

} // namespace vergence::fvlm
