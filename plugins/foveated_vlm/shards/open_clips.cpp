#include "plugins/foveated_vlm/shards/open_clips.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/foveated_vlm/shards/clip_jobs.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

constexpr const char* kExpected =
    "expected is a shard (.fvshard), a folder with shards.toml, .pt files, folders of JPEG or PNG "
    "frames, .tar archives, or videos";

/// Shards that lie in a folder without a list: one is enough to know what is meant.
fs::path shardOf(const fs::path& path)
{
    std::error_code code;
    if (!fs::is_directory(path, code) || fs::exists(path / kShardList, code))
        return path;
    fs::path found;
    for (const auto& entry : fs::directory_iterator(path, code)) {
        if (entry.path().extension() != ".fvshard")
            continue;
        if (!found.empty())
            throw InputError(fmt::format("{} holds several shards; name them in order in {}.",
                                         path.string(), kShardList));
        found = entry.path();
    }
    return found;
}

std::optional<ClipsKind> kindOfFile(const fs::path& path)
{
    if (path.extension() == ".pt")
        return ClipsKind::TensorFiles;
    if (path.extension() == ".tar")
        return ClipsKind::Archives;
    if (hasVideoName(path))
        return ClipsKind::Videos;
    if (hasPictureName(path))
        return ClipsKind::FrameFolders;
    return std::nullopt;
}

ClipJobs jobsFor(ClipsKind kind, const fs::path& path, const PredecodeSettings& settings)
{
    switch (kind) {
    case ClipsKind::TensorFiles:
        return tensorFileJobs(path, settings);
    case ClipsKind::FrameFolders:
        return frameFolderJobs(path, settings);
    case ClipsKind::Archives:
        return archiveJobs(path, settings);
    case ClipsKind::Videos:
    case ClipsKind::Shards:
        break;
    }
    return videoJobs(path, settings);
}

} // namespace

const char* nameOf(ClipsKind kind)
{
    switch (kind) {
    case ClipsKind::Shards:
        return "shards";
    case ClipsKind::TensorFiles:
        return "tensor files";
    case ClipsKind::FrameFolders:
        return "folders of frames";
    case ClipsKind::Archives:
        return "archives";
    case ClipsKind::Videos:
        break;
    }
    return "videos";
}

ClipsKind recogniseClips(const fs::path& path)
{
    std::error_code code;
    if (!fs::exists(path, code))
        throw InputError(fmt::format("There is nothing at {}; {}.", path.string(), kExpected));
    const fs::path shard = shardOf(path);
    if (!shard.empty() &&
        (fs::is_directory(shard, code) || isShard(shard) || shard.extension() == ".fvshard"))
        return ClipsKind::Shards;
    std::optional<ClipsKind> found;
    if (fs::is_regular_file(path, code)) {
        found = kindOfFile(path);
        found = found == ClipsKind::FrameFolders ? ClipsKind::Videos : found; // one picture
    } else {
        filesBelow(path, [&](const fs::path& file) { // the kinds are in order of precedence
            const auto kind = kindOfFile(file);
            const auto rank = [](ClipsKind which) {
                return which == ClipsKind::TensorFiles ? 0
                       : which == ClipsKind::Archives  ? 1
                       : which == ClipsKind::Videos    ? 2
                                                       : 3;
            };
            if (kind && (!found || rank(*kind) < rank(*found)))
                found = kind;
            return false;
        });
    }
    if (!found)
        throw InputError(fmt::format("There are no clips at {}; {}.", path.string(), kExpected));
    return *found;
}

std::unique_ptr<ClipSource> openClips(const fs::path& path, const OpenSettings& settings,
                                      const std::function<void(const PredecodeProgress&)>& progress,
                                      std::stop_token stop, PredecodeReport* report)
{
    const ClipsKind kind = recogniseClips(path);
    if (kind == ClipsKind::Shards)
        return std::make_unique<ShardClips>(shardOf(path));
    const fs::path source = fs::absolute(path).lexically_normal();
    const fs::path named = source.has_filename() ? source : source.parent_path();
    const ClipJobs jobs = jobsFor(kind, source, settings.predecode);
    std::string reason;
    if (kind == ClipsKind::Videos &&
        std::ranges::any_of(jobs.jobs, [](const ClipJob& job) { return hasVideoName(job.name); }) &&
        !canDecodeVideo(&reason))
        throw InputError(reason);
    const std::string name = fmt::format("{}-{}.fvshard", named.filename().string(),
                                         fingerprintOf(jobs, settings.predecode).substr(0, 12));
    const fs::path target = (settings.cache.empty() ? named.parent_path() : settings.cache) / name;
    const PredecodeReport made = writeClips(jobs, target, settings.predecode, progress, stop);
    if (report)
        *report = made;
    if (!made.isComplete)
        return nullptr;
    return std::make_unique<ShardClips>(target);
}

} // namespace vergence::fvlm
