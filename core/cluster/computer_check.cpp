#include "core/cluster/target_check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/cluster/folder_token.h"

namespace vergence::detail {

namespace {

using Lines = std::vector<TargetCheck::Line>;

std::string computerOf(const Target& target)
{
    return target.login.empty() ? "this computer" : target.login;
}

/// The same at the beginning of a sentence.
std::string subjectOf(const Target& target)
{
    return target.login.empty() ? "This computer" : target.login;
}

/// With a shared disk the login must see what this computer writes; else it must be able to write.
void checkFolder(const Target& target, const StudioThere& studio, Lines& lines)
{
    const std::string folder = studio.runs.string();
    const bool isShared = target.disk == Disk::Shared;
    const FolderToken token(isShared ? std::string() : target.login, studio.runs);
    const std::string room = token.room().empty() ? "" : fmt::format(" ({})", token.room());
    if (target.login.empty() || !isShared) {
        lines.push_back({true, fmt::format("{} writes {}{}.", subjectOf(target), folder, room)});
        return;
    }
    const CommandResult result =
        Shell(target.login).run({"sh", "-c", kLookForToken, "sh", token.path().string()});
    const auto has = [&result](const char* words) {
        return result.output.find(words) != std::string::npos;
    };
    if (!has("sees folder"))
        lines.push_back({false, fmt::format("{} does not see {} as this computer has it. Set "
                                            "`folder` to one on a disk that both share, or `disk` "
                                            "to own.",
                                            target.login, folder)});
    else if (!has("writes folder"))
        lines.push_back({false, fmt::format("{} may not write {}. Choose another `folder`, or give "
                                            "it the right to.",
                                            target.login, folder)});
    else
        lines.push_back(
            {true, fmt::format("{} sees and writes {}{}.", target.login, folder, room)});
}

bool checkProgram(const Target& target, const StudioThere& studio, Lines& lines)
{
    const std::string here = "vergence " + buildInfo().value("version", "");
    if (target.login.empty() && studio.version.empty()) {
        lines.push_back({false, fmt::format("{} does not start. Set `program` to the path of "
                                            "`vergence`, or to nothing for this one.",
                                            studio.program)});
        return false;
    }
    try {
        requireSameVersion(target, studio, here);
    } catch (const Error& error) {
        lines.push_back({false, error.what()});
        return false;
    }
    lines.push_back({true, fmt::format("{} has {}.", subjectOf(target), studio.version)});
    return true;
}

/// What `vergence doctor --json` says of devices.
struct DevicesThere {
    std::vector<std::string> names;
    std::set<std::string> lanes; ///< "cpu", "cuda:0", UUIDs
    std::string whyNoCuda;

    bool has(const std::string& lane) const
    {
        // A UUID may be cut short, as CUDA takes it.
        return lanes.contains(lane) ||
               (lane.starts_with("GPU-") && std::ranges::any_of(lanes, [&](const std::string& one) {
                    return one.starts_with(lane);
                }));
    }
};

DevicesThere devicesIn(const nlohmann::json& report)
{
    DevicesThere found;
    const auto devices = report.at("devices").get<nlohmann::json::object_t>();
    int gpus = 0;
    for (const auto& device : devices.at("list")) {
        found.names.push_back(device.at("name").get<std::string>());
        if (device.at("kind") == "cpu") {
            found.lanes.insert("cpu");
            continue;
        }
        found.lanes.insert({"cuda", fmt::format("cuda:{}", gpus++)});
        found.lanes.insert(device.at("uuid").get<std::string>());
    }
    found.whyNoCuda = devices.at("why_no_cuda").get<std::string>();
    return found;
}

DevicesThere askDevices(const Target& target, const StudioThere& studio)
{
    const CommandResult result = askVergence(target.login, studio.program, {"doctor", "--json"});
    try {
        if (result.isGood())
            return devicesIn(jsonIn(result.output, '{'));
    } catch (const nlohmann::json::exception&) {
        throw InputError(fmt::format("What `{} doctor --json` says on {} cannot be read.",
                                     studio.program, computerOf(target)));
    }
    throw InputError(fmt::format("`{} doctor` fails on {}: {}", studio.program, computerOf(target),
                                 refusalOf(result)));
}

void checkLanes(const Target& target, const StudioThere& studio, Lines& lines)
{
    const DevicesThere devices = askDevices(target, studio);
    lines.push_back({true, fmt::format("Devices on {}: {}.", computerOf(target),
                                       fmt::join(devices.names, ", "))});
    for (const std::string& lane : std::set(target.lanes.begin(), target.lanes.end()))
        if (!devices.has(lane))
            lines.push_back(
                {false, fmt::format("There is no device {} on {} for a lane.{} Correct `lanes`.",
                                    lane, computerOf(target),
                                    devices.whyNoCuda.empty() ? "" : " " + devices.whyNoCuda)});
    const std::size_t count = std::max<std::size_t>(target.lanes.size(), 1);
    lines.push_back(
        {true, fmt::format("{} run{} may work at a time.", count, count == 1 ? "" : "s")});
}

} // namespace

bool checkComputer(const Target& target, const StudioThere& studio, Lines& lines)
{
    try {
        checkFolder(target, studio, lines);
    } catch (const IoError& error) {
        lines.push_back({false, error.what()});
    }
    if (!checkProgram(target, studio, lines))
        return false;
    if (target.scheduler == Scheduler::Lanes)
        checkLanes(target, studio, lines);
    return true;
}

void checkCopying(const Target& target, Lines& lines)
{
    const bool isHere = !Shell().run({"rsync", "--version"}).isMissing;
    const CommandResult there = Shell(target.login).run({"rsync", "--version"});
    if (const std::string problem = sshProblem(target.login, "rsync", there); !problem.empty())
        throw InputError(problem);
    if (!isHere)
        lines.push_back({false, "The program rsync is not on this computer. Install the package "
                                "rsync; runs are copied by it."});
    if (!there.isGood())
        lines.push_back({false, fmt::format("The program rsync is not on {}. Install the package "
                                            "rsync there; runs are copied by it.",
                                            target.login)});
    if (isHere && there.isGood())
        lines.push_back({true, "Runs can be copied: rsync is on both sides."});
}

} // namespace vergence::detail
