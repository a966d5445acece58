#include "core/compute/cpu_threads.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <sched.h>
#include <sys/utsname.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Words of a file that may not exist.
std::vector<std::string> wordsOf(const fs::path& path)
{
    std::ifstream file(path);
    std::vector<std::string> words;
    for (std::string word; file >> word;)
        words.push_back(word);
    return words;
}

/// Quota over period in microseconds; "max" and −1 mean that there is none.
double share(const std::string& quota, const std::string& period)
{
    const double q = std::atof(quota.c_str()), p = std::atof(period.c_str());
    return q > 0 && p > 0 ? q / p : kUnlimited;
}

/// The least share of a group and those above it, in a hierarchy of version 2 or 1.
double shareOf(const fs::path& mount, fs::path group)
{
    double least = kUnlimited;
    for (;; group = group.parent_path()) {
        const fs::path folder = mount / group.relative_path();
        const auto both = wordsOf(folder / "cpu.max");
        const auto quota = wordsOf(folder / "cpu.cfs_quota_us");
        const auto period = wordsOf(folder / "cpu.cfs_period_us");
        if (both.size() == 2)
            least = std::min(least, share(both[0], both[1]));
        if (!quota.empty() && !period.empty())
            least = std::min(least, share(quota[0], period[0]));
        if (!group.has_relative_path())
            return least;
    }
}

std::optional<cpu_set_t> affinity()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof(set), &set) != 0)
        return std::nullopt;
    return set;
}

int processors()
{
    const auto set = affinity();
    return set ? CPU_COUNT(&*set)
               : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int wantedAtMost()
{
    const char* text = std::getenv("VERGENCE_THREADS");
    if (!text)
        return std::numeric_limits<int>::max();
    const std::string_view view(text);
    int count = 0;
    const auto [end, code] = std::from_chars(view.data(), view.data() + view.size(), count);
    if (code != std::errc{} || end != view.data() + view.size() || count < 1)
        throw DeviceError(
            fmt::format("VERGENCE_THREADS is {}; it must be a number of threads, at least 1.",
                        view),
            ExitCode::Usage);
    return count;
}

} // namespace

double cpuQuota(const fs::path& proc, const fs::path& groups)
{
    // Lines "number:controllers:path"; version 2 has no controllers.
    std::ifstream file(proc / "cgroup");
    double least = kUnlimited;
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const fs::path group = line.substr(second + 1);
        if (controllers.empty())
            least = std::min(least, shareOf(groups, group));
        else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
            least = std::min(least, shareOf(groups / controllers, group));
    }
    return least;
}

int usableThreads()
{
    const double quota = std::ceil(std::max(1.0, cpuQuota()));
    const int limit = std::min(processors(), wantedAtMost());
    return quota < limit ? static_cast<int>(quota) : limit;
}

std::string processorName()
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("model name", 0) == 0)
            return line.substr(std::min(line.size(), line.find(':') + 2));
    }
    std::ifstream board("/sys/firmware/devicetree/base/model");
    if (std::string name; std::getline(board, name, '\0') && !name.empty())
        return name;
    struct utsname system {};
    ::uname(&system);
    return system.machine;
}

int usableCores()
{
    const auto set = affinity();
    if (!set)
        return processors();
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &*set))
            continue;
        const auto siblings = wordsOf(
            fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
        cores.insert(siblings.empty() ? fmt::format("cpu{}", cpu) : siblings[0]);
    }
    return std::max(1, static_cast<int>(cores.size()));
}

int threadsForProducts(int threads, int cores, const std::function<double(int)>& seconds)
{
    if (cores >= threads)
        return threads;
    double best[2] = {kUnlimited, kUnlimited};
    for (int round = 0; round < 3; ++round) { // the fastest of each: other work only slows
        best[0] = std::min(best[0], seconds(cores));
        best[1] = std::min(best[1], seconds(threads));
    }
    return best[0] < best[1] ? cores : threads;
}

} // namespace vergence
