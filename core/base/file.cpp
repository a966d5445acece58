#include "core/base/file.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

[[noreturn]] void throwOutput(const char* action, const std::filesystem::path& path, int error)
{
    const bool full = error == ENOSPC || error == EDQUOT;
    throw OutputError(fmt::format("Cannot {} {}: {}.{}", action, path.string(),
                                  std::strerror(error),
                                  full ? " Free some space or choose another folder." : ""),
                      full);
}

/// Owns a file descriptor.
class Descriptor {
public:
    explicit Descriptor(int value) : m_value(value) {}
    ~Descriptor()
    {
        if (m_value >= 0)
            ::close(m_value);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int value() const { return m_value; }

private:
    int m_value;
};

void writeAll(int descriptor, const char* bytes, std::size_t count,
              const std::filesystem::path& path)
{
    while (count > 0) {
        const ssize_t written = ::write(descriptor, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            throwOutput("write", path, errno);
        bytes += written;
        count -= static_cast<std::size_t>(written);
    }
}

/// Differs for every writer, in other threads and other processes.
std::filesystem::path temporaryNeighbour(const std::filesystem::path& target)
{
    static std::atomic<unsigned> count{0};
    return target.parent_path() /
           fmt::format(".{}.{}-{}.part", target.filename().string(), ::getpid(), ++count);
}

} // namespace

std::string readFile(const std::filesystem::path& path)
{
    std::error_code code;
    if (std::filesystem::is_directory(path, code))
        throw InputError(fmt::format("Cannot read {}: it is a folder.", path.string()));
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
        throw InputError(fmt::format("Cannot read {}: {}.", path.string(), std::strerror(errno)));
    // In blocks: pseudo-files do not tell their size.
    constexpr std::size_t kBlock = 1u << 18;
    std::string bytes;
    while (stream) {
        const std::size_t used = bytes.size();
        bytes.resize(used + kBlock);
        stream.read(bytes.data() + used, kBlock);
        bytes.resize(used + static_cast<std::size_t>(stream.gcount()));
    }
    if (stream.bad())
        throw InputError(fmt::format("Cannot read {}: {}.", path.string(), std::strerror(errno)));
    return bytes;
}

void writeFileAtomic(const std::filesystem::path& path, std::string_view bytes)
{
    AtomicFile file(path);
    {
        const Descriptor out(
            ::open(file.temporaryPath().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
        if (out.value() < 0)
            throwOutput("create", path, errno);
        writeAll(out.value(), bytes.data(), bytes.size(), path);
    }
    file.commit();
}

void writeFileAtomic(const std::filesystem::path& path, std::span<const std::byte> bytes)
{
    writeFileAtomic(path,
                    std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

AtomicFile::AtomicFile(std::filesystem::path target)
    : m_target(std::move(target)),
      m_temporary(temporaryNeighbour(m_target))
{
}

AtomicFile::~AtomicFile()
{
    if (!m_committed)
        ::unlink(m_temporary.c_str());
}

void AtomicFile::commit()
{
    {
        const Descriptor file(::open(m_temporary.c_str(), O_RDONLY | O_CLOEXEC));
        if (file.value() < 0)
            throwOutput("finish", m_target, errno);
        if (::fsync(file.value()) != 0 && errno != EINVAL && errno != EROFS)
            throwOutput("flush", m_target, errno);
    }
    if (::rename(m_temporary.c_str(), m_target.c_str()) != 0)
        throwOutput("rename into place", m_target, errno);
    m_committed = true;
}

namespace {

/// Removes what a lost power supply left of a last line, so that the next line starts on its own.
void cutTornLine(int descriptor)
{
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    off_t end = status.st_size;
    char last = '\n';
    while (end > 0 && ::pread(descriptor, &last, 1, end - 1) == 1 && last != '\n')
        --end;
    if (end < status.st_size && ::ftruncate(descriptor, end) != 0)
        return; // readers ignore a line without its end
}

} // namespace

AppendFile::AppendFile(const std::filesystem::path& path) : m_path(path)
{
    m_descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (m_descriptor < 0)
        throwOutput("open", path, errno);
    cutTornLine(m_descriptor);
}

AppendFile::~AppendFile()
{
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

void AppendFile::append(std::string_view lines)
{
    if (lines.empty())
        return;
    struct stat before {};
    if (::fstat(m_descriptor, &before) != 0)
        throwOutput("inspect", m_path, errno);
    try {
        writeAll(m_descriptor, lines.data(), lines.size(), m_path);
    } catch (...) {
        if (::ftruncate(m_descriptor, before.st_size) != 0) {
            // The torn last line stays; readers ignore a line without its end.
        }
        throw;
    }
}

std::uintmax_t freeBytes(const std::filesystem::path& path)
{
    std::error_code code;
    const auto space = std::filesystem::space(path, code);
    return code ? 0 : space.available;
}

} // namespace vergence
