#include <array>
#include <functional>
#include <memory>
#include <set>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/bundle.h"
#include "core/artifact/digest.h"
#include "core/artifact/export_names.h"
#include "core/artifact/json_text.h"
#include "core/artifact/manifest.h"
#include "core/artifact/output_file.h"
#include "core/artifact/zip_archive.h"
#include "core/base/error.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kManifest = "manifest.json";
constexpr std::uint64_t kLongestManifest = 256u << 20;

/// One file as a manifest names it.
struct Expected {
    std::string path, sha256;
};

/// The list of files of a bundle, or the artifacts of a run. Entries without a hash or with a
/// strange path are problems.
std::vector<Expected> expectedFiles(const json& manifest, std::vector<std::string>& problems)
{
    std::vector<Expected> expected;
    std::set<std::string> seen;
    for (const char* list : {"files", "artifacts"}) {
        const auto found = manifest.find(list);
        if (found == manifest.end() || !found->is_array())
            continue;
        for (const json& item : *found) {
            const bool good = item.is_object() && item.contains("path") &&
                              item["path"].is_string() && item.contains("sha256") &&
                              item["sha256"].is_string() &&
                              isPlainRelativePath(item["path"].get<std::string>());
            if (!good)
                problems.push_back(
                    fmt::format("manifest.json: an entry of `{}` has no path or hash", list));
            else if (seen.insert(item["path"].get<std::string>()).second)
                expected.push_back(
                    {item["path"].get<std::string>(), item["sha256"].get<std::string>()});
        }
    }
    return expected;
}

/// Reads an entry piece by piece; returns a reason where that fails, else an empty text.
std::string readEntry(const ZipArchive& zip, zip_uint64_t index,
                      const std::function<void(std::string_view)>& take)
{
    const std::unique_ptr<zip_file_t, zip_int64_t (*)(zip_file_t*)> file(
        zip_fopen_index(zip.handle(), index, 0),
        [](zip_file_t* open) -> zip_int64_t { return zip_fclose(open); });
    if (!file)
        return zip.reason();
    std::vector<char> block(1u << 18);
    zip_int64_t count = 0;
    std::string reason;
    while ((count = zip_fread(file.get(), block.data(), block.size())) > 0)
        take({block.data(), static_cast<std::size_t>(count)});
    if (count < 0)
        reason = zip_file_strerror(file.get());
    return reason;
}

json manifestIn(const ZipArchive& zip, const fs::path& path)
{
    zip_stat_t facts;
    if (zip_stat(zip.handle(), kManifest, 0, &facts) != 0)
        throw InputError(fmt::format(
            "{} is not a bundle of Vergence Studio: it has no manifest.json.", path.string()));
    if (facts.size > kLongestManifest)
        throw InputError(fmt::format("{}: its manifest.json is too large.", path.string()));
    std::string text;
    const std::string reason = readEntry(zip, facts.index, [&](std::string_view piece) {
        text.append(piece.substr(0, facts.size - text.size()));
    });
    if (!reason.empty())
        throw InputError(
            fmt::format("Cannot read manifest.json in {}: {}.", path.string(), reason));
    json manifest = parseJson(text, path.string() + ": manifest.json");
    if (!manifest.is_object())
        throw InputError(fmt::format("{}: its manifest.json is not an object.", path.string()));
    return manifest;
}

/// What is to be unpacked, judged before anything is written.
struct Plan {
    struct File {
        zip_uint64_t index;
        std::string path;
        std::uint64_t bytes;
    };
    std::vector<File> files;
};

bool isLink(const ZipArchive& zip, zip_uint64_t index)
{
    zip_uint8_t system = 0;
    zip_uint32_t attributes = 0;
    if (zip_file_get_external_attributes(zip.handle(), index, 0, &system, &attributes) != 0 ||
        system != ZIP_OPSYS_UNIX)
        return false;
    const std::uint32_t type = attributes >> 16 & S_IFMT;
    return type != 0 && type != S_IFREG && type != S_IFDIR; // links, devices, pipes
}

Plan planUnpacking(const ZipArchive& zip, const fs::path& path, std::uint64_t limitBytes)
{
    Plan plan;
    std::set<std::string> seen;
    std::uint64_t total = 0;
    const auto refuse = [&](const std::string& reason) {
        throw InputError(fmt::format("{} was not opened: {}.", path.string(), reason));
    };
    const zip_int64_t count = zip_get_num_entries(zip.handle(), 0);
    for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
        zip_stat_t facts;
        if (zip_stat_index(zip.handle(), i, 0, &facts) != 0 || !(facts.valid & ZIP_STAT_SIZE) ||
            !(facts.valid & ZIP_STAT_NAME))
            refuse(fmt::format("entry {} is damaged", i));
        std::string name = facts.name;
        const bool isFolder = name.ends_with('/');
        if (isFolder)
            name.pop_back();
        if (!isPlainRelativePath(name))
            refuse(
                fmt::format("the entry `{}` would be written outside of the folder", facts.name));
        if (isLink(zip, i))
            refuse(fmt::format("the entry `{}` is a link or a device", name));
        if (!seen.insert(name).second)
            refuse(fmt::format("the entry `{}` is there twice", name));
        if (facts.size > limitBytes - total)
            refuse(fmt::format("it would unpack to more than {} MiB", limitBytes >> 20));
        total += facts.size;
        if (!isFolder)
            plan.files.push_back({i, name, facts.size});
    }
    return plan;
}

/// Never writes more than the size that was judged, whatever the compressed data say.
void unpackFile(const ZipArchive& zip, const Plan::File& file, const fs::path& target)
{
    std::error_code code;
    fs::create_directories(target.parent_path(), code);
    if (code)
        throwCannotWrite(target.parent_path(), code.value());
    OutputFile out(target);
    std::uint64_t bytes = 0;
    std::string reason = readEntry(zip, file.index, [&](std::string_view piece) {
        bytes += piece.size();
        if (bytes > file.bytes)
            throw InputError(
                fmt::format("The bundle's entry `{}` is larger than it says.", file.path));
        out.write(piece);
    });
    if (reason.empty() && bytes != file.bytes)
        reason = "it is shorter than it says";
    if (!reason.empty())
        throw InputError(fmt::format("Cannot unpack `{}`: {}.", file.path, reason));
    out.commit();
}

/// A folder that disappears unless it is released.
class PendingFolder {
public:
    explicit PendingFolder(fs::path path) : m_path(std::move(path)) {}
    ~PendingFolder()
    {
        std::error_code code;
        if (!m_path.empty())
            fs::remove_all(m_path, code);
    }
    PendingFolder(const PendingFolder&) = delete;
    PendingFolder& operator=(const PendingFolder&) = delete;
    void moveTo(const fs::path& target)
    {
        std::error_code code;
        fs::rename(m_path, target, code);
        if (code)
            throwCannotWrite(target, code.value());
        m_path.clear();
    }

private:
    fs::path m_path;
};

/// The run's own id where it can be a folder name, else the name of the ZIP; with a number where
/// that is taken.
fs::path freeFolder(const fs::path& parent, const json& manifest, const fs::path& zip)
{
    std::string id;
    const auto run = manifest.find("run");
    if (run != manifest.end() && run->is_object() && run->contains("id") &&
        (*run)["id"].is_string())
        id = (*run)["id"].get<std::string>();
    if (!isPlainRelativePath(id) || id.find('/') != std::string::npos || id.front() == '.' ||
        id.size() > 200)
        id = zip.stem().string();
    return freePath(parent / id);
}

} // namespace

VerifyResult verifyRun(const RunFolder& folder)
{
    VerifyResult result;
    for (const Expected& file : expectedFiles(readManifest(folder), result.problems)) {
        const fs::path path = folder.root / file.path;
        std::error_code code;
        ++result.filesChecked;
        if (!fs::is_regular_file(path, code))
            result.problems.push_back(fmt::format("{}: missing", file.path));
        else if (sha256OfFile(path) != file.sha256)
            result.problems.push_back(fmt::format("{}: hash differs from the manifest", file.path));
    }
    return result;
}

VerifyResult verifyBundle(const fs::path& path)
{
    const ZipArchive zip = ZipArchive::openForReading(path);
    VerifyResult result;
    std::set<std::string> named{kManifest};
    for (const Expected& file : expectedFiles(manifestIn(zip, path), result.problems)) {
        ++result.filesChecked;
        named.insert(file.path);
        const zip_int64_t index = zip_name_locate(zip.handle(), file.path.c_str(), 0);
        if (index < 0) {
            result.problems.push_back(fmt::format("{}: missing", file.path));
            continue;
        }
        Digest digest;
        const std::string reason = readEntry(zip, static_cast<zip_uint64_t>(index),
                                             [&](std::string_view piece) { digest.add(piece); });
        if (!reason.empty())
            result.problems.push_back(fmt::format("{}: {}", file.path, reason));
        else if (digest.hex() != file.sha256)
            result.problems.push_back(fmt::format("{}: hash differs from the manifest", file.path));
    }
    const zip_int64_t count = zip_get_num_entries(zip.handle(), 0);
    for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
        const char* name = zip_get_name(zip.handle(), i, 0);
        if (name && !std::string_view(name).ends_with('/') && !named.contains(name))
            result.problems.push_back(fmt::format("{}: not in the manifest", name));
    }
    return result;
}

RunFolder openBundle(const fs::path& path, const fs::path& parent, std::uint64_t limitBytes)
{
    const ZipArchive zip = ZipArchive::openForReading(path);
    const json manifest = manifestIn(zip, path);
    const Plan plan = planUnpacking(zip, path, limitBytes);
    std::error_code code;
    fs::create_directories(parent, code);
    if (code)
        throwCannotWrite(parent, code.value());
    const fs::path target = freeFolder(fs::absolute(parent), manifest, path);
    const fs::path hidden =
        target.parent_path() / fmt::format(".{}.{}.part", target.filename().string(), ::getpid());
    PendingFolder pending(hidden);
    for (const Plan::File& file : plan.files)
        unpackFile(zip, file, hidden / file.path);
    const RunFolder unpacked = RunFolder::open(hidden);
    for (const fs::path& folder :
         {unpacked.checkpoints(), unpacked.artifacts(), unpacked.previews(), unpacked.exports()}) {
        fs::create_directories(folder, code);
        if (code)
            throwCannotWrite(folder, code.value());
    }
    pending.moveTo(target);
    return RunFolder::open(target);
}

} // namespace vergence
