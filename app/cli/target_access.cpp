#include "app/cli/target_access.h"

#include <iostream>

#include <fmt/format.h>

#include "core/artifact/run_folder.h"
#include "core/base/error.h"

namespace vergence::cli {

Target usableTarget(const std::string& name)
{
    TargetFile file = readTarget(name);
    for (const ConfigIssue& issue : file.issues)
        std::cerr << issue.text() << '\n';
    if (!file.isUsable())
        throw Error(fmt::format("The target `{}` cannot be used; correct {}.", name,
                                (targetsFolder() / (name + ".toml")).string()),
                    ExitCode::ConfigInvalid);
    return file.target;
}

std::string programOf(const Target& target, const Session& session)
{
    return target.vergence.empty() ? session.executable.string() : target.vergence;
}

std::filesystem::path runsFolderOf(const Target& target, const std::string& wanted)
{
    if (!wanted.empty())
        return std::filesystem::absolute(wanted);
    return target.folder.empty() ? std::filesystem::absolute(defaultRunsFolder())
                                 : std::filesystem::path(target.folder);
}

} // namespace vergence::cli
