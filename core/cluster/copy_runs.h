#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/artifact/remote_run.h"
#include "core/base/error.h"

namespace vergence {

/// What of a run folder is brought here; each has what the one before has.
enum class CopyScope {
    Course,  ///< status, numbers, log, configuration: what charts and lists need
    View,    ///< and pictures of the worker, for somebody who looks
    Results, ///< and artifacts
    Whole    ///< and checkpoints
};

/// A run, its folder here and there.
struct RemoteCopy {
    RunFolder here;
    RemoteRun there;
    CopyScope scope = CopyScope::Course;
};

/// The other side has no such runs (any more).
class RunsMissing : public InputError {
public:
    RunsMissing(const std::string& message, std::vector<std::filesystem::path> runs)
        : InputError(message),
          m_runs(std::move(runs))
    {
    }
    ~RunsMissing() override;
    const std::vector<std::filesystem::path>& runs() const { return m_runs; } ///< folders there

private:
    std::vector<std::filesystem::path> m_runs;
};

/// Brings what has changed, by rsync over OpenSSH, in one call for all runs of a login and of one
/// folder there; what is gone there goes here, but for results, and what only this computer has
/// (remote.json, labels.json, requests on their way). A file appears whole. Throws InputError where
/// the other side does not answer, RunsMissing where it has no such run and all others came,
/// OutputError where nothing can be written here.
void bringRuns(const std::string& login, const std::vector<RemoteCopy>& runs);

/// Puts run folders there, whole but for what belongs to this computer: lease, requests, pictures,
/// exports, remote.json. Throws InputError where the other side does not answer or takes nothing
/// (its words: disk full, quota, no such folder).
void sendRuns(const std::string& login, const std::vector<RemoteCopy>& runs);

/// Moves requests that viewers here have made to the worker there. True where there were some.
bool sendRequests(const std::string& login, const std::vector<RemoteCopy>& runs);

/// Removes folders of runs there that this computer has just put there.
void removeThere(const std::string& login, const std::vector<RemoteCopy>& runs) noexcept;

} // namespace vergence
