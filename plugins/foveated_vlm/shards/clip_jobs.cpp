#include "plugins/foveated_vlm/shards/clip_jobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/exif.h"
#include "core/artifact/image_ops.h"
#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/fvshard.h"
#include "plugins/foveated_vlm/shards/ordered_work.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Sums of bytes and of their squares, per channel; whole numbers, so that order does not matter.
using ChannelSums = std::array<std::uint64_t, 6>;

ChannelSums sumsOf(const DecodedClip& clip)
{
    ChannelSums sums{};
    const std::size_t planes = static_cast<std::size_t>(clip.count) * 3;
    const std::size_t size = planes > 0 ? clip.frames.size() / planes : 0;
    for (std::size_t plane = 0; plane < planes; ++plane) {
        std::uint64_t sum = 0, squares = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint64_t byte = clip.frames[plane * size + i];
            sum += byte;
            squares += byte * byte;
        }
        sums[plane % 3] += sum;
        sums[3 + plane % 3] += squares;
    }
    return sums;
}

json statisticsOf(const ChannelSums& sums, std::uint64_t numbersPerChannel)
{
    std::array<double, 3> mean{}, deviation{};
    const double count = static_cast<double>(std::max<std::uint64_t>(numbersPerChannel, 1));
    for (std::size_t c = 0; c < 3; ++c) {
        mean[c] = static_cast<double>(sums[c]) / count / 255;
        const double square = static_cast<double>(sums[3 + c]) / count / (255.0 * 255.0);
        deviation[c] = std::sqrt(std::max(0.0, square - mean[c] * mean[c]));
    }
    return {{"mean", mean}, {"deviation", deviation}};
}

/// What the draft keeps of a job.
json noteOf(const ClipJob& job, const MadeClip& made)
{
    json note = {{"file", job.name}};
    if (!made.clip) {
        note["skipped"] = made.reason;
        return note;
    }
    note["captioned"] = job.text.has_value();
    note["short"] = made.clip->isShort;
    note["image"] = made.clip->isImage;
    note["repaired"] = made.clip->isRepaired;
    note["frames"] = made.clip->count;
    note["sums"] = sumsOf(*made.clip);
    return note;
}

void add(ShardWriter& writer, const ClipJob& job, const MadeClip& made)
{
    const std::string note = noteOf(job, made).dump(-1, ' ', false, json::error_handler_t::replace);
    if (!made.clip) {
        writer.addNote(note);
        return;
    }
    const DecodedClip& clip = *made.clip;
    ShardClip entry;
    entry.id = std::stoull(sha256Hex(job.name).substr(0, 16), nullptr, 16);
    entry.frames = static_cast<std::uint32_t>(clip.count);
    entry.flags = (clip.isShort ? kShardShort : 0u) | (clip.isImage ? kShardImage : 0u) |
                  (clip.isRepaired ? kShardRepaired : 0u);
    entry.seconds = clip.seconds;
    entry.fps = clip.fps;
    writer.add(entry, std::as_bytes(std::span(clip.frames)),
               toJson(job.text.value_or(ClipText{}), clip.timestamps), note);
}

/// Counts from the notes of all jobs, this call's and those before.
struct Tally {
    PredecodeReport report;
    ChannelSums sums{};
    std::uint64_t frames = 0;

    void add(const std::string& text)
    {
        const json note = json::parse(text);
        const std::string file = note.at("file");
        ++report.videos;
        if (note.contains("skipped")) {
            report.skipped.push_back({file, note.at("skipped")});
            return;
        }
        ++report.clips;
        report.shortClips += note.at("short").get<bool>();
        report.images += note.at("image").get<bool>();
        report.repaired += note.at("repaired").get<bool>();
        frames += note.at("frames").get<std::uint64_t>();
        const auto more = note.at("sums").get<ChannelSums>();
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] += more[i];
        if (!note.at("captioned").get<bool>())
            report.withoutCaption.push_back(file);
    }
};

json asJson(const PredecodeReport& report)
{
    json skipped = json::array();
    for (const SkippedVideo& video : report.skipped)
        skipped.push_back({{"file", video.file}, {"reason", video.reason}});
    return {{"digest", report.digest}, {"sources", report.videos},
            {"clips", report.clips},   {"short", report.shortClips},
            {"images", report.images}, {"repaired", report.repaired},
            {"skipped", skipped},      {"without_caption", report.withoutCaption}};
}

PredecodeReport reportFrom(const json& json)
{
    PredecodeReport report;
    report.isComplete = true;
    report.digest = json.at("digest");
    report.videos = json.at("sources");
    report.clips = json.at("clips");
    report.shortClips = json.at("short");
    report.images = json.at("images");
    report.repaired = json.at("repaired");
    for (const auto& video : json.at("skipped"))
        report.skipped.push_back({video.at("file"), video.at("reason")});
    report.withoutCaption = json.at("without_caption").get<std::vector<std::string>>();
    return report;
}

fs::path manifestOf(const fs::path& target)
{
    return target.string() + ".json";
}

/// The report of a shard that is complete and of these sources, else nothing.
std::optional<PredecodeReport> finished(const fs::path& target, const std::string& fingerprint)
{
    std::error_code code;
    if (!fs::exists(target, code) || !fs::exists(manifestOf(target), code))
        return std::nullopt;
    try {
        const json manifest = parseJson(readFile(manifestOf(target)), manifestOf(target).string());
        if (manifest.at("fingerprint") != fingerprint ||
            manifest.at("digest") != Shard(target).digest())
            return std::nullopt;
        return reportFrom(manifest);
    } catch (const Error&) {
        return std::nullopt; // it is made anew
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

std::string factsOf(const ClipJobs& jobs, const PredecodeSettings& settings, const Tally& tally)
{
    json facts = json::parse(settings.decode.json());
    const auto side = static_cast<std::uint64_t>(settings.decode.size);
    facts["kind"] = "frames";
    facts["program"] = "Vergence Studio " VERGENCE_VERSION;
    facts["sources_digest"] = sha256Hex(jobs.names);
    facts["statistics"] = statisticsOf(tally.sums, tally.frames * side * side);
    return facts.dump();
}

int workersFor(const PredecodeSettings& settings)
{
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    return std::clamp(settings.workers > 0 ? settings.workers : cores, 1, 256);
}

} // namespace

void addSource(ClipJobs& jobs, const fs::path& root, const fs::path& file)
{
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0)
        return; // reading it says why
    const std::string name =
        fmt::format("{}\t{}", file.lexically_relative(root).generic_string(), status.st_size);
    jobs.names += name + "\n";
    jobs.state +=
        fmt::format("{}\t{}.{:09}\n", name, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

Captions captionsFor(const fs::path& folder, const PredecodeSettings& settings, ClipJobs& jobs)
{
    const fs::path own = folder / "captions.jsonl";
    std::error_code code;
    const fs::path file = !settings.captions.empty()       ? settings.captions
                          : fs::is_regular_file(own, code) ? own
                                                           : fs::path();
    if (file.empty())
        return {};
    addSource(jobs, folder, file);
    return Captions::fromJsonLines(file);
}

std::optional<ClipText> captionOf(const fs::path& folder, const fs::path& file,
                                  const Captions& captions, ClipJobs& jobs)
{
    const fs::path beside = fs::path(file).replace_extension(".txt");
    std::error_code code;
    if (fs::is_regular_file(beside, code))
        addSource(jobs, folder, beside);
    return captions.find(folder, file);
}

std::vector<fs::path> filesBelow(const fs::path& folder,
                                 const std::function<bool(const fs::path&)>& isWanted)
{
    std::vector<fs::path> files;
    std::error_code code;
    if (fs::is_regular_file(folder, code))
        return {folder};
    const auto skips = fs::directory_options::skip_permission_denied;
    for (auto at = fs::recursive_directory_iterator(folder, skips, code);
         !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
        const std::string name = at->path().filename().string();
        std::error_code own;
        if (!name.starts_with('.') && at->is_regular_file(own) && isWanted(at->path()))
            files.push_back(at->path());
    }
    if (code)
        throw InputError(
            fmt::format("The folder {} cannot be read: {}.", folder.string(), code.message()));
    std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
        return a.generic_string() < b.generic_string();
    });
    return files;
}

bool hasPictureName(const fs::path& path)
{
    std::string ending = path.extension().string();
    std::ranges::transform(ending, ending.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

Image pictureFrom(const std::string& bytes, const fs::path& name)
{
    const bool isPng = bytes.starts_with("\x89PNG");
    const Image image = isPng ? decodePng(bytes, name) : decodeJpeg(bytes, name);
    return toRgb(upright(image, exifOrientation(bytes)));
}

DecodedClip clipOfPictures(std::size_t count, const DecodeSettings& settings,
                           const std::function<Image(std::size_t)>& picture)
{
    std::vector<double> times(count);
    for (std::size_t i = 0; i < count; ++i)
        times[i] = static_cast<double>(i);
    // Pictures have no times: where one a second is wanted, all are taken, spread if there are
    // more.
    const bool takesAll = settings.sampling == Sampling::Fps1;
    const int most = settings.frames;
    const int frames =
        takesAll ? static_cast<int>(std::min(count, static_cast<std::size_t>(most))) : most;
    DecodedClip clip;
    clip.isImage = count == 1;
    clip.isShort = !clip.isImage && count < static_cast<std::size_t>(frames);
    std::optional<std::size_t> last;
    std::vector<std::uint8_t> frame;
    for (const std::size_t i :
         pickFrames(times, static_cast<double>(count),
                    takesAll ? Sampling::UniformN : settings.sampling, frames)) {
        if (last != i)
            frame = fittedFrame(picture(i), settings);
        last = i;
        clip.frames.insert(clip.frames.end(), frame.begin(), frame.end());
        ++clip.count;
    }
    return clip;
}

std::string fingerprintOf(const ClipJobs& jobs, const PredecodeSettings& settings)
{
    return sha256Hex(settings.decode.json() + "\n" + jobs.state);
}

PredecodeReport writeClips(const ClipJobs& jobs, const fs::path& target,
                           const PredecodeSettings& settings,
                           const std::function<void(const PredecodeProgress&)>& progress,
                           std::stop_token stop)
{
    const std::string fingerprint = fingerprintOf(jobs, settings);
    if (const auto report = finished(target, fingerprint))
        return *report;
    const auto side = static_cast<std::uint32_t>(settings.decode.size);
    const bool isFixed = settings.decode.sampling != Sampling::Fps1;
    const ShardShape shape{isFixed ? static_cast<std::uint32_t>(settings.decode.frames) : 0u, 3,
                           side, side, ShardType::U8};
    std::error_code code;
    if (target.has_parent_path())
        fs::create_directories(target.parent_path(), code); // writing says why it cannot
    ShardWriter writer(target, shape, fingerprint);
    Tally tally;
    for (const std::string& note : writer.notes())
        tally.add(note);
    {
        OrderedWork work(jobs.jobs, writer.notes().size(), workersFor(settings));
        while (const auto made = work.next(stop)) {
            add(writer, jobs.jobs[writer.notes().size()], *made);
            tally.add(writer.notes().back());
            ++tally.report.decoded;
            if (progress)
                progress({writer.notes().size(), jobs.jobs.size(), tally.report.skipped.size()});
        }
    }
    if (writer.notes().size() < jobs.jobs.size())
        return tally.report;
    if (tally.report.clips == 0)
        throw InputError(fmt::format("No clip is left of {} sources; the first: {}",
                                     tally.report.videos, tally.report.skipped.front().reason));
    tally.report.digest = writer.commit(factsOf(jobs, settings, tally));
    tally.report.isComplete = true;
    json manifest = asJson(tally.report);
    manifest["fingerprint"] = fingerprint;
    manifest["settings"] = json::parse(settings.decode.json());
    writeFileAtomic(manifestOf(target), prettyJson(manifest));
    return tally.report;
}

} // namespace vergence::fvlm
