#include "core/base/file_clock.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"

namespace vergence {

namespace {

double secondsOf(const timespec& time)
{
    constexpr double kNano = 1e-9;
    return static_cast<double>(time.tv_sec) + kNano * static_cast<double>(time.tv_nsec);
}

/// A new file of `folder` that has no name, or has lost it; -1 where none can be made.
int makeNamelessFile(const std::filesystem::path& folder)
{
    const int nameless = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (nameless >= 0)
        return nameless;
    std::string name = (folder / ".clock-XXXXXX").string(); // NFS knows no files without names
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0)
        ::unlink(name.c_str());
    return named;
}

/// When a file made now is stamped.
std::optional<double> stampOf(const std::filesystem::path& folder)
{
    const int file = makeNamelessFile(folder);
    if (file < 0)
        return std::nullopt;
    struct stat facts {};
    const bool isKnown = ::fstat(file, &facts) == 0;
    ::close(file);
    return isKnown ? std::optional(secondsOf(facts.st_mtim)) : std::nullopt;
}

/// What to add to steadySeconds() for the clock of one file system.
struct Offset {
    double seconds = 0, measuredAt = 0;
};

} // namespace

double fileSystemSeconds(const std::filesystem::path& folder)
{
    constexpr double kGoodFor = 10; // s; a clock that is set shows after that
    static std::mutex mutex;
    static std::map<dev_t, Offset> offsets;
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0)
        return epochSeconds();
    const std::lock_guard lock(mutex);
    const auto known = offsets.find(facts.st_dev);
    const double now = steadySeconds();
    if (known != offsets.end() && now - known->second.measuredAt < kGoodFor)
        return now + known->second.seconds;
    const auto stamp = stampOf(folder);
    if (!stamp)
        return epochSeconds();
    offsets[facts.st_dev] = {*stamp - now, now};
    return *stamp;
}

std::optional<double> secondsSinceWritten(const std::filesystem::path& file)
{
    struct stat facts {};
    if (::stat(file.c_str(), &facts) != 0)
        return std::nullopt;
    return std::max(0.0, fileSystemSeconds(file.parent_path()) - secondsOf(facts.st_mtim));
}

} // namespace vergence
