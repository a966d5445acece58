#include "core/run/socket_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::size_t kLongestPath = 90;
constexpr std::size_t kLongestName = 20; // "/run-4194304.socket"

/// Makes the folder; nothing where another user owns it or others may enter.
bool makePrivate(const std::filesystem::path& folder)
{
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return false;
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::getuid())
        return false;
    return (info.st_mode & 077) == 0 || ::chmod(folder.c_str(), 0700) == 0;
}

} // namespace

std::filesystem::path socketFolder()
{
    if (const char* runtime = std::getenv("XDG_RUNTIME_DIR");
        runtime != nullptr && runtime[0] == '/') {
        const std::filesystem::path folder = std::filesystem::path(runtime) / "vergence";
        if (folder.string().size() + kLongestName <= kLongestPath && makePrivate(folder))
            return folder;
    }
    const std::filesystem::path fallback = fmt::format("/tmp/vergence-{}", ::getuid());
    if (!makePrivate(fallback))
        throw OutputError(fmt::format(
            "Cannot use {} for sockets: {}. Set XDG_RUNTIME_DIR to a folder of your own.",
            fallback.string(), std::strerror(errno)));
    return fallback;
}

std::string socketPath()
{
    return (socketFolder() / fmt::format("run-{}.socket", ::getpid())).string();
}

} // namespace vergence
