#include "core/base/log.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/base/clock.h"

namespace vergence {

namespace {

std::string levelName(spdlog::level::level_enum level)
{
    switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
        return "debug";
    case spdlog::level::info:
        return "info";
    case spdlog::level::warn:
        return "warning";
    default:
        return "error";
    }
}

/// Hands every line to the listeners.
class ListenerSink : public spdlog::sinks::base_sink<std::mutex> {
public:
    int add(std::function<void(const LogLine&)> listener)
    {
        const std::lock_guard lock(mutex_);
        m_listeners[++m_last] = std::move(listener);
        return m_last;
    }
    void remove(int handle)
    {
        const std::lock_guard lock(mutex_);
        m_listeners.erase(handle);
    }

protected:
    void sink_it_(const spdlog::details::log_msg& message) override
    {
        if (m_listeners.empty())
            return;
        const LogLine line{utcNow(), levelName(message.level),
                           std::string(message.logger_name.data(), message.logger_name.size()),
                           std::string(message.payload.data(), message.payload.size())};
        for (const auto& [handle, listener] : m_listeners)
            listener(line);
    }
    void flush_() override {}

private:
    std::map<int, std::function<void(const LogLine&)>> m_listeners;
    int m_last = 0;
};

constexpr const char* kPattern = "%H:%M:%S %^%l%$ [%n] %v";

/// The one global object of the studio: loggers by area and their two sinks.
struct Loggers {
    std::mutex mutex;
    std::shared_ptr<ListenerSink> listeners = std::make_shared<ListenerSink>();
    std::shared_ptr<spdlog::sinks::stderr_color_sink_mt> console =
        std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    std::map<std::string, std::shared_ptr<spdlog::logger>> byArea;
    spdlog::level::level_enum level = spdlog::level::info;

    Loggers()
    {
        console->set_pattern(kPattern);
        if (std::getenv("NO_COLOR"))
            console->set_color_mode(spdlog::color_mode::never);
    }
};

Loggers& loggers()
{
    static auto* instance = new Loggers; // outlives every static destructor that may still log
    return *instance;
}

} // namespace

spdlog::logger& log(const std::string& area)
{
    Loggers& all = loggers();
    const std::lock_guard lock(all.mutex);
    auto& logger = all.byArea[area];
    if (!logger) {
        logger = std::make_shared<spdlog::logger>(
            area, spdlog::sinks_init_list{all.console, all.listeners});
        logger->set_level(all.level);
        logger->flush_on(spdlog::level::warn);
    }
    return *logger;
}

void setLogLevel(std::string_view level)
{
    Loggers& all = loggers();
    const std::lock_guard lock(all.mutex);
    all.level = spdlog::level::from_str(std::string(level));
    for (auto& [area, logger] : all.byArea)
        logger->set_level(all.level);
}

int addLogListener(std::function<void(const LogLine&)> listener)
{
    return loggers().listeners->add(std::move(listener));
}

void removeLogListener(int handle)
{
    loggers().listeners->remove(handle);
}

void setLogPrefix(std::string_view prefix)
{
    loggers().console->set_pattern(std::string(prefix) + kPattern);
}

void setLogToStderr(bool on)
{
    loggers().console->set_level(on ? spdlog::level::trace : spdlog::level::off);
}

} // namespace vergence
