#include "app/cli/sweep_ends.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/cluster/shell.h"
#include "core/run/group_end.h"
#include "core/run/run_forecast.h"

namespace vergence::cli {

namespace {

struct Sweep {
    std::string key;
    std::vector<RunCourse> runs;
};

/// Group and settings of the sweep that a run is of; nothing in them where it is of none.
std::pair<std::string, std::string> sweepOf(const RunFolder& folder)
{
    try {
        const auto labels = nlohmann::json::parse(readFile(folder.root / "labels.json"));
        const auto& sweep = labels.at("sweep");
        return {sweep.at("group").get<std::string>(), sweep.at("key").get<std::string>()};
    } catch (const nlohmann::json::exception&) {
    } catch (const InputError&) {
    }
    return {};
}

/// Of the last number that a run has told; 0 where it has told none.
double secondsOfWork(const RunFolder& folder)
{
    constexpr std::streamoff kEnd = 4096;
    std::ifstream file(folder.metrics(), std::ios::binary | std::ios::ate);
    if (!file)
        return 0;
    file.seekg(std::max<std::streamoff>(0, file.tellg() - kEnd));
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::string line = lastLine(text); // "180,20.98,name,value"
    const std::size_t comma = line.find(',');
    double seconds = 0;
    if (comma != std::string::npos)
        std::from_chars(line.data() + comma + 1, line.data() + line.size(), seconds);
    return seconds;
}

std::map<std::string, Sweep> sweepsIn(const std::vector<ListedRun>& runs)
{
    std::map<std::string, Sweep> sweeps;
    for (const ListedRun& run : runs) {
        const auto [group, key] = sweepOf(run.folder);
        if (group.empty())
            continue;
        Sweep& sweep = sweeps[group];
        sweep.key = key;
        sweep.runs.push_back({run.state, run.step, run.total, secondsOfWork(run.folder)});
    }
    return sweeps;
}

std::string endText(const Sweep& sweep)
{
    const auto ended =
        std::ranges::count_if(sweep.runs, [](const RunCourse& run) { return isFinal(run.state); });
    const auto working =
        std::ranges::count_if(sweep.runs, [](const RunCourse& run) { return isLive(run.state); });
    std::string text = fmt::format("Sweep over {}: {} of {} runs have ended, {} work", sweep.key,
                                   ended, sweep.runs.size(), working);
    if (const auto left = secondsLeft(sweep.runs))
        text += fmt::format("; about {} left, until {}", roughDuration(*left),
                            momentText(epochSeconds() + *left));
    return text + ".";
}

} // namespace

std::vector<std::string> sweepEnds(const std::vector<ListedRun>& runs)
{
    std::vector<std::string> lines;
    for (const auto& [group, sweep] : sweepsIn(runs))
        if (std::ranges::any_of(sweep.runs, [](const RunCourse& run) { return isLive(run.state); }))
            lines.push_back(endText(sweep));
    return lines;
}

std::string momentText(double epoch)
{
    const auto seconds = static_cast<std::time_t>(epoch);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    std::ostringstream text;
    text << std::put_time(&parts, "%a %d %b %H:%M");
    return text.str();
}

} // namespace vergence::cli
