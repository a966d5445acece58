#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "plugins/foveated_vlm/shards/captions.h"
#include "plugins/foveated_vlm/shards/decode.h"

namespace vergence::fvlm {

/// From a folder of videos to a shard.
struct PredecodeSettings {
    DecodeSettings decode;
    int workers = 0;                ///< decoders at work at once; 0: one a thread of the computer
    std::filesystem::path captions; ///< JSONL; empty: `captions.jsonl` of the folder or .txt files
};

/// A file that gave no clip.
struct SkippedVideo {
    std::string file, reason;
};

struct PredecodeProgress {
    std::size_t done = 0, total = 0, skipped = 0;
};

/// What became of a folder.
struct PredecodeReport {
    bool isComplete = false; ///< false where it was stopped; call again to go on
    std::size_t videos = 0, clips = 0, shortClips = 0, images = 0, repaired = 0;
    std::size_t decoded = 0; ///< by this call; the others were there
    std::vector<SkippedVideo> skipped;
    std::vector<std::string> withoutCaption; ///< files
    std::string digest;                      ///< of the shard; empty unless complete
};

/// Decodes all videos below `folder`, in the order of their names, into the shard `target` and a
/// manifest `<target>.json` beside it (settings, sources, skipped files with reasons, captions that
/// are missing). Finished videos are kept in `<target>.draft` while it runs: after a stop or a
/// crash the same call goes on and decodes none of them again. The result does not depend on
/// workers or interruptions. A shard that is complete and of the same sources and settings is left
/// as it is. Throws InputError for a folder without videos or where another process writes the same
/// target, and where no clip is left; OutputError.
PredecodeReport predecode(const std::filesystem::path& folder, const std::filesystem::path& target,
                          const PredecodeSettings& settings,
                          const std::function<void(const PredecodeProgress&)>& progress = {},
                          std::stop_token stop = {});

} // namespace vergence::fvlm
