#include "tests/support/full_disk.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

char fullFolder[PATH_MAX];
std::atomic<bool> isFull{false};

bool isBelowFullFolder(int descriptor)
{
    char target[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), target, sizeof(target) - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    return std::strncmp(target, fullFolder, std::strlen(fullFolder)) == 0;
}

} // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int descriptor, const void* bytes,
                                                                size_t count)
{
    if (isFull && isBelowFullFolder(descriptor)) {
        errno = ENOSPC;
        return -1;
    }
    return ::syscall(SYS_write, descriptor, bytes, count);
}

namespace vergence::testing {

FullDisk::FullDisk(const std::filesystem::path& folder)
{
    std::strncpy(fullFolder, std::filesystem::canonical(folder).c_str(), sizeof(fullFolder) - 1);
    isFull = true;
}

FullDisk::~FullDisk()
{
    isFull = false;
}

} // namespace vergence::testing
