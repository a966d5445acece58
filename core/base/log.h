#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include <spdlog/spdlog.h>

namespace vergence {

/// One line of the log as other parts of the program see it.
struct LogLine {
    std::string time;  ///< ISO 8601, UTC, milliseconds
    std::string level; ///< "debug", "info", "warning" or "error"
    std::string area;  ///< folder that speaks, for instance "run"
    std::string text;
};

/// The logger of one area (one per folder). Creates it on first use; safe from any thread.
spdlog::logger& log(const std::string& area);

/// Lines of this level and above are kept: "debug", "info", "warning", "error", "off". Default
/// "info".
void setLogLevel(std::string_view level);

/// Receives every kept line, from the thread that logged it; must be quick and must not log.
/// Returns a handle for removal.
int addLogListener(std::function<void(const LogLine&)> listener);
void removeLogListener(int handle);

/// What is written before every line on standard error; a terminal wipes with it what stands in the
/// line already. Default nothing.
void setLogPrefix(std::string_view prefix);

/// Whether lines go to standard error (default on). The worker turns it off when a window listens.
void setLogToStderr(bool on);

} // namespace vergence
