#include "core/run/lane.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/run_folder.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/studio_folders.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAnyDevice = "any";

[[noreturn]] void throwNoPlace(const fs::path& file, int error)
{
    const bool isWithoutLocks = error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS;
    throw OutputError(fmt::format(
        "Cannot wait for a lane of this computer in {}: {}.{}", file.string(), std::strerror(error),
        isWithoutLocks ? " Its disk knows no locks; XDG_STATE_HOME can name another folder." : ""));
}

LockedFile openFile(const fs::path& file, int flags)
{
    constexpr mode_t kOfThisUser = 0600;
    return LockedFile(::open(file.c_str(), O_RDWR | O_CLOEXEC | flags, kOfThisUser));
}

/// `how`: as flock(2) has it. False where another process has the lock.
bool lockFile(const LockedFile& file, int how, const fs::path& path)
{
    while (::flock(file.descriptor(), LOCK_EX | how) != 0) {
        if (errno == EWOULDBLOCK)
            return false;
        if (errno != EINTR)
            throwNoPlace(path, errno);
    }
    return true;
}

/// Whether the path still leads to the open file: it may have been removed meanwhile.
bool isStillAt(const LockedFile& file, const fs::path& path)
{
    struct stat opened {
    }, named{};
    return ::fstat(file.descriptor(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Whether somebody waits with this ticket. That of a process which is gone goes.
bool isWaitedWith(const fs::path& ticket)
{
    const LockedFile file = openFile(ticket, 0);
    if (!file.isOpen())
        return false;
    if (!lockFile(file, LOCK_NB, ticket))
        return true;
    if (isStillAt(file, ticket))
        ::unlink(ticket.c_str());
    return false;
}

/// Names of the lanes that a ticket is for; empty where that is being written.
std::vector<std::string> lanesOf(const fs::path& ticket)
{
    std::vector<std::string> lanes;
    try {
        std::istringstream lines(readFile(ticket));
        for (std::string line; std::getline(lines, line);)
            lanes.push_back(line);
    } catch (const InputError&) {
    }
    return lanes;
}

} // namespace

fs::path laneFolder()
{
    return stateHome() / "lanes" / currentHost();
}

void LockedFile::close() noexcept
{
    if (m_file >= 0)
        ::close(m_file);
    m_file = -1;
}

LaneTicket::LaneTicket(fs::path folder, std::string place, std::vector<std::string> devices)
    : m_folder(std::move(folder)),
      m_name(fmt::format("{}-{}", place, ::getpid()))
{
    expects(!place.empty() && place.front() != '.' && place.find('/') == std::string::npos,
            "LaneTicket: a place that is the name of a file");
    expects(!devices.empty(), "LaneTicket: lanes");
    std::map<std::string, int> counts;
    for (const std::string& device : devices) {
        expects(device.find_first_of("/\n") == std::string::npos, "LaneTicket: names of devices");
        const std::string named = device.empty() ? kAnyDevice : device;
        m_lanes.push_back({fmt::format("{}.{}", named, counts[named]++), device});
    }
    std::error_code code;
    fs::create_directories(m_folder / "line", code);
    if (code)
        throwNoPlace(m_folder, code.value());
    join();
}

LaneTicket::~LaneTicket()
{
    leaveLine();
}

/// Another process may take the file for one of a process that is gone, and remove it, before it is
/// locked.
void LaneTicket::join()
{
    const fs::path path = m_folder / "line" / m_name;
    do {
        m_ticket = openFile(path, O_CREAT);
        if (!m_ticket.isOpen())
            throwNoPlace(path, errno);
        lockFile(m_ticket, 0, path);
    } while (!isStillAt(m_ticket, path));
    std::string names;
    for (const Lane& lane : m_lanes)
        names += lane.name + '\n';
    if (::write(m_ticket.descriptor(), names.data(), names.size()) !=
        static_cast<ssize_t>(names.size())) {
        const int error = errno;
        leaveLine();
        throwNoPlace(path, error);
    }
}

void LaneTicket::leaveLine() noexcept
{
    if (!m_ticket.isOpen())
        return;
    ::unlink((m_folder / "line" / m_name).c_str());
    m_ticket.close();
}

/// In their order. Some may be of processes that are gone.
std::vector<fs::path> LaneTicket::earlierTickets() const
{
    std::vector<fs::path> tickets;
    std::error_code code;
    for (fs::directory_iterator entry(m_folder / "line", code), end; !code && entry != end;
         entry.increment(code)) {
        const std::string name = entry->path().filename().string();
        if (name < m_name && !name.starts_with('.')) // NFS keeps removed files under such names
            tickets.push_back(entry->path());
    }
    std::ranges::sort(tickets);
    return tickets;
}

/// A ticket that is being written may be for any.
bool LaneTicket::isForMyLanes(const std::vector<std::string>& lanes) const
{
    return lanes.empty() || std::ranges::any_of(m_lanes, [&](const Lane& lane) {
               return std::ranges::find(lanes, lane.name) != lanes.end();
           });
}

std::optional<std::string> LaneTicket::enter()
{
    expects(m_ticket.isOpen(), "LaneTicket: waits no more");
    std::vector<Lane> open = m_lanes; // that nobody before this one waits for
    for (const fs::path& ticket : earlierTickets()) {
        if (!isWaitedWith(ticket))
            continue;
        const std::vector<std::string> lanes = lanesOf(ticket);
        std::erase_if(open, [&](const Lane& lane) {
            return lanes.empty() || std::ranges::find(lanes, lane.name) != lanes.end();
        });
        if (open.empty())
            return std::nullopt;
    }
    for (const Lane& lane : open) {
        const fs::path path = m_folder / (lane.name + ".lock");
        LockedFile file = openFile(path, O_CREAT);
        if (!file.isOpen())
            throwNoPlace(path, errno);
        if (!lockFile(file, LOCK_NB, path))
            continue;
        m_lane = std::move(file);
        leaveLine();
        return lane.device;
    }
    return std::nullopt;
}

int LaneTicket::before() const
{
    if (!m_ticket.isOpen())
        return 0;
    return static_cast<int>(std::ranges::count_if(earlierTickets(), [this](const fs::path& ticket) {
        return isWaitedWith(ticket) && isForMyLanes(lanesOf(ticket));
    }));
}

void LaneTicket::keepAcrossExec()
{
    expects(m_lane.isOpen(), "LaneTicket: has a lane");
    if (::fcntl(m_lane.descriptor(), F_SETFD, 0) != 0)
        throwNoPlace(m_folder, errno);
}

} // namespace vergence
