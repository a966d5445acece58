#include "plugins/mc_embedding/io/writer_lock.h"

#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/output_file.h"
#include "core/artifact/run_folder.h"
#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

std::string contentOf(int file)
{
    std::array<char, 256> text{};
    const ssize_t count = ::pread(file, text.data(), text.size(), 0);
    return {text.data(), static_cast<std::size_t>(count > 0 ? count : 0)};
}

[[noreturn]] void throwHeld(const std::filesystem::path& path, int file)
{
    // "pid 1234\nboot …\n"; a holder that has just come has not written it yet.
    const std::string text = contentOf(file);
    const std::string boot = fmt::format("\nboot {}\n", currentBootId());
    const std::string pid = text.substr(0, text.find('\n'));
    std::string holder = "another process";
    if (pid.starts_with("pid "))
        holder = fmt::format("process {}{}", pid.substr(4),
                             text.ends_with(boot) ? "" : " of another computer");
    ::close(file);
    throw InputError(fmt::format("Cannot write the pixel cache beside {}: {} is writing it. Wait "
                                 "until that run has its pictures, or stop it.",
                                 path.string(), holder));
}

/// Whether the name still means the locked file: its last holder may have removed it.
bool isCurrent(const std::filesystem::path& path, int file)
{
    struct stat locked {
    }, named{};
    return ::fstat(file, &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
           locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

} // namespace

WriterLock::WriterLock(const std::filesystem::path& path) : m_path(path)
{
    while (m_file < 0) {
        const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (file < 0)
            throwCannotWrite(path, errno);
        if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK)
                throwHeld(path, file);
            const int error = errno;
            ::close(file);
            throwCannotWrite(path, error);
        }
        if (isCurrent(path, file))
            m_file = file;
        else
            ::close(file);
    }
    const std::string text = fmt::format("pid {}\nboot {}\n", ::getpid(), currentBootId());
    if (::ftruncate(m_file, 0) != 0 ||
        ::write(m_file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        const int error = errno;
        ::unlink(path.c_str());
        ::close(m_file);
        throwCannotWrite(path, error);
    }
}

WriterLock::~WriterLock()
{
    ::unlink(m_path.c_str());
    ::close(m_file);
}

} // namespace vergence::mc_embedding
