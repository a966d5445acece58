#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plugins/foveated_vlm/shards/predecode.h"

namespace vergence::fvlm {

/// A clip to be made; `make` is called from any thread and throws InputError for sources that
/// cannot be used.
struct ClipJob {
    std::string name; ///< relative to the source, forward slashes
    std::function<DecodedClip()> make;
    std::optional<ClipText> text;
};

/// All clips of a source.
struct ClipJobs {
    std::vector<ClipJob> jobs; ///< by name
    std::string names;         ///< names and sizes of the files: which source this is
    std::string state;         ///< with times of change: whether it is still the same
};

/// Adds a file that a clip depends on.
void addSource(ClipJobs& jobs, const std::filesystem::path& root,
               const std::filesystem::path& file);

/// One job a video or picture below `folder`, or of the one file that it names.
ClipJobs videoJobs(const std::filesystem::path& folder, const PredecodeSettings& settings);
/// One job a .pt file: a ZIP archive whose single stored member that ends in /data/0 holds u8
/// [frames, 3, size, size].
ClipJobs tensorFileJobs(const std::filesystem::path& path, const PredecodeSettings& settings);
/// One job a folder that holds pictures: its frames by name.
ClipJobs frameFolderJobs(const std::filesystem::path& folder, const PredecodeSettings& settings);
/// One job a key of WebDataset archives: {key}.{nnn}.jpg, {key}.json.
ClipJobs archiveJobs(const std::filesystem::path& path, const PredecodeSettings& settings);

/// What captions the settings name: their file, else `captions.jsonl` of the folder, else none.
Captions captionsFor(const std::filesystem::path& folder, const PredecodeSettings& settings,
                     ClipJobs& jobs);
/// What is said of a file; the .txt beside it is a source where there is one.
std::optional<ClipText> captionOf(const std::filesystem::path& folder,
                                  const std::filesystem::path& file, const Captions& captions,
                                  ClipJobs& jobs);
/// Regular files below a folder (or the file itself) that `isWanted` accepts, by name.
std::vector<std::filesystem::path>
filesBelow(const std::filesystem::path& folder,
           const std::function<bool(const std::filesystem::path&)>& isWanted);
bool hasPictureName(const std::filesystem::path& path);
/// Frames picked from pictures that are read on demand.
DecodedClip clipOfPictures(std::size_t count, const DecodeSettings& settings,
                           const std::function<Image(std::size_t)>& picture);
/// A picture file in memory, upright, RGB. Throws InputError.
Image pictureFrom(const std::string& bytes, const std::filesystem::path& name);

/// Identifies jobs and settings, for names of shards and for going on.
std::string fingerprintOf(const ClipJobs& jobs, const PredecodeSettings& settings);

/// Makes the clips on several threads and writes them in order; see predecode().
PredecodeReport writeClips(const ClipJobs& jobs, const std::filesystem::path& target,
                           const PredecodeSettings& settings,
                           const std::function<void(const PredecodeProgress&)>& progress,
                           std::stop_token stop);

} // namespace vergence::fvlm
