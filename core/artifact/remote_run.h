#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/artifact/run_folder.h"

namespace vergence {

/// A run whose folder is on the disk of another computer: `remote.json` of the folder here, which
/// is a copy that follows the one there. Whoever follows it notes here what the other side says.
struct RemoteRun {
    std::string target;           ///< name of the Target
    std::string login;            ///< ssh destination
    std::string program;          ///< command line program there
    std::filesystem::path folder; ///< of the run, there

    // What the other side said last, whose word counts: its disk has the clock and the lease.
    std::string state;         ///< name of a RunState; empty: nothing yet
    std::string text;          ///< for people: "Running on gpu07"
    std::string problem;       ///< why it failed or stopped, where only a queue knows; else empty
    double unreachedSince = 0; ///< s since the epoch, by this computer's clock; 0: it answers

    bool operator==(const RemoteRun&) const = default;
};

std::filesystem::path remoteFile(const RunFolder& folder); ///< `remote.json`
/// Nothing for a run of this computer, or of a disk that it sees. Throws InputError where the file
/// is damaged.
std::optional<RemoteRun> readRemoteRun(const RunFolder& folder);
void writeRemoteRun(const RunFolder& folder, const RemoteRun& run); ///< throws OutputError
bool isRemote(const RunFolder& folder);

} // namespace vergence
