#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/run_folder.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

using nlohmann::json;

/// Reads members of status.json; missing ones keep their default, since older versions wrote fewer.
class StatusReader {
public:
    explicit StatusReader(const json& object) : m_object(object)
    {
        if (!object.is_object())
            throw InputError("The run's status is not a JSON object.");
    }

    void read(const char* key, std::string& value) const
    {
        if (const json* member = find(key, &json::is_string, "a text"))
            value = member->get<std::string>();
    }
    template <class Integer>
    void readInteger(const char* key, Integer& value) const
    {
        if (const json* member = find(key, &json::is_number_integer, "a whole number"))
            value = member->get<Integer>();
    }
    void read(const char* key, double& value) const
    {
        if (const json* member = find(key, &json::is_number, "a number"))
            value = member->get<double>();
    }
    void read(const char* key, std::optional<int>& value) const
    {
        const auto found = m_object.find(key);
        if (found == m_object.end() || found->is_null())
            return;
        value = 0;
        readInteger(key, *value);
    }
    void read(const char* key, std::vector<std::string>& values) const
    {
        const json* member = find(key, &json::is_array, "an array of texts");
        if (!member)
            return;
        for (const json& item : *member) {
            if (!item.is_string())
                fail(key, "an array of texts");
            values.push_back(item.get<std::string>());
        }
    }

private:
    const json* find(const char* key, bool (json::*isRight)() const noexcept,
                     const char* wanted) const
    {
        const auto found = m_object.find(key);
        if (found == m_object.end())
            return nullptr;
        if (!((*found).*isRight)())
            fail(key, wanted);
        return &*found;
    }
    [[noreturn]] static void fail(const char* key, const char* wanted)
    {
        throw InputError(fmt::format("The run's status is damaged: `{}` must be {}.", key, wanted));
    }

    const json& m_object;
};

/// State letter and start of a process, the latter in seconds since the epoch.
struct ProcessFacts {
    char state = 0;
    double start = 0;
};

double bootTime()
{
    std::ifstream file("/proc/stat");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("btime ", 0) == 0)
            return std::stod(line.substr(6));
    }
    return 0;
}

/// Fields of /proc/<pid>/stat: the state is the third, the start (in clock ticks after boot) the
/// 22nd. Source: proc(5).
std::optional<ProcessFacts> factsOf(int pid)
{
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(file, line))
        return std::nullopt;
    std::size_t at = line.rfind(')'); // the name in brackets may hold anything
    if (at == std::string::npos || at + 2 >= line.size())
        return std::nullopt;
    at += 2;
    ProcessFacts facts;
    facts.state = line[at];
    for (int field = 3; field < 22 && at != std::string::npos; ++field)
        at = line.find(' ', at + 1);
    if (at == std::string::npos)
        return std::nullopt;
    unsigned long long ticks = 0;
    std::from_chars(line.data() + at + 1, line.data() + line.size(), ticks);
    facts.start =
        bootTime() + static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    return facts;
}

} // namespace

json RunStatus::toJson() const
{
    json object{{"state", state},   {"plugin", plugin},       {"preset", preset},
                {"device", device}, {"step", step},           {"total", total},
                {"pid", pid},       {"boot_id", bootId},      {"host", host},
                {"job", job},       {"heartbeat", heartbeat}, {"exit_code", nullptr},
                {"phase", phase},   {"problem", problem},     {"problem_id", problemId},
                {"socket", socket}, {"rings", rings}};
    if (exitCode)
        object["exit_code"] = *exitCode;
    return object;
}

RunStatus RunStatus::fromJson(const json& object)
{
    const StatusReader reader(object);
    RunStatus status;
    reader.read("state", status.state);
    if (status.state.empty())
        throw InputError("The run's status is damaged: `state` is missing.");
    reader.read("plugin", status.plugin);
    reader.read("preset", status.preset);
    reader.read("device", status.device);
    reader.readInteger("step", status.step);
    reader.readInteger("total", status.total);
    reader.readInteger("pid", status.pid);
    reader.read("boot_id", status.bootId);
    reader.read("host", status.host);
    reader.read("job", status.job);
    reader.read("heartbeat", status.heartbeat);
    reader.read("exit_code", status.exitCode);
    reader.read("phase", status.phase);
    reader.read("problem", status.problem);
    reader.read("problem_id", status.problemId);
    reader.read("socket", status.socket);
    reader.read("rings", status.rings);
    return status;
}

RunStatus readStatus(const RunFolder& folder)
{
    return RunStatus::fromJson(parseJson(readFile(folder.status()), folder.status().string()));
}

void writeStatus(const RunFolder& folder, const RunStatus& status)
{
    writeFileAtomic(folder.status(), prettyJson(status.toJson()));
}

std::string currentBootId()
{
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

std::string currentHost()
{
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : std::string();
}

std::string currentJob()
{
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    };
    const std::string array = variable("SLURM_ARRAY_JOB_ID"),
                      task = variable("SLURM_ARRAY_TASK_ID");
    const std::string id =
        array.empty() || task.empty() ? variable("SLURM_JOB_ID") : array + "_" + task;
    return id.empty() ? id : "slurm " + id;
}

bool isOfThisComputer(const RunStatus& status)
{
    const bool isHere = status.host.empty() || status.host == currentHost();
    return isHere && !status.bootId.empty() && status.bootId == currentBootId();
}

bool isWorkerAlive(const RunStatus& status)
{
    if (status.pid <= 0 || !isOfThisComputer(status))
        return false;
    const auto facts = factsOf(status.pid);
    if (!facts || facts->state == 'Z' || facts->state == 'X')
        return false;
    // A process that started after the last heartbeat got the number of a dead worker. The boot
    // time is whole seconds.
    constexpr double kClockError = 2;
    return facts->start <= status.heartbeat + kClockError;
}

} // namespace vergence
