#include "cuda/backend/tuning_file.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/studio_folders.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// Processes that add to a file take turns. Where the file system has no locks they do not, and
/// one may lose what another adds in the same moment.
class Turn {
public:
    explicit Turn(const fs::path& file)
        : m_lock(::open((file.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600))
    {
        if (m_lock >= 0)
            ::flock(m_lock, LOCK_EX);
    }
    ~Turn()
    {
        if (m_lock >= 0)
            ::close(m_lock);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    int m_lock;
};

std::string checkOf(const std::string& text)
{
    return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(text))));
}

std::string wordsOf(const PlanKey& problem)
{
    return fmt::format("{}", fmt::join(problem.values, " "));
}

std::string fileName(std::string title)
{
    std::replace_if(
        title.begin(), title.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.'; },
        '-');
    return title + ".txt";
}

} // namespace

TuningFile::TuningFile(const DeviceInfo& card, const std::string& library)
    : m_title(fmt::format("{} {} {} {}", card.name, card.computeCapability, card.driver, library))
{
    try {
        const fs::path folder = cacheHome() / "cuda";
        fs::create_directories(folder);
        m_path = folder / fileName(m_title);
        m_choices = read();
    } catch (const std::exception& error) { // a cache: a run goes on without
        tellOnce(error.what());
    }
}

/// Title and check of the rest in the first line, then a line for each choice.
TuningFile::Choices TuningFile::read() const
{
    std::error_code code;
    if (!fs::exists(m_path, code))
        return {};
    const std::string text = readFile(m_path);
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string lines = text.substr(std::min(end + 1, text.size()));
    if (text.substr(0, end) != m_title + " " + checkOf(lines))
        return {};
    Choices choices;
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
        if (const std::size_t at = line.find(" = "); at != line.npos)
            choices.emplace(line.substr(0, at), line.substr(at + 3));
    }
    return choices;
}

void TuningFile::write() const
{
    std::string lines;
    for (const auto& [problem, choice] : m_choices)
        lines += fmt::format("{} = {}\n", problem, choice);
    writeFileAtomic(m_path, m_title + " " + checkOf(lines) + "\n" + lines);
}

void TuningFile::tellOnce(const std::string& sentence)
{
    if (!std::exchange(m_hasTold, true))
        log("cuda").warn("What is fastest on this GPU is not kept, so that another run may differ "
                         "in the last bits: {}",
                         sentence);
}

std::optional<std::string> TuningFile::find(const PlanKey& problem)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_choices.find(wordsOf(problem));
    return found == m_choices.end() ? std::nullopt : std::optional(found->second);
}

std::string TuningFile::keep(const PlanKey& problem, const std::string& choice,
                             const std::string& refused)
{
    const std::lock_guard lock(m_mutex);
    std::string& kept = m_choices[wordsOf(problem)];
    if (m_path.empty())
        return kept = choice;
    try {
        const Turn turn(m_path);
        for (const auto& [others, theirs] : read()) {
            if (auto& mine = m_choices[others]; mine.empty())
                mine = theirs;
        }
        if (kept.empty() || kept == refused) {
            kept = choice;
            write();
        }
    } catch (const IoError& error) {
        if (kept.empty() || kept == refused)
            kept = choice;
        tellOnce(error.what());
    }
    return kept;
}

} // namespace vergence
