#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/cluster/shell.h"
#include "core/cluster/target.h"

namespace vergence {

/// Whether starting and stopping runs of a target is asked of the `vergence` of its login, which
/// sees the run folders and the processes.
bool isAskedThere(const Target& target);

/// The studio on the login of a target.
struct StudioThere {
    std::string program;        ///< whole path of `vergence` there
    std::filesystem::path runs; ///< folder for runs there
    std::string version;        ///< "vergence 0.1.0"; empty: the program is not there
};

/// Asks the login, in one call. `program`: this computer's, which a shared disk shows there too.
/// Throws InputError where the login does not answer.
StudioThere studioThere(const Target& target, const std::string& program,
                        const std::filesystem::path& runs);
/// Throws Error (ExitCode::ConfigInvalid) where it is missing or of another version, and says what
/// installs it.
void requireSameVersion(const Target& target, const StudioThere& studio,
                        const std::string& version);

/// Where installStudio() puts this build, below the home there: named by version and build, so that
/// several lie side by side and a newer one disturbs no run.
std::filesystem::path installFolder(const std::string& version, const std::string& program);

/// `vergence ARGUMENTS` there. Throws InputError where the login does not answer; what the program
/// itself refuses is in the result.
CommandResult askVergence(const std::string& login, const std::string& program,
                          const std::vector<std::string>& arguments, const std::string& input = {},
                          double seconds = 120);
/// The object (`opening` is '{') or array ('[') that a program printed; a login may greet before.
/// Discarded where there is none.
nlohmann::json jsonIn(const std::string& output, char opening);
/// The sentence of a refusal, without the program's name; the last line of what it said.
std::string refusalOf(const CommandResult& result);

} // namespace vergence
