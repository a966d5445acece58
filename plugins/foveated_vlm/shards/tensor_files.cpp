#include <fmt/format.h>

#include "core/artifact/zip_archive.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/shards/clip_jobs.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

/// The bytes of the tensor; the pickle beside it is not looked at.
DecodedClip clipOfTensorFile(const fs::path& path, const DecodeSettings& settings)
{
    const auto fail = [&](const std::string& what) {
        throw InputError(
            fmt::format("The tensor file {} cannot be used: {}.", path.string(), what));
    };
    const auto side = static_cast<std::size_t>(settings.size);
    const std::size_t wanted = static_cast<std::size_t>(settings.frames) * 3 * side * side;
    const ZipArchive archive = ZipArchive::openForReading(path);
    zip_stat_t found{};
    int count = 0;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive.handle(), 0); ++i) {
        zip_stat_t status{};
        if (zip_stat_index(archive.handle(), static_cast<zip_uint64_t>(i), 0, &status) == 0 &&
            std::string_view(status.name).ends_with("/data/0")) {
            found = status;
            ++count;
        }
    }
    if (count != 1)
        fail(fmt::format("it has {} members that end in /data/0 instead of one", count));
    if (found.comp_method != ZIP_CM_STORE)
        fail("its data are compressed");
    if (found.size != wanted)
        fail(fmt::format("its data have {} bytes; {} frames of 3 × {} × {} have {}", found.size,
                         settings.frames, side, side, wanted));
    DecodedClip clip;
    clip.frames.resize(wanted);
    clip.count = settings.frames;
    zip_file_t* file = zip_fopen_index(archive.handle(), found.index, 0);
    const zip_int64_t got = file ? zip_fread(file, clip.frames.data(), wanted) : -1;
    std::uint8_t after = 0; // reading to the end compares the check sum
    const bool isWhole = got == static_cast<zip_int64_t>(wanted) && zip_fread(file, &after, 1) == 0;
    if (file)
        zip_fclose(file);
    if (!isWhole)
        fail("its data cannot be read, or have another check sum");
    return clip;
}

} // namespace

ClipJobs tensorFileJobs(const fs::path& path, const PredecodeSettings& settings)
{
    ClipJobs jobs;
    std::error_code code;
    const fs::path root = fs::is_directory(path, code) ? path : path.parent_path();
    const Captions captions = captionsFor(root, settings, jobs);
    for (const fs::path& file :
         filesBelow(path, [](const fs::path& at) { return at.extension() == ".pt"; })) {
        addSource(jobs, root, file);
        jobs.jobs.push_back({file.lexically_relative(root).generic_string(),
                             [file, how = settings.decode] { return clipOfTensorFile(file, how); },
                             captionOf(root, file, captions, jobs)});
    }
    return jobs;
}

} // namespace vergence::fvlm
