#include "tests/support/mortal_disk.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

char mortalFolder[PATH_MAX];
std::atomic<bool> isArmed{false};
std::mutex mutex; // of what follows
std::uint64_t bytesLeft = 0;
int logFile = -1;

/// Empty where the file does not lie below the folder.
std::string mortalPath(int descriptor)
{
    char target[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), target, sizeof(target) - 1);
    const std::size_t prefix = std::strlen(mortalFolder);
    if (length <= static_cast<ssize_t>(prefix) || std::strncmp(target, mortalFolder, prefix) != 0)
        return {};
    return {target + prefix + 1, target + length};
}

/// How many of `count` bytes may still be written; the caller dies where that is not all.
std::size_t granted(const std::string& path, std::size_t count)
{
    const std::size_t allowed = std::min<std::uint64_t>(bytesLeft, count);
    bytesLeft -= allowed;
    const std::string line = std::to_string(allowed) + " " + path + "\n";
    ::syscall(SYS_write, logFile, line.data(), line.size());
    return allowed;
}

void die()
{
    ::kill(::getpid(), SIGKILL);
    for (;;)
        ::pause();
}

} // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int descriptor, const void* bytes,
                                                                size_t count)
{
    const std::string path = isArmed ? mortalPath(descriptor) : std::string();
    if (path.empty())
        return ::syscall(SYS_write, descriptor, bytes, count);
    const std::lock_guard lock(mutex);
    const std::size_t allowed = granted(path, count);
    const ssize_t written = ::syscall(SYS_write, descriptor, bytes, allowed);
    if (bytesLeft == 0)
        die();
    return written;
}

/// What other files still hold in their buffers is lost with the process, as it would be.
extern "C" __attribute__((visibility("default"))) size_t fwrite(const void* bytes, size_t size,
                                                                size_t count, FILE* stream)
{
    const std::string path = isArmed ? mortalPath(::fileno(stream)) : std::string();
    if (path.empty())
        return ::fwrite_unlocked(bytes, size, count, stream);
    const std::lock_guard lock(mutex);
    const std::size_t allowed = granted(path, size * count);
    const std::size_t written = ::fwrite_unlocked(bytes, 1, allowed, stream);
    if (bytesLeft == 0) {
        ::fflush_unlocked(stream);
        die();
    }
    return size == 0 ? 0 : written / size;
}

namespace vergence::testing {

void dieAfterBytes(const std::filesystem::path& folder, std::uint64_t bytes,
                   const std::filesystem::path& log)
{
    std::strncpy(mortalFolder, std::filesystem::canonical(folder).c_str(),
                 sizeof(mortalFolder) - 1);
    logFile = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bytesLeft = bytes;
    isArmed = logFile >= 0;
}

} // namespace vergence::testing
