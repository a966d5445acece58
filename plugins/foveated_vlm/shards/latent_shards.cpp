#include "plugins/foveated_vlm/shards/latent_shards.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/patch_basis.h"
#include "plugins/foveated_vlm/shards/fvshard.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

/// Frames that a provider sees at once.
constexpr Index kFramesAtOnce = 16;

std::string factsOf(const ClipSource& clips, const LatentProvider& provider)
{
    const LatentStatistics statistics = provider.statistics();
    return nlohmann::json{{"kind", "latents"},
                          {"provider", provider.name()},
                          {"fingerprint", provider.fingerprint()},
                          {"frames_digest", framesDigest(clips)},
                          {"mean", statistics.mean},
                          {"deviation", statistics.deviation}}
        .dump();
}

bool isThere(const fs::path& path, const std::string& facts)
{
    std::error_code code;
    if (!fs::exists(path, code) || !isShard(path))
        return false;
    try {
        return Shard(path).facts() == facts;
    } catch (const InputError&) {
        return false; // it is made anew
    }
}

std::vector<BFloat16> encoded(const ClipSource& clips, Index clip, LatentProvider& provider)
{
    const auto shape = provider.shape(clips.height(), clips.width());
    const auto size = static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
    const auto frames = framesOf(clips, clip);
    const auto count = static_cast<Index>(frames.size() / frameSize(clips));
    std::vector<float> latents(static_cast<std::size_t>(count) * size);
    for (Index first = 0; first < count; first += kFramesAtOnce) {
        const Index some = std::min(kFramesAtOnce, count - first);
        const auto at = static_cast<std::size_t>(first), number = static_cast<std::size_t>(some);
        provider.encode(std::span(frames).subspan(at * frameSize(clips), number * frameSize(clips)),
                        some, clips.height(), clips.width(),
                        std::span(latents).subspan(at * size, number * size));
    }
    std::vector<BFloat16> halves;
    halves.reserve(latents.size());
    for (const float value : latents)
        halves.emplace_back(value);
    return halves;
}

} // namespace

LatentProvider::~LatentProvider() = default;

PatchBasisProvider::PatchBasisProvider(const ClipSource& clips)
    : m_statistics(measurePatchBasis(clips))
{
}

std::array<Index, 3> PatchBasisProvider::shape(int height, int width) const
{
    return {4, height / kPatchBasisBlock, width / kPatchBasisBlock};
}

void PatchBasisProvider::encode(std::span<const std::uint8_t> frames, Index, int height, int width,
                                std::span<float> latents)
{
    encodePatchBasis(frames, height, width, m_statistics, latents);
}

std::string PatchBasisProvider::fingerprint() const
{
    return nlohmann::json{{"mean", m_statistics.mean}, {"deviation", m_statistics.deviation}}
        .dump();
}

bool makeLatents(const ClipSource& clips, LatentProvider& provider, const fs::path& path,
                 const std::function<void(Index, Index)>& progress, std::stop_token stop)
{
    const std::string facts = factsOf(clips, provider);
    if (isThere(path, facts))
        return true;
    const auto form = provider.shape(clips.height(), clips.width());
    expects(form[0] == 4 && form[1] > 0 && form[2] > 0, "makeLatents: latents of four channels");
    ShardShape shape;
    shape.channels = 4;
    shape.height = static_cast<std::uint32_t>(form[1]);
    shape.width = static_cast<std::uint32_t>(form[2]);
    shape.type = ShardType::BF16;
    shape.frames = clips.count() > 0 ? static_cast<std::uint32_t>(clips.info(0).frames) : 0;
    for (Index clip = 0; clip < clips.count(); ++clip) {
        if (clips.info(clip).frames != static_cast<int>(shape.frames))
            shape.frames = 0; // each has its own number
    }
    ShardWriter writer(path, shape, facts);
    for (auto clip = static_cast<Index>(writer.count()); clip < clips.count(); ++clip) {
        if (stop.stop_requested())
            return false;
        const ClipInfo info = clips.info(clip);
        const auto latents = encoded(clips, clip, provider);
        ShardClip entry;
        entry.id = info.id;
        entry.frames = static_cast<std::uint32_t>(info.frames);
        entry.flags = (info.isShort ? kShardShort : 0u) | (info.isImage ? kShardImage : 0u);
        entry.seconds = info.seconds;
        entry.fps = info.fps;
        writer.add(entry, std::as_bytes(std::span(latents)));
        if (progress)
            progress(clip + 1, clips.count());
    }
    writer.commit(facts);
    return true;
}

} // namespace vergence::fvlm
