#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <QProcess>
#include <QTemporaryDir>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/config_source.h"
#include "app/cli/sweep_ends.h"
#include "app/cli/target_access.h"
#include "app/cli/text.h"
#include "core/artifact/json_text.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/cluster/slurm_command.h"
#include "core/cluster/studio_there.h"
#include "core/run/run_forecast.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ForecastOptions {
    ConfigRequest config;
    std::string target, device;
    double seconds = 20; ///< that the run is measured for
    std::int64_t runs = 1;
    bool json = false;
};

constexpr double kAround = 120; ///< s; what a measurement may take besides: start, data, checkpoint

/// The end of a program that was called for its work, not for its words.
void requireGoodEnd(QProcess& worker)
{
    const int code = worker.exitCode();
    const bool isGood = worker.exitStatus() == QProcess::NormalExit &&
                        (code == 0 || code == static_cast<int>(ExitCode::TimeLimit));
    if (isGood)
        return;
    CommandResult result;
    result.errors = worker.readAllStandardError().toStdString();
    throw Error(refusalOf(result), code > 0 ? static_cast<ExitCode>(code) : ExitCode::RunFailed);
}

/// The run itself, for a while, in a folder that is thrown away.
RunForecast measured(const ForecastOptions& options, const std::string& toml,
                     const Session& session)
{
    const QTemporaryDir folder;
    if (!folder.isValid())
        throw OutputError("A folder for the measurement cannot be made: " +
                          folder.errorString().toStdString());
    const fs::path place = folder.path().toStdString();
    writeFileAtomic(place / "config.toml", toml);
    const RunFolder run{place / "run"};
    QStringList arguments{"run",
                          QString::fromStdString((place / "config.toml").string()),
                          "--run-dir",
                          QString::fromStdString(run.root.string()),
                          "--time-limit",
                          QString::number(options.seconds),
                          "--checkpoint-every",
                          "1e9",
                          "--quiet"};
    if (!options.device.empty())
        arguments << "--device" << QString::fromStdString(options.device);
    for (const std::string& plugins : options.config.plugins.folders)
        arguments << "--plugin-path" << QString::fromStdString(plugins);
    QProcess worker;
    worker.start(QString::fromStdString(session.executable.string()), arguments);
    worker.waitForFinished(-1);
    requireGoodEnd(worker);
    return forecastFrom(run);
}

json forecastJson(const RunForecast& forecast)
{
    return {{"total", forecast.total},
            {"measured", forecast.measured},
            {"seconds_per_step", forecast.secondsPerStep},
            {"seconds_before", forecast.secondsBefore},
            {"seconds", forecast.seconds()},
            {"memory_mib", forecast.memoryMiB},
            {"device_mib", forecast.deviceMiB}};
}

RunForecast forecastFrom(const json& answer)
{
    RunForecast forecast;
    forecast.total = answer.at("total");
    forecast.measured = answer.at("measured");
    forecast.secondsPerStep = answer.at("seconds_per_step");
    forecast.secondsBefore = answer.at("seconds_before");
    forecast.memoryMiB = answer.at("memory_mib");
    forecast.deviceMiB = answer.at("device_mib");
    return forecast;
}

/// The same command where the runs would work.
RunForecast measuredThere(const ForecastOptions& options, const Target& target,
                          const std::string& toml, const Session& session)
{
    const StudioThere studio = usableStudio(target, session, runsFolderOf(target));
    std::vector<std::string> words{"forecast", "-", "--json", "--seconds",
                                   fmt::format("{}", options.seconds)};
    const std::string lane = target.lanes.empty() ? std::string() : target.lanes.front();
    if (const std::string& device = options.device.empty() ? lane : options.device; !device.empty())
        words.insert(words.end(), {"--device", device});
    for (const std::string& plugins : options.config.plugins.folders)
        words.insert(words.end(), {"--plugin-path", fs::absolute(plugins).string()});
    CommandResult result;
    if (target.scheduler == Scheduler::Slurm) {
        constexpr double kMinute = 60; // s
        std::vector<std::string> command =
            detail::srunCommand(target, options.seconds + kAround,
                                static_cast<int>((options.seconds + kAround) / kMinute) + 1);
        command.push_back(studio.program);
        command.insert(command.end(), words.begin(), words.end());
        result = detail::askSlurm(target.login, command, toml, 2 * (options.seconds + kAround));
    } else {
        result = askVergence(target.login, studio.program, words, toml, options.seconds + kAround);
    }
    if (result.exitCode != 0)
        throw Error(refusalOf(result), static_cast<ExitCode>(result.exitCode));
    try {
        return forecastFrom(jsonIn(result.output, '{'));
    } catch (const json::exception&) {
        throw InputError(fmt::format("The forecast of {} is not understood: {}", target.name,
                                     lastLine(result.output)));
    }
}

/// How many runs of a target work at a time; 0: as many as the cluster allows.
std::int64_t runsAtOnce(const Target& target)
{
    if (target.scheduler == Scheduler::Slurm)
        return target.atOnce;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(target.lanes.size()));
}

std::string memoryText(double mebibytes)
{
    return bytesText(static_cast<std::uint64_t>(mebibytes * 1024 * 1024));
}

void tell(const ForecastOptions& options, const RunForecast& forecast, std::int64_t atOnce)
{
    std::cout << fmt::format(
        "About {}: {} steps of {:.3g} s, and {} before the first. Judged by {} "
        "steps.\n",
        roughDuration(forecast.seconds()), forecast.total, forecast.secondsPerStep,
        roughDuration(forecast.secondsBefore), forecast.measured);
    if (forecast.memoryMiB > 0) // runs of less than a second are over before it is looked at
        std::cout << fmt::format("Memory so far: {}{}.\n", memoryText(forecast.memoryMiB),
                                 forecast.deviceMiB > 0
                                     ? ", and " + memoryText(forecast.deviceMiB) + " of the GPU"
                                     : "");
    if (options.runs == 1)
        return;
    if (atOnce == 0) {
        std::cout << fmt::format("{} runs take {} of computing together; how many work at a time "
                                 "is the cluster's choice.\n",
                                 options.runs, roughDuration(forecast.secondsFor(options.runs, 1)));
        return;
    }
    const double seconds = forecast.secondsFor(options.runs, atOnce);
    std::cout << fmt::format("{} runs, {} at a time: about {}, until {} if they begin now.\n",
                             options.runs, atOnce, roughDuration(seconds),
                             momentText(epochSeconds() + seconds));
}

int forecast(ForecastOptions options, const Session& session)
{
    options.config.isForElsewhere = !options.target.empty();
    std::optional<Target> target;
    if (!options.target.empty())
        target = usableTarget(options.target);
    const ConfigSource source = resolveConfig(options.config, session);
    const std::string toml = emitToml(requireConfig(source), source.preset);
    const RunForecast result =
        target ? measuredThere(options, *target, toml, session) : measured(options, toml, session);
    if (options.json)
        std::cout << forecastJson(result).dump(2) << '\n';
    else
        tell(options, result, target ? runsAtOnce(*target) : 1);
    return 0;
}

void addOptions(CLI::App& app, ForecastOptions& options)
{
    options.config.addTo(app);
    app.add_option("--target", options.target,
                   "Measure there, one of `vergence targets list`; default is this computer.")
        ->type_name("NAME");
    app.add_option("--device", options.device, "Where to compute, as for `vergence run`.")
        ->type_name("cpu|cuda|cuda:N|UUID");
    app.add_option("--seconds", options.seconds, "How long the run is measured.")
        ->check(CLI::Range(1.0, 3600.0))
        ->type_name("S")
        ->capture_default_str();
    app.add_option("--runs", options.runs, "How many such runs there will be.")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    app.add_flag("--json", options.json, "One JSON object instead.");
}

} // namespace

void addForecastCommand(CLI::App& app, Session& session)
{
    CLI::App* command = addLevel(
        app, "forecast", "Say how long a run will take, and its memory, by its first seconds.");
    command->footer("Later stages of a run may be slower or faster than its first seconds.\n"
                    "Examples:\n  vergence forecast sugar --preset standard --set scene=fox\n"
                    "  vergence forecast light_field --preset standard --target uni --runs 50");
    auto options = std::make_shared<ForecastOptions>();
    addOptions(*command, *options);
    command->callback([options, &session] {
        session.action = [options, &session] { return forecast(*options, session); };
    });
}

} // namespace vergence::cli
