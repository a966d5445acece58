#include "core/artifact/run_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

RunLock::RunLock(const RunFolder& folder)
    : m_directory(::open(folder.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
{
    if (m_directory < 0 || ::flock(m_directory, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return;
    ::close(m_directory);
    throw Error(fmt::format("Another process works on the run {}; stop it first.", folder.id()),
                ExitCode::Usage);
}

RunLock::~RunLock()
{
    if (m_directory >= 0)
        ::close(m_directory);
}

} // namespace vergence
