#include "core/cluster/folder_token.h"

#include <cstdint>
#include <sstream>

#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/shell.h"

namespace vergence::detail {

namespace {

/// Makes folder and file, and says how much room is there.
constexpr const char* kMakeToken = R"sh(
mkdir -p "$1" || exit 1
echo 'Vergence Studio looks who sees this folder. The file may be removed.' >"$2" || exit 1
df -Pk "$1" | { read -r head; read -r disk size used free rest; printf '\nfree %s\n' "$free"; }
exit 0)sh";

constexpr const char* kNodeAnswer = "-node";

/// From a line "free KILOBYTES".
std::string roomIn(const std::string& output)
{
    const std::size_t begin = output.rfind("\nfree ");
    std::uint64_t kilobytes = 0;
    if (begin == output.npos || !(std::istringstream(output.substr(begin + 6)) >> kilobytes))
        return {};
    return kilobytes < 10'000'000 ? fmt::format("{} MB free", kilobytes / 1'000)
                                  : fmt::format("{} GB free", kilobytes / 1'000'000);
}

} // namespace

const char* const kLookForToken = R"sh(
if [ -f "$1" ]; then echo 'sees folder'; fi
if : >"$1-node"; then echo 'writes folder'; fi
)sh";

FolderToken::FolderToken(std::string host, const std::filesystem::path& folder)
    : m_host(std::move(host)),
      m_path(folder / fmt::format(".vergence-check-{}", ::getpid()))
{
    const CommandResult result =
        Shell(m_host).run({"sh", "-c", kMakeToken, "sh", folder.string(), m_path.string()});
    if (const std::string problem = sshProblem(m_host, "sh", result); !problem.empty())
        throw InputError(problem);
    if (!result.isGood())
        throw InputError(fmt::format(
            "{} cannot be written{} ({}). Choose another `folder`, or give it the right to.",
            folder.string(), m_host.empty() ? "" : " on " + m_host,
            result.whyNot + lastLine(result.errors)));
    m_room = roomIn(result.output);
}

FolderToken::~FolderToken()
{
    Shell(m_host).run({"rm", "-f", "--", m_path.string(), m_path.string() + kNodeAnswer});
}

} // namespace vergence::detail
