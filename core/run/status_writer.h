#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/artifact/run_folder.h"
#include "core/run/run_controller.h"

namespace vergence {

/// Removes the shared memory that a dead worker of this computer has left.
void unlinkRings(const RunStatus& status);

/// Keeps and writes status.json; while exploring explore.json, because the run itself does not
/// change then. Thread-safe.
class StatusWriter {
public:
    StatusWriter(const RunSettings& settings, const DeviceInfo& device);

    void setProblem(const std::string& id, const std::string& sentence);
    void clearProblem() { setProblem({}, {}); }
    void setExitCode(ExitCode code);
    void setSocket(const std::string& name);
    RunStatus status() const;

    struct Now {
        RunState state = RunState::Starting;
        std::int64_t step = 0, total = 0;
        std::string phase;
        std::vector<std::string> rings;
    };
    /// Throws OutputError.
    void write(const Now& now);
    /// Takes explore.json away again.
    void removeExplorer() noexcept;

private:
    RunFolder m_folder;
    bool m_exploresOnly;
    std::function<void()> m_confirmLease;
    mutable std::mutex m_mutex;
    RunStatus m_status;
    std::mutex m_fileMutex; // main and run thread write the same temporary name
};

/// Where an exploring worker leaves its status.
std::filesystem::path explorerStatus(const RunFolder& folder);

} // namespace vergence
