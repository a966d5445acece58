#include "core/cluster/target_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// Of this computer.
StudioThere studioHere(const std::string& program, const fs::path& runs)
{
    const CommandResult result = Shell().run({program, "--version"});
    return {program, fs::absolute(runs), result.isGood() ? lastLine(result.output) : ""};
}

void checkAll(const Target& target, const fs::path& runs, const std::string& vergence,
              double seconds, std::vector<TargetCheck::Line>& lines)
{
    const bool isSlurm = target.scheduler == Scheduler::Slurm;
    if (isSlurm && !isAskedThere(target)) {
        detail::checkSlurm(target, {vergence, fs::absolute(runs), {}}, seconds, lines);
        return;
    }
    StudioThere studio;
    if (target.login.empty()) {
        studio = studioHere(vergence, runs);
    } else {
        studio = studioThere(target, vergence, fs::absolute(runs));
        lines.push_back({true, fmt::format("{} answers.", target.login)});
    }
    if (target.disk == Disk::Own)
        detail::checkCopying(target, lines);
    if (detail::checkComputer(target, studio, lines) && isSlurm)
        detail::checkSlurm(target, studio, seconds, lines);
}

} // namespace

bool TargetCheck::isGood() const
{
    return std::ranges::all_of(lines, &Line::isGood);
}

TargetCheck checkTarget(const Target& target, const fs::path& runsFolder,
                        const std::string& vergence, double seconds)
{
    TargetCheck result;
    try {
        checkAll(target, runsFolder, vergence, seconds, result.lines);
    } catch (const IoError& error) {
        result.lines.push_back({false, error.what()});
    }
    return result;
}

} // namespace vergence
