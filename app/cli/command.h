#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace vergence::cli {

/// What the parser leaves behind: how this process was called, and what it shall do.
struct Session {
    std::filesystem::path executable; ///< this program, for probe processes
    std::vector<std::string> command; ///< the whole command line
    std::function<int()> action;      ///< set by the command that was named; returns the exit code
};

// Each adds one command with its options to `app`. Options live as long as the session's action.
void addRunCommand(CLI::App& app, Session& session);
void addBenchCommand(CLI::App& app, Session& session);
void addViewCommand(CLI::App& app, Session& session);
void addValidateCommand(CLI::App& app, Session& session);
void addConfigCommand(CLI::App& app, Session& session);
void addPluginsCommand(CLI::App& app, Session& session);
void addRunsCommand(CLI::App& app, Session& session);
void addSubmitCommand(CLI::App& app, Session& session);
void addCancelCommand(CLI::App& app, Session& session);
void addFetchCommand(CLI::App& app, Session& session);
void addForecastCommand(CLI::App& app, Session& session);
void addLaneCommand(CLI::App& app, Session& session);
void addTargetsCommand(CLI::App& app, Session& session);
void addExportCommand(CLI::App& app, Session& session);
void addDoctorCommand(CLI::App& app, Session& session);

/// Adds a command that answers --help and --version as every level does.
CLI::App* addLevel(CLI::App& parent, const std::string& name, const std::string& help);
/// A repeatable option that takes one value each time it is given.
CLI::Option* addRepeatable(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                           const std::string& help);

std::string versionText();

} // namespace vergence::cli
