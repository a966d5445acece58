#pragma once

#include <filesystem>
#include <string>
#include <string_view>
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

/// Shards as one list of clips.
class ShardSet {
public:
    /// Opens the files of `path`. Throws InputError where they differ in size of frames or type.
    explicit ShardSet(const std::filesystem::path& path);

    Index count() const { return m_first.back(); }
    const ShardShape& shape() const { return m_shards.front().shape(); }
    const std::vector<Shard>& shards() const { return m_shards; }
    /// The shard of a clip and its number there. Throws ContractError for clips that are not there.
    std::pair<const Shard*, std::size_t> at(Index clip) const;
    /// Of the data: of one shard its own, of several SHA-256 of theirs.
    std::string framesDigest() const;

private:
    std::vector<Shard> m_shards;
    std::vector<Index> m_first; ///< clip number of each shard's first, and one more
};

/// Clips of a shard, or of a set of shards that agree in size of frames.
class ShardClips : public ClipSource {
public:
    /// Throws InputError for files that are no shards of RGB bytes or differ in frame size.
    explicit ShardClips(const std::filesystem::path& path);

    Index count() const override { return m_set.count(); }
    int height() const override { return static_cast<int>(m_set.shape().height); }
    int width() const override { return static_cast<int>(m_set.shape().width); }
    ClipInfo info(Index clip) const override;
    /// Compares check sums when a clip is read for the first time.
    void read(Index clip, std::span<std::uint8_t> out) const override;
    std::string digest() const override;
    /// Of one shard without gaps; check sums are not compared.
    std::span<const std::uint8_t> mapped() const override;

    const ShardSet& set() const { return m_set; }

private:
    ShardSet m_set;
};

/// What latents name as that which they were made of: the digest of frames alone, so that other
/// captions do not make them foreign.
std::string framesDigest(const ClipSource& clips);

/// Latents from shards, in the order of the clips they belong to.
class ShardLatents : public LatentSource {
public:
    /// Throws InputError for files that do not name the frames of `clips`, have another number of
    /// clips or frames, or no four channels.
    ShardLatents(const std::filesystem::path& path, const ClipSource& clips);

    std::array<Index, 3> shape() const override;
    void read(Index clip, std::span<float> out) const override;
    /// As the file says, "file" where it does not.
    std::string provider() const override { return m_provider; }
    LatentStatistics statistics() const override { return m_statistics; }

private:
    ShardSet m_set;
    std::string m_provider = "file";
    LatentStatistics m_statistics;
};

} // namespace vergence::fvlm
