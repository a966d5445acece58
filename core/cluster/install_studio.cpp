#include "core/cluster/portable_studio.h"

#include <map>
#include <sstream>

#include <sys/utsname.h>

#include <QTemporaryDir>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/rsync.h"
#include "core/cluster/shell.h"
#include "core/cluster/studio_there.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// What the other side is asked before anything is sent: for the folder, and a system and processor
/// like those here. A login may greet before the answers.
constexpr const char* kLookThere = R"sh(
case $1 in /*) folder=$1 ;; *) folder=$HOME/$1 ;; esac
machine="$(uname -s) $(uname -m)"
printf '\nfolder %s\nmachine %s\n' "$folder" "$machine"
[ "$machine" = "$2" ] || exit 0
if [ -x "$folder/vergence" ]; then echo 'whole yes'; exit 0; fi
mkdir -p "$folder.part" || exit 1
df -Pk "$folder.part" | {
    read -r head; read -r disk size used free rest
    sent=$(du -sk "$folder.part")
    [ -z "$free" ] || echo "room $((free + ${sent%%[!0-9]*}))"
}
exit 0)sh";

/// Gives a folder that has come whole its name, unless another has it by now.
constexpr const char* kNameFolder = R"sh(
[ -e "$1" ] || mv "$1.part" "$1" || exit 1
[ -x "$1/vergence" ] || { echo "there is another folder of this name" >&2; exit 1; })sh";

std::string thisMachine()
{
    utsname names{};
    ::uname(&names);
    return fmt::format("{} {}", names.sysname, names.machine);
}

/// Lines of a word and its text.
std::map<std::string, std::string> answersIn(const std::string& output)
{
    std::map<std::string, std::string> answers;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);)
        if (const std::size_t blank = line.find(' '); blank != line.npos)
            answers[line.substr(0, blank)] = line.substr(blank + 1);
    return answers;
}

std::uint64_t bytesBelow(const fs::path& folder)
{
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file() && !entry.is_symlink())
            bytes += entry.file_size();
    return bytes;
}

std::string megabytesOf(std::uint64_t bytes)
{
    return fmt::format("{} MB", (bytes + 999'999) / 1'000'000);
}

/// What ends of a program said, for the end of a sentence.
std::string lastWordsOf(const CommandResult& result)
{
    std::string words = result.whyNot.empty() ? lastLine(result.errors) : result.whyNot;
    while (words.ends_with('.'))
        words.pop_back();
    return words.empty() ? fmt::format("exit code {}", result.exitCode) : words;
}

bool hasSaid(const CommandResult& result, const std::string& words)
{
    return (result.errors + result.output).find(words) != std::string::npos;
}

/// Puts a studio on the login of a target.
class Installation {
public:
    Installation(const Target& target, std::string version)
        : m_login(target.login),
          m_version(std::move(version))
    {
    }

    /// Whether it is there already. Throws where it cannot come there, or would not work.
    bool look(const fs::path& folder)
    {
        const CommandResult result =
            ask({"sh", "-c", kLookThere, "sh", folder.string(), thisMachine()});
        auto answers = answersIn(result.output);
        m_folder = answers["folder"];
        if (!result.isGood() || m_folder.empty())
            throw InputError(fmt::format("The studio cannot be put on {}, at {}: {}.", m_login,
                                         m_folder.empty() ? folder.string() : m_folder,
                                         lastWordsOf(result)));
        if (answers["machine"] != thisMachine())
            throw InputError(fmt::format("{} has another system or processor ({}) than this "
                                         "computer ({}). Build the studio there, and set `program` "
                                         "to it.",
                                         m_login, answers["machine"], thisMachine()));
        if (answers.contains("whole"))
            return true;
        m_room = answers["room"];
        return false;
    }

    /// For all of the folder, some of which may be there.
    void requireRoom(std::uint64_t bytes) const
    {
        std::uint64_t kilobytes = 0;
        if ((std::istringstream(m_room) >> kilobytes) && kilobytes < (bytes + 1023) / 1024)
            throw InputError(fmt::format("{} has room for {} at {}, and the studio needs {}. Make "
                                         "room there.",
                                         m_login, megabytesOf(kilobytes * 1024), m_folder,
                                         megabytesOf(bytes)));
    }

    /// What was sent before and is the same is not sent again.
    void send(const fs::path& stage) const
    {
        detail::RsyncCall call{m_login, stage, m_folder + ".part", true, {}, {}};
        call.names = {"bin", "lib", "vergence"};
        call.options = {"--compress", "--delete", "--links", "--perms"};
        detail::callRsync(call);
    }

    /// Starts the program there. `suffix` of the folder.
    void tryThere(const std::string& suffix) const
    {
        const std::string program = m_folder + suffix + "/vergence";
        const CommandResult result = ask({program, "--version"});
        const std::string said = lastLine(result.output);
        if (result.isGood() && said == "vergence " + m_version)
            return;
        throw InputError(result.isGood()
                             ? fmt::format("{} on {} says that it is {}, not vergence {}. Remove "
                                           "its folder, then install it again.",
                                           program, m_login, said, m_version)
                             : whyItDoesNotStart(program, result));
    }

    void name() const
    {
        const CommandResult result = ask({"sh", "-c", kNameFolder, "sh", m_folder});
        if (!result.isGood())
            throw InputError(fmt::format("The studio cannot be put on {}, at {}: {}. Remove that "
                                         "folder, then install it again.",
                                         m_login, m_folder, lastWordsOf(result)));
    }

    std::string program() const { return m_folder + "/vergence"; }

private:
    CommandResult ask(const std::vector<std::string>& command) const
    {
        CommandResult result = Shell(m_login).run(command);
        if (const std::string problem = sshProblem(m_login, command.front(), result);
            !problem.empty())
            throw InputError(problem);
        return result;
    }

    std::string whyItDoesNotStart(const std::string& program, const CommandResult& result) const
    {
        constexpr int kNotFound = 127; // of a shell; here of a loader that is not there
        const std::string build = "Build the studio there, and set `program` to it.";
        if (hasSaid(result, "Exec format error"))
            return fmt::format("{} has another processor than this computer. {}", m_login, build);
        if (hasSaid(result, "GLIBC_"))
            return fmt::format("{} has an older C library than this computer ({}). {}", m_login,
                               lastWordsOf(result), build);
        if (result.exitCode == kNotFound)
            return fmt::format("{} cannot run programs of this computer: it lacks the GNU C "
                               "library, or a part of it ({}). {}",
                               m_login, lastWordsOf(result), build);
        return fmt::format("{} does not start on {} ({}). Look whether programs may be started "
                           "from that disk.",
                           program, m_login, lastWordsOf(result));
    }

    std::string m_login, m_version, m_folder, m_room;
};

} // namespace

std::string installStudio(const Target& target, const fs::path& program, const std::string& version,
                          const std::function<void(const std::string&)>& say)
{
    expects(!target.login.empty(), "installStudio: a target with a login");
    Installation there(target, version);
    if (there.look(installFolder(version, program.string()))) {
        say(fmt::format("{} has this studio already.", target.login));
        there.tryThere("");
        return there.program();
    }
    say("Gathering the program and its libraries.");
    const QTemporaryDir stage;
    if (!stage.isValid())
        throw OutputError(fmt::format("No folder can be made for the studio ({}).",
                                      stage.errorString().toStdString()));
    const fs::path folder = fs::path(stage.path().toStdString()) / "studio";
    makePortableStudio(program, folder);
    const std::uint64_t bytes = bytesBelow(folder);
    there.requireRoom(bytes);
    say(fmt::format("Sending {} to {}.", megabytesOf(bytes), target.login));
    there.send(folder);
    there.tryThere(".part");
    there.name();
    return there.program();
}

} // namespace vergence
