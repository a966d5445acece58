#include "core/artifact/output_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

OutputFile::OutputFile(const std::filesystem::path& target)
    : m_target(target),
      m_file(target),
      m_stream(std::fopen(m_file.temporaryPath().c_str(), "wbe"))
{
    if (!m_stream)
        throwCannotWrite(m_target, errno);
}

OutputFile::~OutputFile()
{
    if (m_stream)
        std::fclose(m_stream);
}

void OutputFile::write(std::string_view bytes)
{
    if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), m_stream) != bytes.size())
        throwCannotWrite(m_target, errno);
}

void OutputFile::commit()
{
    if (std::fclose(std::exchange(m_stream, nullptr)) != 0)
        throwCannotWrite(m_target, errno);
    m_file.commit();
}

void throwCannotWrite(const std::filesystem::path& path, int error)
{
    const bool full = error == ENOSPC || error == EDQUOT;
    throw OutputError(fmt::format("Cannot write {}: {}.{}", path.string(), std::strerror(error),
                                  full ? " Free some space or choose another folder." : ""),
                      full);
}

void flushFolder(const std::filesystem::path& folder)
{
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        throwCannotWrite(folder, errno);
    const int error = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
    ::close(descriptor);
    if (error != 0)
        throwCannotWrite(folder, error);
}

bool isPlainRelativePath(std::string_view path)
{
    while (true) {
        const std::size_t end = path.find('/');
        const std::string_view part = path.substr(0, end);
        if (part.empty() || part == "." || part == "..")
            return false;
        for (const char c : part) {
            if (c == '\\' || static_cast<unsigned char>(c) < 32)
                return false;
        }
        if (end == std::string_view::npos)
            return true;
        path.remove_prefix(end + 1);
    }
}

} // namespace vergence
