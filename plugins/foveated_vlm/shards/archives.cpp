#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "core/artifact/mapped_file.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/shards/clip_jobs.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBlock = 512;

/// A file within an archive.
struct Member {
    std::string name;
    std::string_view bytes;
};

std::string_view field(std::string_view block, std::size_t at, std::size_t size)
{
    const std::string_view text = block.substr(at, size);
    return text.substr(0, std::min(text.find('\0'), size));
}

/// Octal digits, or base 256 where the first bit is set; nothing for what is neither.
std::optional<std::uint64_t> numberIn(std::string_view text)
{
    if (!text.empty() && (static_cast<unsigned char>(text[0]) & 0x80)) {
        std::uint64_t value = 0;
        for (std::size_t i = text.size() - 8; i < text.size(); ++i)
            value = value << 8 | static_cast<unsigned char>(text[i]);
        return value;
    }
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::uint64_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value, 8);
    if (end.ec != std::errc())
        return std::nullopt;
    return value;
}

bool hasRightSum(std::string_view block)
{
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i)
        sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
    return numberIn(block.substr(148, 8)) == sum;
}

/// The name that a pax header gives the next member, or empty.
std::string paxPath(std::string_view records)
{
    while (!records.empty()) {
        std::size_t size = 0;
        std::from_chars(records.data(), records.data() + records.size(), size);
        if (size == 0 || size > records.size())
            return {};
        const std::string_view record = records.substr(0, size);
        const auto key = record.find(" path=");
        if (key != std::string_view::npos && key < 21)
            return std::string(record.substr(key + 6, size - key - 7));
        records.remove_prefix(size);
    }
    return {};
}

/// Members of a tar file in the POSIX and GNU forms. Throws InputError where it is damaged.
std::vector<Member> membersOf(std::string_view tar, const std::string& archive)
{
    const auto fail = [&](const char* what) {
        throw InputError(fmt::format("The archive {} cannot be used: {}.", archive, what));
    };
    std::vector<Member> members;
    std::string longName;
    while (tar.size() >= kBlock && tar[0] != '\0') {
        const std::string_view block = tar.substr(0, kBlock);
        if (!hasRightSum(block))
            fail("a header in it is damaged");
        const auto size = numberIn(block.substr(124, 12));
        tar.remove_prefix(kBlock);
        if (!size || *size > tar.size())
            fail("it is truncated");
        const std::string_view bytes = tar.substr(0, *size);
        tar.remove_prefix(std::min((*size + kBlock - 1) / kBlock * kBlock, tar.size()));
        const char type = block[156];
        if (type == 'L') {
            longName = std::string(bytes.substr(0, std::min(bytes.find('\0'), bytes.size())));
        } else if (type == 'x') {
            longName = paxPath(bytes);
        } else {
            std::string name(field(block, 0, 100));
            if (field(block, 257, 5) == "ustar" && !field(block, 345, 155).empty() &&
                block[262] != ' ')
                name = std::string(field(block, 345, 155)) + "/" + name;
            if (type == '0' || type == '\0')
                members.push_back({longName.empty() ? name : longName, bytes});
            longName.clear();
        }
    }
    return members;
}

/// Parts of one key.
struct Sample {
    std::map<std::uint64_t, Member> frames; ///< by number
    std::optional<Member> json;
};

/// "folder/key.012.jpg" is frame 12 of "folder/key"; "folder/key.jpg" its only one.
void sort(const Member& member, std::map<std::string, Sample>& samples)
{
    const std::size_t slash = member.name.rfind('/');
    const std::size_t dot = member.name.find('.', slash == std::string::npos ? 0 : slash + 1);
    if (dot == std::string::npos)
        return;
    const std::string key = member.name.substr(0, dot), ending = member.name.substr(dot + 1);
    if (ending == "json") {
        samples[key].json = member;
        return;
    }
    if (!hasPictureName(member.name))
        return;
    std::uint64_t number = 0;
    const auto digits = std::from_chars(ending.data(), ending.data() + ending.size(), number, 10);
    const bool isNumbered = digits.ec == std::errc() && *digits.ptr == '.';
    const bool isAlone = ending.find('.') == std::string::npos;
    if (isNumbered || isAlone)
        samples[key].frames[isAlone ? 0 : number] = member;
}

} // namespace

ClipJobs archiveJobs(const fs::path& path, const PredecodeSettings& settings)
{
    ClipJobs jobs;
    std::error_code code;
    const fs::path root = fs::is_directory(path, code) ? path : path.parent_path();
    for (const fs::path& file :
         filesBelow(path, [](const fs::path& at) { return at.extension() == ".tar"; })) {
        addSource(jobs, root, file);
        const auto mapped = std::make_shared<const MappedFile>(file);
        const auto bytes = mapped->bytes();
        std::map<std::string, Sample> samples;
        for (const Member& member :
             membersOf({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string()))
            sort(member, samples);
        for (const auto& [key, sample] : samples) {
            ClipJob job;
            job.name = file.lexically_relative(root).generic_string() + "/" + key;
            std::vector<Member> frames;
            for (const auto& [number, member] : sample.frames)
                frames.push_back(member);
            if (sample.json) {
                const ClipText text = clipTextFromJson(
                    sample.json->bytes, fmt::format("{}, {}", file.string(), sample.json->name));
                if (!text.answer.empty() || !text.prompt.empty() || !text.chosen.empty())
                    job.text = text;
            }
            job.make = [mapped, frames, name = job.name, how = settings.decode] {
                if (frames.empty())
                    throw InputError(fmt::format("The sample {} has no pictures.", name));
                return clipOfPictures(frames.size(), how, [&](std::size_t i) {
                    return pictureFrom(std::string(frames[i].bytes), frames[i].name);
                });
            };
            jobs.jobs.push_back(std::move(job));
        }
    }
    return jobs;
}

} // namespace vergence::fvlm
