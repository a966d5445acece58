#include "app/cli/target_access.h"

#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "core/artifact/run_folder.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::cli {

namespace {

Target usable(const TargetFile& file, const std::string& remedy)
{
    for (const ConfigIssue& issue : file.issues)
        std::cerr << issue.text() << '\n';
    if (!file.isUsable())
        throw Error(
            fmt::format("The target `{}` cannot be used; correct {}.", file.target.name, remedy),
            ExitCode::ConfigInvalid);
    return file.target;
}

} // namespace

Target usableTarget(const std::string& name)
{
    return usable(readTarget(name), (targetsFolder() / (name + ".toml")).string());
}

Target usableTargetOf(const std::string& name, const std::string& file)
{
    if (const std::string refusal = refusedTargetName(name); !refusal.empty())
        throw Error(refusal, ExitCode::Usage);
    const bool isInput = file == "-";
    return usable(parseTarget(name, isInput ? std::string(std::istreambuf_iterator(std::cin), {})
                                            : readFile(file)),
                  isInput ? "what standard input holds" : file);
}

std::string programOf(const Target& target, const Session& session)
{
    return target.vergence.empty() ? session.executable.string() : target.vergence;
}

std::filesystem::path runsFolderOf(const Target& target, const std::string& wanted)
{
    if (!wanted.empty())
        return std::filesystem::absolute(wanted);
    return target.folder.empty() || target.disk == Disk::Own
               ? std::filesystem::absolute(defaultRunsFolder())
               : std::filesystem::path(target.folder);
}

StudioThere usableStudio(const Target& target, const Session& session,
                         const std::filesystem::path& runs)
{
    const StudioThere studio = studioThere(target, programOf(target, session), runs);
    requireSameVersion(target, studio, versionText());
    return studio;
}

} // namespace vergence::cli
