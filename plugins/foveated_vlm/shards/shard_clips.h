#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "plugins/foveated_vlm/clips/clip_source.h"
#include "plugins/foveated_vlm/shards/fvshard.h"

namespace vergence::fvlm {

/// Name of the list in a folder of shards. It holds `shards = ["a.fvshard", …]`, relative to the
/// folder, in the order of the clips.
inline constexpr const char* kShardList = "shards.toml";

/// Files of a shard or of a folder with a list of shards, in order. Throws InputError.
std::vector<std::filesystem::path> shardFiles(const std::filesystem::path& path);
/// Writes the list of a folder. Throws OutputError.
void writeShardList(const std::filesystem::path& folder, const std::vector<std::string>& names);

/// The text of a clip as shards keep it, one JSON object; empty for an empty text. Unknown keys are
/// ignored; throws InputError that names `source` for what is no object of strings.
std::string toJson(const ClipText& text, std::span<const float> timestamps = {});
ClipText clipTextFromJson(std::string_view json, const std::string& source,
                          std::vector<float>* timestamps = nullptr);

/// Clips of a shard, or of a set of shards that agree in size of frames.
class ShardClips : public ClipSource {
public:
    /// Throws InputError for files that are no shards of RGB bytes or differ in frame size.
    explicit ShardClips(const std::filesystem::path& path);

    Index count() const override { return m_count; }
    int height() const override;
    int width() const override;
    ClipInfo info(Index clip) const override;
    void read(Index clip, std::span<std::uint8_t> out) const override;
    std::string digest() const override;
    std::span<const std::uint8_t> mapped() const override;

    /// Digests of the files, in order.
    std::vector<std::string> shardDigests() const;
    const std::vector<Shard>& shards() const { return m_shards; }

private:
    std::pair<const Shard*, std::size_t> at(Index clip) const;

    std::vector<Shard> m_shards;
    std::vector<Index> m_first; ///< clip number of each shard's first
    Index m_count = 0;
};

/// Latents from shards, in the order of the clips they belong to.
class ShardLatents : public LatentSource {
public:
    /// Throws InputError where the file does not name the digest of `clips`, or another number of
    /// clips or frames.
    ShardLatents(const std::filesystem::path& path, const ClipSource& clips);

    std::array<Index, 3> shape() const override;
    void read(Index clip, std::span<float> out) const override;
    std::string provider() const override { return m_provider; }
    LatentStatistics statistics() const override { return m_statistics; }

private:
    Shard m_shard;
    std::string m_provider;
    LatentStatistics m_statistics;
};

/// Makes latents of frames.
class LatentProvider {
public:
    virtual ~LatentProvider();
    virtual std::string name() const = 0; ///< "vae", "patch_basis"
    /// Latent height and width for frames of the given size.
    virtual std::array<Index, 3> shape(int height, int width) const = 0;
    /// u8 [F, 3, H, W] → [F, 4, h, w], already as shape() and statistics() say.
    virtual void encode(std::span<const std::uint8_t> frames, Index count, int height, int width,
                        std::span<float> latents) = 0;
    virtual LatentStatistics statistics() const { return {}; }
    /// What the latents depend on beside frames: weights, settings.
    virtual std::string fingerprint() const { return name(); }
};

/// How far makeLatents() came.
struct LatentProgress {
    Index done = 0, total = 0;
};

/// Encodes all clips and writes them as a latent shard (bf16) that names the digest of `clips`.
/// Finished clips are kept beside `path` while it runs, so that a stopped or killed call goes on
/// where it was when it is called again with the same clips and provider. Returns whether the file
/// is complete; false where it was stopped. Throws OutputError, what reading and encoding throw.
bool makeLatents(const ClipSource& clips, LatentProvider& provider,
                 const std::filesystem::path& path,
                 const std::function<void(const LatentProgress&)>& progress = {},
                 std::stop_token stop = {});

} // namespace vergence::fvlm
