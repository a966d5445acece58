#include "core/cluster/studio_there.h"

#include <algorithm>
#include <vector>

#include <dlfcn.h>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/digest.h"
#include "core/artifact/manifest.h"
#include "core/base/error.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

constexpr const char* kVersionPrefix = "vergence ";
constexpr std::string_view kHomeMark = "\nhome=";

/// Says the home and what the program says of its version. A login may greet before.
constexpr const char* kAskStudio = "case $1 in /*) program=$1 ;; *) program=$HOME/$1 ;; esac\n"
                                   "printf '\\nhome=%s\\n' \"$HOME\"\n"
                                   "[ ! -x \"$program\" ] || \"$program\" --version\n"
                                   ":";

/// The library of this process that holds the studio: beside `vergence`, or where an installation
/// puts libraries.
fs::path studioLibrary()
{
    Dl_info here{};
    if (::dladdr(reinterpret_cast<const void*>(&studioLibrary), &here) == 0 || !here.dli_fname)
        throw Error("The library of the studio cannot be found among those of this process.");
    return here.dli_fname;
}

/// Name, size and time of each module of the studio, labs among them: what is built anew changes.
std::vector<std::string> stampsOf(const fs::path& libraries)
{
    std::vector<std::string> stamps;
    const auto add = [&](const fs::directory_entry& entry) {
        std::error_code code;
        if (entry.is_regular_file(code))
            stamps.push_back(fmt::format(
                "{} {} {}", entry.path().lexically_relative(libraries).string(),
                entry.file_size(code), entry.last_write_time(code).time_since_epoch().count()));
    };
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(libraries, code))
        if (entry.path().filename().string().starts_with("libvergence"))
            add(entry);
    for (const auto& entry : fs::recursive_directory_iterator(libraries / "vergence", code))
        add(entry);
    std::ranges::sort(stamps);
    return stamps;
}

/// Relative paths begin in the home there; `~` is it.
std::string pathThere(const std::string& path)
{
    if (path == "~")
        return ".";
    return path.starts_with("~/") ? path.substr(2) : path;
}

fs::path belowHome(const std::string& home, const fs::path& path)
{
    return (fs::path(home) / path).lexically_normal();
}

std::string programThere(const Target& target, const std::string& program)
{
    if (!target.vergence.empty())
        return pathThere(target.vergence);
    if (target.disk == Disk::Shared)
        return program;
    return (installFolder(buildInfo().value("version", ""), program) / "vergence").string();
}

fs::path runsThere(const Target& target, const fs::path& runs)
{
    if (!target.folder.empty())
        return pathThere(target.folder);
    return target.disk == Disk::Shared ? runs : fs::path("vergence/runs");
}

/// The first line of `text` that names a version; empty where none does.
std::string versionIn(const std::string& text)
{
    const std::size_t begin = text.find(std::string("\n") + kVersionPrefix);
    if (begin == std::string::npos)
        return {};
    return text.substr(begin + 1, text.find_first_of("\r\n", begin + 1) - begin - 1);
}

/// Where a line of `text` begins with `mark`; npos where none does.
std::size_t lineWith(const std::string& text, char mark)
{
    if (text.starts_with(mark))
        return 0;
    const std::size_t before = text.find(std::string("\n") + mark);
    return before == std::string::npos ? before : before + 1;
}

std::string installHint(const Target& target)
{
    if (target.disk == Disk::Own && target.vergence.empty())
        return fmt::format("`vergence targets install {}` puts this one there.", target.name);
    return fmt::format(
        "Set `program` of the target `{}` to the one that this computer has{}.", target.name,
        target.disk == Disk::Own ? ", or leave it empty and call `vergence targets install`" : "");
}

} // namespace

bool isAskedThere(const Target& target)
{
    return !target.login.empty() &&
           (target.disk == Disk::Own || target.scheduler == Scheduler::Lanes);
}

StudioThere studioThere(const Target& target, const std::string& program, const fs::path& runs)
{
    const std::string wanted = programThere(target, program);
    const CommandResult result = Shell(target.login).run({"sh", "-c", kAskStudio, "sh", wanted});
    if (const std::string problem = sshProblem(target.login, "vergence", result); !problem.empty())
        throw InputError(problem);
    const std::size_t begin = result.output.find(kHomeMark);
    const std::size_t end =
        begin == std::string::npos ? begin : result.output.find('\n', begin + kHomeMark.size());
    if (!result.isGood() || end == std::string::npos)
        throw InputError(fmt::format(
            "{} runs no commands by ssh ({}); look whether `ssh {} true` does, and what its shell "
            "does at a login.",
            target.login, result.whyNot + lastLine(result.errors), target.login));
    const std::string home =
        result.output.substr(begin + kHomeMark.size(), end - begin - kHomeMark.size());
    return {belowHome(home, wanted).string(), belowHome(home, runsThere(target, runs)),
            versionIn(result.output.substr(end))};
}

void requireSameVersion(const Target& target, const StudioThere& studio, const std::string& version)
{
    if (studio.version == version)
        return;
    throw Error(studio.version.empty()
                    ? fmt::format("There is no {} on {}, or it does not start there. {}",
                                  studio.program, target.login, installHint(target))
                    : fmt::format("{} has {} ({}), and this computer {}; a run needs the same on "
                                  "both. {}",
                                  target.login, studio.version, studio.program, version,
                                  installHint(target)),
                ExitCode::ConfigInvalid);
}

fs::path installFolder(const std::string& version, const std::string& program)
{
    constexpr std::size_t kDigits = 12;
    std::string name = version.starts_with(kVersionPrefix)
                           ? version.substr(std::string(kVersionPrefix).size())
                           : version;
    for (char& c : name)
        if (c == '/' || c == ' ')
            c = '-';
    const fs::path libraries = studioLibrary().parent_path();
    Digest build;
    build.add(sha256OfFile(program));
    build.add(sha256OfFile(studioLibrary()));
    for (const std::string& stamp : stampsOf(libraries))
        build.add(stamp);
    return fs::path(".local/share/vergence-studio") /
           fmt::format("{}-{}", name, build.hex().substr(0, kDigits));
}

CommandResult askVergence(const std::string& login, const std::string& program,
                          const std::vector<std::string>& arguments, const std::string& input,
                          double seconds)
{
    constexpr int kNotExecutable = 126, kNotFound = 127; // of a shell
    std::vector<std::string> command{program};
    command.insert(command.end(), arguments.begin(), arguments.end());
    CommandResult result = Shell(login).run(command, input, seconds);
    if (const std::string problem = sshProblem(login, "vergence", result); !problem.empty())
        throw InputError(problem);
    if (!result.whyNot.empty())
        throw InputError(result.whyNot);
    if (result.exitCode == kNotExecutable || result.exitCode == kNotFound)
        throw InputError(fmt::format("{} cannot be started on {} ({}). Look whether it is there, "
                                     "and see `program` of the target.",
                                     program, login.empty() ? "this computer" : login,
                                     lastLine(result.errors)));
    return result;
}

nlohmann::json jsonIn(const std::string& output, char opening)
{
    const std::size_t begin = lineWith(output, opening);
    const std::size_t end = output.rfind(opening == '{' ? '}' : ']');
    if (begin == std::string::npos || end == std::string::npos || end < begin)
        return nlohmann::json(nlohmann::json::value_t::discarded);
    return nlohmann::json::parse(output.substr(begin, end + 1 - begin), nullptr, false);
}

std::string refusalOf(const CommandResult& result)
{
    constexpr std::string_view kName = "vergence: ";
    const std::string said = lastLine(result.errors);
    if (said.empty())
        return fmt::format("It ended with exit code {} and said nothing.", result.exitCode);
    return said.starts_with(kName) ? said.substr(kName.size()) : said;
}

} // namespace vergence
