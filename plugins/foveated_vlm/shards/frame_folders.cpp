#include <map>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/clip_jobs.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

ClipJobs frameFolderJobs(const fs::path& folder, const PredecodeSettings& settings)
{
    ClipJobs jobs;
    const Captions captions = captionsFor(folder, settings, jobs);
    std::map<std::string, std::vector<fs::path>> clips;
    for (const fs::path& file : filesBelow(folder, hasPictureName)) {
        addSource(jobs, folder, file);
        clips[file.parent_path().generic_string()].push_back(file);
    }
    for (const auto& [name, pictures] : clips) {
        ClipJob job;
        job.name = fs::path(name).lexically_relative(folder).generic_string();
        job.text = captionOf(folder, name, captions, jobs);
        job.make = [pictures = pictures, how = settings.decode] {
            return clipOfPictures(pictures.size(), how, [&](std::size_t i) {
                return pictureFrom(readFile(pictures[i]), pictures[i]);
            });
        };
        jobs.jobs.push_back(std::move(job));
    }
    return jobs;
}

} // namespace vergence::fvlm
