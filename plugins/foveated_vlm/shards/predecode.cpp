#include "plugins/foveated_vlm/shards/predecode.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/clip_jobs.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

ClipJobs videoJobs(const fs::path& folder, const PredecodeSettings& settings)
{
    ClipJobs jobs;
    std::error_code code;
    const fs::path root = fs::is_directory(folder, code) ? folder : folder.parent_path();
    const Captions captions = captionsFor(root, settings, jobs);
    const auto isWanted = [](const fs::path& path) {
        return hasVideoName(path) || hasPictureName(path);
    };
    for (const fs::path& file : filesBelow(folder, isWanted)) {
        addSource(jobs, root, file);
        ClipJob job;
        job.name = file.lexically_relative(root).generic_string();
        job.text = captionOf(root, file, captions, jobs);
        job.make = [file, how = settings.decode] {
            if (!hasPictureName(file))
                return decodeVideo(file, how);
            return clipOfPictures(1, how,
                                  [&](std::size_t) { return pictureFrom(readFile(file), file); });
        };
        jobs.jobs.push_back(std::move(job));
    }
    return jobs;
}

PredecodeReport predecode(const fs::path& folder, const fs::path& target,
                          const PredecodeSettings& settings,
                          const std::function<void(const PredecodeProgress&)>& progress,
                          std::stop_token stop)
{
    const ClipJobs jobs = videoJobs(folder, settings);
    if (jobs.jobs.empty())
        throw InputError(fmt::format("There are no videos in {}.", folder.string()));
    std::string reason;
    const bool needsDecoder =
        std::ranges::any_of(jobs.jobs, [](const ClipJob& job) { return hasVideoName(job.name); });
    if (needsDecoder && !canDecodeVideo(&reason))
        throw InputError(reason);
    return writeClips(jobs, target, settings, progress, stop);
}

} // namespace vergence::fvlm
