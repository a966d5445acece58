#include "app/cli/followed_runs.h"

#include <iostream>
#include <map>

#include "core/base/error.h"
#include "core/cluster/run_follower.h"
#include "core/run/run_state.h"

namespace vergence::cli {

namespace {

/// One that is Lost may come back.
bool isOver(const std::string& name)
{
    const auto state = runStateFromName(name);
    return state && isFinal(*state) && *state != RunState::Lost;
}

/// Where to look; empty for a run of this computer, one whose end is here, and where a file is
/// damaged, which is told elsewhere.
std::string loginToAsk(const RunFolder& run)
{
    try {
        const auto remote = readRemoteRun(run);
        const bool isKnown = !remote || (isOver(remote->state) && isOver(readStatus(run).state));
        return isKnown ? std::string() : remote->login;
    } catch (const InputError&) {
        return {};
    }
}

} // namespace

void followOnce(const std::vector<RunFolder>& runs)
{
    std::map<std::string, std::vector<RunFollower::Followed>> byLogin;
    for (const RunFolder& run : runs)
        if (const std::string login = loginToAsk(run); !login.empty())
            byLogin[login].push_back({run, false});
    for (const auto& [login, followed] : byLogin) {
        const RunFollower::Look look = RunFollower(login).look(followed);
        if (!look.problem.empty())
            std::cerr << look.problem << '\n';
    }
}

} // namespace vergence::cli
