#include <cstdlib>
#include <iostream>
#include <new>

#include <QCoreApplication>
#include <QtGlobal>

#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/backend.h"

namespace vergence::cli {

CLI::App* addLevel(CLI::App& parent, const std::string& name, const std::string& help)
{
    CLI::App* command = parent.add_subcommand(name, help);
    command->set_help_flag("-h,--help", "Print this and end.");
    command->set_version_flag("-V,--version", versionText(), "Print the version and end.");
    return command;
}

CLI::Option* addRepeatable(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                           const std::string& help)
{
    return app.add_option(name, values, help)->allow_extra_args(false);
}

std::string versionText()
{
    return fmt::format("vergence {}", buildInfo().value("version", ""));
}

namespace {

/// Qt's messages go the way of all others.
void logQtMessage(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    const std::string text = message.toStdString();
    if (type == QtDebugMsg)
        log("qt").debug(text);
    else if (type == QtInfoMsg)
        log("qt").info(text);
    else if (type == QtWarningMsg)
        log("qt").warn(text);
    else
        log("qt").error(text);
}

void printVersion(bool verbose)
{
    std::cout << versionText() << '\n';
    if (!verbose)
        return;
    const auto build = buildInfo();
    for (const auto& [key, value] : build.items())
        std::cout << fmt::format("{}: {}\n", key,
                                 value.is_string() ? value.get<std::string>() : value.dump());
    std::cout << fmt::format("qt at run time: {}\n", qVersion());
    const DeviceList list = openDevices();
    for (const auto& device : list.devices)
        std::cout << fmt::format("device: {}\n", device->info().name);
    if (!list.whyNoCuda.empty())
        std::cout << fmt::format("no CUDA: {}\n", list.whyNoCuda);
}

/// The deepest command that was named before the parser gave up, with its name for hints.
const CLI::App& deepest(const CLI::App& app, std::string& path)
{
    for (const CLI::App* command : app.get_subcommands()) {
        path += " " + command->get_name();
        return deepest(*command, path);
    }
    return app;
}

/// "Did you mean …" for the first word that the deepest command does not know.
std::string hintFor(const CLI::App& command)
{
    std::vector<std::string> names, options;
    for (const CLI::App* known : command.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(known->get_name());
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames())
            options.push_back("--" + name);
    }
    for (const std::string& word : command.remaining()) {
        const std::string bare = word.substr(0, word.find('='));
        if (std::string hint = suggestion(bare, bare.starts_with("--") ? options : names);
            !hint.empty())
            return hint;
    }
    return {};
}

int reportUsage(const CLI::App& app, const CLI::ParseError& error)
{
    std::string path = "vergence";
    const CLI::App& command = deepest(app, path);
    std::string hint = hintFor(command);
    if (hint.empty())
        hint = hintFor(app);
    std::cerr << fmt::format("vergence: {}{}{}\nRun `{} --help` for usage.\n", error.what(),
                             std::string_view(error.what()).ends_with('.') ? "" : ".", hint, path);
    return static_cast<int>(ExitCode::Usage);
}

void addCommands(CLI::App& app, Session& session)
{
    addRunCommand(app, session);
    addBenchCommand(app, session);
    addViewCommand(app, session);
    addValidateCommand(app, session);
    addConfigCommand(app, session);
    addPluginsCommand(app, session);
    addRunsCommand(app, session);
    addSubmitCommand(app, session);
    addCancelCommand(app, session);
    addFetchCommand(app, session);
    addForecastCommand(app, session);
    addLaneCommand(app, session);
    addTargetsCommand(app, session);
    addExportCommand(app, session);
    addDoctorCommand(app, session);
}

int parseAndAct(int argc, char** argv)
{
    CLI::App app("Vergence Studio on the command line: runs labs on light and vision.", "vergence");
    Session session;
    session.executable = QCoreApplication::applicationFilePath().toStdString();
    session.command.assign(argv, argv + argc);
    bool wantsVersion = false, isVerbose = false;
    app.set_help_flag("-h,--help", "Print this and end.");
    app.add_flag("-V,--version", wantsVersion,
                 "Print the version and end; with --verbose also Qt, compiler and devices.");
    app.add_flag("-v,--verbose", isVerbose, "More chatter on standard error.");
    app.require_subcommand(0, 1);
    app.footer("Exit codes: 0 success, 1 run failed, 2 usage, 3 configuration invalid, 4 plugin "
               "missing or refused,\n"
               "5 out of memory, 6 input unreadable, 7 no device, 8 output cannot be written, 9 "
               "difference found,\n"
               "124 time limit, 130 interrupted.");
    addCommands(app, session);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return error.get_exit_code() == 0 ? app.exit(error) : reportUsage(app, error);
    }
    if (wantsVersion) {
        printVersion(isVerbose);
        return 0;
    }
    if (!session.action) {
        std::cerr << app.help();
        return static_cast<int>(ExitCode::Usage);
    }
    if (isVerbose)
        setLogLevel("debug");
    return session.action();
}

} // namespace

} // namespace vergence::cli

int main(int argc, char** argv)
{
    using vergence::ExitCode;
    QCoreApplication application(argc, argv);
    QCoreApplication::setApplicationName("vergence");
    qInstallMessageHandler(vergence::cli::logQtMessage);
    try {
        return vergence::cli::parseAndAct(argc, argv);
    } catch (const vergence::Error& error) {
        std::cerr << "vergence: " << error.what() << '\n';
        return static_cast<int>(error.exitCode());
    } catch (const std::bad_alloc&) {
        std::cerr << "vergence: The computer ran out of memory.\n";
        return static_cast<int>(ExitCode::OutOfMemory);
    } catch (const std::exception& error) {
        std::cerr << "vergence: " << error.what() << '\n';
        return static_cast<int>(ExitCode::RunFailed);
    }
}
