#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/cluster/copy_runs.h"

namespace vergence {

/// Keeps copies of runs that work on the disk of one login up to date, look by look. Blocks; one
/// thread. Several may follow the same runs.
class RunFollower {
public:
    explicit RunFollower(std::string login) : m_login(std::move(login)) {}

    struct Followed {
        RunFolder folder;
        bool isWatched = false; ///< somebody looks at its pictures
    };
    struct Look {
        std::string problem;                             ///< why the other side was not reached
        std::map<std::filesystem::path, RemoteRun> runs; ///< by RunFolder::root, as noted now
        std::vector<std::filesystem::path> changed;      ///< of those, what differs from before
    };
    /// Sends requests, brings what is new, and asks, every few seconds and where a status has
    /// changed, how things stand (`vergence runs list` there). What it learns is in remote.json
    /// of each run. A side that is not reached is noted with the time and changes no state.
    Look look(const std::vector<Followed>& runs);

private:
    struct Run;

    std::vector<Run> read(const std::vector<Followed>& runs, std::string& problem) const;
    void exchange(std::vector<Run*>& runs);
    void bring(const std::vector<Run*>& runs, bool ofEnded);
    bool isTimeToAsk(const std::vector<Run*>& runs);
    void ask(const std::vector<Run*>& runs);
    void hear(Run& run, const RemoteRun* answer);

    std::string m_login;
    double m_askedAt = -1;                                 ///< steadySeconds()
    std::map<std::filesystem::path, std::string> m_states; ///< in status.json, at the last look
    /// Runs that have ended, with all they left, and the state that they ended in.
    std::map<std::filesystem::path, std::string> m_settled;
    std::set<std::filesystem::path> m_missing; ///< runs whose folder there was not found
};

/// How runs stand, as `vergence runs list --json` there says it; by folder there. Runs that are
/// not there, or cannot be read, are missing. Throws InputError where the other side does not
/// answer.
std::map<std::filesystem::path, RemoteRun>
askStates(const std::string& login, const std::string& program, const std::vector<RemoteRun>& runs);

} // namespace vergence
