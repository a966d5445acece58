#include "core/run/status_writer.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/view/frame_channel.h"

namespace vergence {

std::filesystem::path explorerStatus(const RunFolder& folder)
{
    return folder.root / "explore.json";
}

void unlinkRings(const RunStatus& status)
{
    if (!isOfThisComputer(status))
        return; // the names may be another's here
    for (const std::string& ring : status.rings)
        unlinkFrameRing(ring);
}

StatusWriter::StatusWriter(const RunSettings& settings, const DeviceInfo& device)
    : m_folder(settings.folder),
      m_exploresOnly(settings.exploresOnly),
      m_confirmLease(settings.confirmLease)
{
    m_status.plugin = settings.plugin;
    m_status.preset = settings.preset;
    m_status.device = device.name;
    m_status.pid = static_cast<int>(::getpid());
    m_status.bootId = currentBootId();
    m_status.host = currentHost();
    m_status.job = currentJob();
}

void StatusWriter::setProblem(const std::string& id, const std::string& sentence)
{
    const std::lock_guard lock(m_mutex);
    m_status.problemId = id;
    m_status.problem = sentence;
}

void StatusWriter::setExitCode(ExitCode code)
{
    const std::lock_guard lock(m_mutex);
    m_status.exitCode = static_cast<int>(code);
}

void StatusWriter::setSocket(const std::string& name)
{
    const std::lock_guard lock(m_mutex);
    m_status.socket = name;
}

RunStatus StatusWriter::status() const
{
    const std::lock_guard lock(m_mutex);
    return m_status;
}

void StatusWriter::write(const Now& now)
{
    const std::lock_guard fileLock(m_fileMutex);
    RunStatus status;
    {
        const std::lock_guard lock(m_mutex);
        m_status.state = nameOf(now.state);
        m_status.step = now.step;
        m_status.total = now.total;
        m_status.phase = now.phase;
        m_status.rings = now.rings;
        m_status.heartbeat = epochSeconds();
        status = m_status;
    }
    if (m_confirmLease)
        m_confirmLease();
    if (m_exploresOnly)
        writeFileAtomic(explorerStatus(m_folder), status.toJson().dump(2));
    else
        writeStatus(m_folder, status);
}

void StatusWriter::removeExplorer() noexcept
{
    std::error_code ignored;
    if (m_exploresOnly)
        std::filesystem::remove(explorerStatus(m_folder), ignored);
}

} // namespace vergence
