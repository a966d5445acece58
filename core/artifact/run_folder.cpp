#include "core/artifact/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throwCannotMake(const fs::path& path, const std::error_code& code)
{
    const bool full = code == std::errc::no_space_on_device;
    throw OutputError(fmt::format("Cannot make the run folder {}: {}. Choose another folder{}.",
                                  path.string(), code.message(), full ? " or free some space" : ""),
                      full);
}

void makeFolders(const fs::path& path)
{
    std::error_code code;
    fs::create_directories(path, code);
    if (code)
        throwCannotMake(path, code);
}

void makeSubfolders(const RunFolder& folder)
{
    for (const auto& path :
         {folder.checkpoints(), folder.artifacts(), folder.previews(), folder.exports()})
        makeFolders(path);
}

/// "2026-03-02T10-15-07Z" at the front of a name.
bool startsWithTime(std::string_view name)
{
    constexpr std::string_view kPattern = "0000-00-00T00-00-00Z";
    if (name.size() < kPattern.size())
        return false;
    for (std::size_t i = 0; i < kPattern.size(); ++i) {
        const bool digit = name[i] >= '0' && name[i] <= '9';
        if (kPattern[i] == '0' ? !digit : name[i] != kPattern[i])
            return false;
    }
    return true;
}

/// Time of a status file in the spelling of folder names, to sort folders that people named.
std::string timeForPath(std::time_t seconds)
{
    std::tm t{};
    gmtime_r(&seconds, &t);
    return fmt::format("{:04}-{:02}-{:02}T{:02}-{:02}-{:02}Z", t.tm_year + 1900, t.tm_mon + 1,
                       t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
}

} // namespace

RunFolder RunFolder::create(const fs::path& parent, const std::string& plugin)
{
    expects(!plugin.empty() && plugin.find('/') == std::string::npos,
            "RunFolder::create: plugin id");
    makeFolders(parent);
    std::random_device random;
    std::error_code code;
    for (int attempt = 0; attempt < 64; ++attempt) {
        const RunFolder folder{fs::absolute(parent) / fmt::format("{}-{}-{:04x}", utcNowForPath(),
                                                                  plugin, random() & 0xffffu)};
        if (fs::create_directory(folder.root, code)) {
            makeSubfolders(folder);
            return folder;
        }
        if (code)
            throwCannotMake(folder.root, code);
    }
    throwCannotMake(parent, std::make_error_code(std::errc::file_exists));
}

RunFolder RunFolder::createAt(const fs::path& root)
{
    std::error_code code;
    if (fs::exists(root, code) && (!fs::is_directory(root, code) || !fs::is_empty(root, code))) {
        throw OutputError(fmt::format(
            "Cannot use {} as a new run folder: it is not an empty folder. Choose another name.",
            root.string()));
    }
    makeFolders(root);
    const RunFolder folder{fs::absolute(root).lexically_normal()};
    makeSubfolders(folder);
    return folder;
}

RunFolder RunFolder::open(const fs::path& root)
{
    RunFolder folder{fs::absolute(root).lexically_normal()};
    if (!folder.root.has_filename())
        folder.root = folder.root.parent_path();
    std::error_code code;
    for (const auto& file : {folder.status(), folder.config()}) {
        if (!fs::is_regular_file(file, code)) {
            throw InputError(fmt::format("{} is not a run folder: {} is missing.",
                                         folder.root.string(), file.filename().string()));
        }
    }
    return folder;
}

std::vector<RunFolder> listRuns(const fs::path& parent)
{
    struct Found {
        std::string key, name;
    };
    std::vector<Found> found;
    DIR* directory = ::opendir(parent.c_str());
    if (!directory)
        return {};
    while (const dirent* entry = ::readdir(directory)) {
        if (entry->d_name[0] == '.')
            continue;
        std::string name = entry->d_name;
        struct stat status {};
        if (::fstatat(::dirfd(directory), (name + "/status.json").c_str(), &status, 0) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        std::string key = startsWithTime(name) ? name : timeForPath(status.st_mtime) + name;
        found.push_back({std::move(key), std::move(name)});
    }
    ::closedir(directory);
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.key > b.key; });
    std::vector<RunFolder> runs;
    runs.reserve(found.size());
    for (const Found& one : found)
        runs.push_back({parent / one.name});
    return runs;
}

fs::path defaultRunsFolder()
{
    const char* wanted = std::getenv("VERGENCE_RUNS");
    if (wanted && wanted[0] != '\0')
        return wanted;
    return fs::current_path() / "runs";
}

} // namespace vergence
