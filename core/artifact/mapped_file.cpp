#include "core/artifact/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

/// Closes a file at the end of a scope; a mapping outlives it.
class Descriptor {
public:
    explicit Descriptor(const std::filesystem::path& path)
        : m_file(::open(path.c_str(), O_RDONLY | O_CLOEXEC))
    {
    }
    ~Descriptor()
    {
        if (m_file >= 0)
            ::close(m_file);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return m_file; }

private:
    int m_file;
};

} // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
{
    const auto fail = [&](const std::string& reason) {
        throw InputError(fmt::format("Cannot read {}: {}.", path.string(), reason));
    };
    const Descriptor file(path);
    struct stat status {};
    if (file.number() < 0 || ::fstat(file.number(), &status) != 0)
        fail(std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        fail("it is no ordinary file");
    m_size = static_cast<std::size_t>(status.st_size);
    if (m_size == 0)
        return; // nothing can be mapped
    void* data = ::mmap(nullptr, m_size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (data == MAP_FAILED)
        fail(std::strerror(errno));
    m_data = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile()
{
    if (m_data)
        ::munmap(const_cast<std::byte*>(m_data), m_size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)),
      m_size(std::exchange(other.m_size, 0))
{
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept
{
    std::swap(m_data, other.m_data);
    std::swap(m_size, other.m_size);
    return *this;
}

} // namespace vergence
