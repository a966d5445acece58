#include <iostream>
#include <memory>

#include <QProcess>

#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/config_source.h"
#include "app/cli/run_access.h"
#include "app/cli/text.h"
#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/plugin/lab_benchmark.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFailedRun = 3; // as LabBenchmark counts, not as runs do

struct BenchOptions {
    ConfigRequest config;
    std::string mode, save, compare, store, out, device;
    int repeats = 0, threads = 0;
    double seconds = 0;
    bool isForced = false, json = false;
};

const LabBenchmark& requireBenchmark(const ConfigSource& source)
{
    if (const auto* lab = dynamic_cast<const LabBenchmark*>(source.lab))
        return *lab;
    throw Error(fmt::format("{} offers no benchmarks.", source.plugin.name), ExitCode::Usage);
}

/// The mode that was named, or the lab's first.
std::string chooseMode(const LabBenchmark& lab, const std::string& wanted)
{
    std::vector<std::string> names;
    for (const BenchMode& mode : lab.benchModes()) {
        if (wanted.empty() || mode.name == wanted)
            return mode.name;
        names.push_back(mode.name);
    }
    std::string list;
    for (const std::string& name : names)
        list += (list.empty() ? "`" : ", `") + name + "`";
    throw Error(fmt::format("There is no benchmark `{}`.{} There are: {}.", wanted,
                            suggestion(wanted, names), list),
                ExitCode::Usage);
}

/// The same measurement once, as a command line of its own.
QStringList onceMore(const BenchOptions& options, const std::string& mode)
{
    QStringList arguments{"bench",
                          QString::fromStdString(options.config.target),
                          QString::fromStdString(mode),
                          "--json",
                          "--repeats",
                          "1"};
    const auto add = [&](const char* option, const std::string& value) {
        if (!value.empty())
            arguments << option << QString::fromStdString(value);
    };
    add("--preset", options.config.preset);
    add("--config", options.config.file);
    add("--device", options.device);
    for (const std::string& assignment : options.config.assignments)
        add("--set", assignment);
    for (const std::string& folder : options.config.plugins.folders)
        add("--plugin-path", folder);
    if (options.threads > 0)
        add("--threads", std::to_string(options.threads));
    if (options.seconds > 0)
        add("--seconds", fmt::format("{}", options.seconds));
    return arguments;
}

json measureAfresh(const Session& session, const QStringList& arguments)
{
    QProcess process;
    process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    process.start(QString::fromStdString(session.executable.string()), arguments,
                  QIODevice::ReadOnly);
    if (!process.waitForFinished(-1) || process.exitStatus() != QProcess::NormalExit ||
        process.exitCode() != 0)
        throw Error("A repeat of the benchmark in a process of its own failed.");
    return parseJson(process.readAllStandardOutput().toStdString(), "the benchmark's repeat");
}

BenchRequest makeRequest(const BenchOptions& options, const Session& session,
                         const ConfigSource& source, const std::string& mode,
                         const DeviceList& devices)
{
    BenchRequest request{.mode = mode,
                         .config = requireConfig(source),
                         .device = chooseDevice(devices, options.device, source.plugin)};
    request.store =
        options.store.empty() ? dataHome() / "bench" / source.plugin.id : fs::path(options.store);
    if (!options.save.empty())
        request.saveAs = options.save;
    if (!options.compare.empty())
        request.compareWith = options.compare;
    request.isForced = options.isForced;
    request.repeats = options.repeats;
    if (options.seconds > 0)
        request.seconds = options.seconds;
    if (options.config.target != "-" && options.config.file != "-")
        request.measureAfresh = [&options, &session, mode] {
            return measureAfresh(session, onceMore(options, mode));
        };
    request.progress = [](const std::string& line) { std::cerr << line << '\n'; };
    return request;
}

void write(const BenchAnswer& answer, const fs::path& folder)
{
    std::error_code code;
    fs::create_directories(folder, code);
    if (code)
        throw OutputError(
            fmt::format("The folder {} cannot be made ({}).", folder.string(), code.message()));
    writeFileAtomic(folder / "bench.json", prettyJson(answer.report));
    writeFileAtomic(folder / "bench.md", answer.markdown);
    if (!answer.csv.empty())
        writeFileAtomic(folder / "bench.csv", answer.csv);
}

int bench(const BenchOptions& options, const Session& session)
{
    const DeviceList devices = devicesFor(options.device, options.threads, session);
    const ConfigSource source = resolveConfig(options.config, session);
    const LabBenchmark& lab = requireBenchmark(source);
    const BenchRequest request =
        makeRequest(options, session, source, chooseMode(lab, options.mode), devices);
    BenchAnswer answer;
    try {
        answer = lab.bench(request);
    } catch (const Error& error) { // the code says that nothing was measured, whatever the cause
        std::cerr << "vergence: " << error.what() << '\n';
        return kFailedRun;
    }
    if (!options.out.empty())
        write(answer, options.out);
    std::cout << (options.json ? prettyJson(answer.report) : answer.markdown);
    return answer.exitCode;
}

void addOptions(CLI::App& app, BenchOptions& options)
{
    options.config.addTo(app);
    app.add_option("mode", options.mode, "What to measure; the lab's first benchmark by default.");
    app.add_option("--save", options.save, "Keep the measurement under this name.")
        ->type_name("NAME");
    app.add_option("--compare", options.compare, "Compare with what is kept under this name.")
        ->type_name("NAME");
    app.add_flag("--force", options.isForced,
                 "Compare even what was measured elsewhere or otherwise; the result says so.");
    app.add_option("--repeats", options.repeats,
                   "Measurements in fresh processes; 0 takes what the lab likes best.")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    app.add_option("--seconds", options.seconds, "Length of one measurement.")
        ->check(CLI::PositiveNumber)
        ->type_name("S");
    app.add_option("--device", options.device,
                   "Where to compute; default is CUDA where the plugin can use it.")
        ->type_name("cpu|cuda|cuda:N|UUID");
    app.add_option("-j,--threads", options.threads,
                   "CPU threads; 0 takes what the process may use.")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--store", options.store, "Folder of kept measurements.")->type_name("DIR");
    app.add_option("-o,--out", options.out, "Write bench.json, bench.md and bench.csv here.")
        ->type_name("DIR");
    app.add_flag("--json", options.json, "The report as JSON instead of tables.");
}

} // namespace

void addBenchCommand(CLI::App& app, Session& session)
{
    CLI::App* command = addLevel(app, "bench", "Measure what a lab offers to measure.");
    command->footer(
        "Exit codes: 0 ok, 1 regression, 2 not comparable, 3 the measurement failed.\n"
        "Examples:\n  vergence bench live_diffusion --save before\n"
        "  vergence bench live_diffusion --compare before\n"
        "  vergence bench live_diffusion profile --set model_size=s --set weights=bench "
        "--out profile");
    auto options = std::make_shared<BenchOptions>();
    addOptions(*command, *options);
    command->callback([options, &session] {
        session.action = [options, &session] { return bench(*options, session); };
    });
}

} // namespace vergence::cli
