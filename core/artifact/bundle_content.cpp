#include "core/artifact/bundle_content.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include <sys/stat.h>

#include <fmt/format.h>

#include "core/artifact/anonymiser.h"
#include "core/artifact/artifact_store.h"
#include "core/artifact/digest.h"
#include "core/artifact/json_text.h"
#include "core/artifact/manifest.h"
#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kManifest = "manifest.json";
constexpr const char* kReadme = "README.txt";
constexpr const char* kStatus = "status.json";
constexpr std::array kOfProcesses{"explore.json", "job.json", "job.sh"}; ///< mean nothing elsewhere
constexpr std::array kFoldersOfProcesses{"lease/", "live/", "requests/"};
constexpr std::uint64_t kSmall =
    1u << 20; ///< files up to here are held in memory, so that a live run cannot change them

bool isOfProcesses(const std::string& path)
{
    const bool isInFolder = std::ranges::any_of(
        kFoldersOfProcesses, [&](const char* folder) { return path.rfind(folder, 0) == 0; });
    return isInFolder || std::ranges::count(kOfProcesses, path) > 0;
}

bool isWanted(const std::string& path, const BundleOptions& options)
{
    const std::string name = path.substr(path.rfind('/') + 1);
    return isPlainRelativePath(path) && path != kManifest && path != kReadme &&
           !isOfProcesses(path) && !name.ends_with(".part") &&
           (options.includesCheckpoints || path.rfind("checkpoints/", 0) != 0) &&
           path.rfind("exports/", 0) != 0;
}

/// Every regular file below the run; no links, no hidden files or folders.
std::set<std::string> allFiles(const RunFolder& folder, const BundleOptions& options)
{
    std::set<std::string> paths;
    for (auto entry = fs::recursive_directory_iterator(folder.root);
         entry != fs::recursive_directory_iterator(); ++entry) {
        const bool hidden = entry->path().filename().string().front() == '.';
        if (hidden && entry->is_directory())
            entry.disable_recursion_pending();
        const std::string path = entry->path().lexically_relative(folder.root).generic_string();
        if (!hidden && fs::is_regular_file(entry->symlink_status()) && isWanted(path, options))
            paths.insert(path);
    }
    return paths;
}

/// The chosen files, and always what makes the bundle a run folder again.
std::set<std::string> choose(const RunFolder& folder, const BundleOptions& options)
{
    if (options.files.empty())
        return allFiles(folder, options);
    std::set<std::string> paths;
    for (const std::string& path : options.files) {
        if (path == kManifest || path == kReadme || isOfProcesses(path))
            continue;
        if (!isPlainRelativePath(path) ||
            !fs::is_regular_file(fs::symlink_status(folder.root / path)))
            throw InputError(
                fmt::format("Cannot export {}: the run {} has no such file.", path, folder.id()));
        paths.insert(path);
    }
    for (const char* path : {"config.toml", kStatus}) {
        if (fs::is_regular_file(folder.root / path))
            paths.insert(path);
    }
    return paths;
}

/// Of the worker, which may still serve views of the run: it means nothing elsewhere, and equal
/// runs give equal bundles.
std::string withoutProcess(const std::string& text)
{
    json status = json::parse(text, nullptr, false);
    if (!status.is_object())
        return text;
    status["heartbeat"] = 0;
    status["pid"] = 0;
    status["boot_id"] = "";
    status["host"] = "";
    status["job"] = "";
    status["socket"] = "";
    status["rings"] = json::array();
    return prettyJson(status);
}

BundleEntry textEntry(std::string path, std::string text, std::time_t time)
{
    BundleEntry entry;
    entry.path = std::move(path);
    entry.bytes = text.size();
    entry.sha256 = sha256Hex(text);
    entry.text = std::move(text);
    entry.time = time;
    return entry;
}

/// Reads files into entries.
class Gatherer {
public:
    Gatherer(const RunFolder& folder, const BundleOptions& options,
             const std::function<bool(std::uint64_t)>& advance)
        : m_folder(folder),
          m_anonymises(options.anonymisesPaths),
          m_anonymiser(folder),
          m_advance(advance)
    {
    }

    /// False when cancelled.
    bool add(const std::string& path)
    {
        const fs::path file = m_folder.root / path;
        struct stat facts {};
        if (::stat(file.c_str(), &facts) != 0)
            throw InputError(
                fmt::format("Cannot read {}: {}.", file.string(), std::strerror(errno)));
        const bool isStatus = path == kStatus;
        const bool changes = isStatus || (m_anonymises && Anonymiser::isText(path));
        if (changes || static_cast<std::uint64_t>(facts.st_size) <= kSmall) {
            std::string text = readFile(file);
            if (isStatus)
                text = withoutProcess(text);
            if (changes)
                text = anonymise(std::move(text));
            m_done += static_cast<std::uint64_t>(facts.st_size);
            m_entries.push_back(textEntry(path, std::move(text), facts.st_mtime));
            return m_advance(m_done);
        }
        return addLarge(path, file, facts);
    }

    std::string anonymise(std::string text) const
    {
        return m_anonymises ? m_anonymiser.apply(std::move(text)) : text;
    }
    std::vector<BundleEntry>& entries() { return m_entries; }

private:
    bool addLarge(const std::string& path, const fs::path& file, const struct stat& facts)
    {
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(
            std::fopen(file.c_str(), "rbe"), std::fclose);
        if (!stream)
            throw InputError(
                fmt::format("Cannot read {}: {}.", file.string(), std::strerror(errno)));
        BundleEntry entry;
        entry.path = path;
        entry.file = file;
        entry.bytes = static_cast<std::uint64_t>(facts.st_size);
        entry.time = facts.st_mtime;
        entry.inode = facts.st_ino;
        Digest digest;
        std::vector<char> block(kSmall);
        for (std::uint64_t left = entry.bytes; left > 0;) {
            const std::size_t wanted = std::min<std::uint64_t>(left, block.size());
            if (std::fread(block.data(), 1, wanted, stream.get()) != wanted)
                throw InputError(fmt::format("Cannot read {} to its end.", file.string()));
            digest.add({block.data(), wanted});
            left -= wanted;
            if (!m_advance(m_done += wanted))
                return false;
        }
        entry.sha256 = digest.hex();
        m_entries.push_back(std::move(entry));
        return true;
    }

    const RunFolder& m_folder;
    bool m_anonymises;
    Anonymiser m_anonymiser;
    const std::function<bool(std::uint64_t)>& m_advance;
    std::uint64_t m_done = 0;
    std::vector<BundleEntry> m_entries;
};

std::string readmeText(const RunFolder& folder, const json& manifest)
{
    const json plugin = manifest.value("plugin", json());
    const std::string lab = plugin.is_object() && plugin.contains("id") && plugin["id"].is_string()
                                ? plugin["id"].get<std::string>()
                                : "unknown lab";
    return fmt::format(
        "Run {} ({}), exported by Vergence Studio {}.\n\n"
        "config.toml      every parameter\n"
        "metrics.csv      every reported number: step, wall_s, name, value\n"
        "artifacts/       results\n"
        "manifest.json    how it was made, and the SHA-256 of every file here\n\n"
        "Open this file in Vergence Studio, or unpack it: the content is a run folder.\n"
        "`vergence runs verify FILE` checks every hash.\n",
        folder.id(), lab, VERGENCE_VERSION);
}

/// The run's manifest with hashes as they are in the bundle, artifacts left out removed, and a list
/// of all files.
json bundleManifest(json manifest, const std::vector<BundleEntry>& entries)
{
    std::map<std::string, const BundleEntry*> byPath;
    json files = json::array();
    for (const BundleEntry& entry : entries) {
        byPath[entry.path] = &entry;
        files.push_back({{"path", entry.path}, {"sha256", entry.sha256}, {"bytes", entry.bytes}});
    }
    json artifacts = json::array();
    for (const Artifact& artifact : artifactsOf(manifest)) {
        const auto found = byPath.find(artifact.path);
        if (found != byPath.end()) {
            artifacts.push_back({{"path", artifact.path},
                                 {"role", artifact.role},
                                 {"title", artifact.title},
                                 {"sha256", found->second->sha256},
                                 {"bytes", found->second->bytes}});
        }
    }
    manifest["artifacts"] = std::move(artifacts);
    manifest["files"] = std::move(files);
    const auto input = byPath.find("config.input.toml");
    if (input != byPath.end() && manifest.contains("config") && manifest["config"].is_object() &&
        manifest["config"].contains("input_sha256"))
        manifest["config"]["input_sha256"] = input->second->sha256;
    return manifest;
}

void sortByPath(std::vector<BundleEntry>& entries)
{
    std::sort(entries.begin(), entries.end(),
              [](const BundleEntry& a, const BundleEntry& b) { return a.path < b.path; });
}

} // namespace

std::uint64_t bundleBytes(const RunFolder& folder, const BundleOptions& options)
{
    std::uint64_t bytes = 0;
    for (const std::string& path : choose(folder, options))
        bytes += fs::file_size(folder.root / path);
    return bytes;
}

std::vector<std::pair<std::string, std::uint64_t>> bundleFiles(const RunFolder& folder)
{
    std::vector<std::pair<std::string, std::uint64_t>> files;
    for (const std::string& path : allFiles(folder, {}))
        files.emplace_back(path, fs::file_size(folder.root / path));
    return files;
}

std::vector<BundleEntry> gatherBundle(const RunFolder& folder, const BundleOptions& options,
                                      const std::function<bool(std::uint64_t)>& advance)
{
    Gatherer gatherer(folder, options, advance);
    for (const std::string& path : choose(folder, options)) {
        if (!gatherer.add(path))
            return {};
    }
    std::vector<BundleEntry>& entries = gatherer.entries();
    std::time_t newest = 0;
    for (const BundleEntry& entry : entries)
        newest = std::max(newest, entry.time);
    const bool hasManifest = fs::exists(folder.manifest());
    const std::string text =
        gatherer.anonymise(prettyJson(hasManifest ? readManifest(folder) : makeManifest(folder)));
    const json manifest = parseJson(text, folder.manifest().string());
    entries.push_back(textEntry(kReadme, gatherer.anonymise(readmeText(folder, manifest)), newest));
    sortByPath(entries);
    entries.push_back(textEntry(kManifest, prettyJson(bundleManifest(manifest, entries)), newest));
    sortByPath(entries);
    return std::move(entries);
}

} // namespace vergence
