#include "core/artifact/run_lease.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/remote_run.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/file_clock.h"
#include "core/base/shell_word.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

constexpr const char* kHeld = ".json";
constexpr const char* kReleased = ".released";

fs::path leasesOf(const RunFolder& folder)
{
    return folder.root / "lease";
}

struct Lease {
    fs::path file;
    std::int64_t number = 0;
    bool isReleased = false;
};

std::optional<Lease> leaseFrom(const fs::path& file)
{
    Lease lease{file, 0, file.extension() == kReleased};
    if (!lease.isReleased && file.extension() != kHeld)
        return std::nullopt;
    const std::string digits = file.stem().string();
    const char* end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, lease.number);
    return error == std::errc() && rest == end ? std::optional(lease) : std::nullopt;
}

/// In order of their numbers.
std::vector<Lease> leasesIn(const fs::path& folder)
{
    std::vector<Lease> leases;
    std::error_code code;
    for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code)) {
        if (const auto lease = leaseFrom(entry->path()))
            leases.push_back(*lease);
    }
    std::ranges::sort(leases, {}, &Lease::number);
    return leases;
}

/// The holder as a status, of which process, host and heartbeat tell whether it lives. Empty where
/// the file is being written or was removed.
RunStatus holderOf(const Lease& lease)
{
    RunStatus holder;
    try {
        const auto object = nlohmann::json::parse(readFile(lease.file));
        holder.pid = object.value("pid", 0);
        holder.host = object.value("host", "");
        holder.bootId = object.value("boot_id", "");
        holder.job = object.value("job", "");
        holder.heartbeat = object.value("since", 0.0);
    } catch (const std::exception&) {
    }
    return holder;
}

bool isHeld(const Lease& lease, const RunStatus& holder)
{
    if (lease.isReleased)
        return false;
    if (isOfThisComputer(holder))
        return isWorkerAlive(holder);
    const auto silence = secondsSinceWritten(lease.file);
    return silence && *silence <= kSilence;
}

[[noreturn]] void refuse(const RunFolder& folder, const RunStatus& holder)
{
    std::string who;
    if (holder.pid > 0)
        who = fmt::format(" (process {}{}{}{})", holder.pid,
                          holder.host.empty() ? "" : " of " + holder.host,
                          holder.job.empty() ? "" : ", ", holder.job);
    throw RunTaken(
        fmt::format("Another process works on the run {}{}; stop it first.", folder.id(), who));
}

[[noreturn]] void throwCannotTake(const fs::path& file, int error)
{
    throw OutputError(fmt::format("Cannot note in {} who works on the run: {}.", file.string(),
                                  std::strerror(error)),
                      error == ENOSPC || error == EDQUOT);
}

std::string describeThisProcess()
{
    return nlohmann::json{{"pid", ::getpid()},
                          {"host", currentHost()},
                          {"boot_id", currentBootId()},
                          {"job", currentJob()},
                          {"since", epochSeconds()}}
               .dump(2) +
           "\n";
}

/// False where somebody was faster.
bool make(const fs::path& path)
{
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0) {
        if (errno == EEXIST)
            return false;
        throwCannotTake(path, errno);
    }
    const std::string text = describeThisProcess();
    const bool isWritten =
        ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::fsync(file) == 0;
    const int error = errno;
    ::close(file);
    if (isWritten)
        return true;
    ::unlink(path.c_str());
    throwCannotTake(path, error);
}

/// The folder, locked; -1 where the file system knows no locks.
int lockedFolder(const RunFolder& folder)
{
    const int directory = ::open(folder.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || ::flock(directory, LOCK_EX | LOCK_NB) == 0)
        return directory;
    const bool isTaken = errno == EWOULDBLOCK;
    ::close(directory);
    if (!isTaken)
        return -1;
    const auto leases = leasesIn(leasesOf(folder));
    refuse(folder, leases.empty() ? RunStatus() : holderOf(leases.back()));
}

/// Closes a folder unless it is kept.
class FolderGuard {
public:
    explicit FolderGuard(int directory) : m_directory(directory) {}
    ~FolderGuard()
    {
        if (m_directory >= 0)
            ::close(m_directory);
    }
    FolderGuard(const FolderGuard&) = delete;
    FolderGuard& operator=(const FolderGuard&) = delete;
    int keep() { return std::exchange(m_directory, -1); }

private:
    int m_directory;
};

} // namespace

RunTaken::~RunTaken() = default;

RunLease::RunLease(const RunFolder& folder) : m_folder(leasesOf(folder))
{
    if (const auto remote = readRemoteRun(folder))
        throw RunTaken(fmt::format("The run {} is on {}, and what is here is a copy. `vergence "
                                   "submit {} --target {}` goes on there; `vergence fetch {} "
                                   "--home` brings it to this computer.",
                                   folder.id(), remote->login, shellWord(folder.root.string()),
                                   remote->target, shellWord(folder.root.string())));
    FolderGuard guard(lockedFolder(folder));
    if (::mkdir(m_folder.c_str(), 0755) != 0 && errno != EEXIST)
        throwCannotTake(m_folder, errno);
    const auto earlier = leasesIn(m_folder);
    if (!earlier.empty()) {
        const RunStatus holder = holderOf(earlier.back());
        if (isHeld(earlier.back(), holder))
            refuse(folder, holder);
        m_number = earlier.back().number;
    }
    ++m_number;
    if (!make(file()))
        refuse(folder, {});
    if (const auto all = leasesIn(m_folder); all.empty() || all.back().number != m_number) {
        ::unlink(file().c_str()); // others went on while this process was asleep
        refuse(folder, all.empty() ? RunStatus() : holderOf(all.back()));
    }
    for (const Lease& lease : earlier)
        ::unlink(lease.file.c_str());
    m_isHeld = true;
    m_directory = guard.keep();
}

RunLease::~RunLease()
{
    if (renew()) {
        fs::path released = file();
        ::rename(file().c_str(), released.replace_extension(kReleased).c_str());
    }
    if (m_directory >= 0)
        ::close(m_directory);
}

bool RunLease::renew()
{
    const std::lock_guard lock(m_mutex);
    if (!m_isHeld)
        return false;
    std::error_code ignored;
    // Any other failure than its absence is the disk's, and no reason to give up; a folder that was
    // deleted fails by itself.
    const bool isGone = ::utimensat(AT_FDCWD, file().c_str(), nullptr, 0) != 0 &&
                        (errno == ENOENT || errno == ESTALE) && fs::exists(m_folder, ignored);
    const auto all = isGone ? std::vector<Lease>() : leasesIn(m_folder);
    m_isHeld = !isGone && (all.empty() || all.back().number == m_number);
    return m_isHeld;
}

fs::path RunLease::file() const
{
    return m_folder / (std::to_string(m_number) + kHeld);
}

std::optional<double> secondsSinceSign(const RunFolder& folder)
{
    auto newest = secondsSinceWritten(folder.status());
    const auto leases = leasesIn(leasesOf(folder));
    if (leases.empty() || leases.back().isReleased)
        return newest;
    const auto beat = secondsSinceWritten(leases.back().file);
    return newest && beat ? std::min(*newest, *beat) : newest;
}

} // namespace vergence
