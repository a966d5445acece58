#include "core/base/clock.h"

#include <ctime>

#include <fmt/format.h>

namespace vergence {

double steadySeconds()
{
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

namespace {
std::tm utcFields(std::time_t seconds)
{
    std::tm fields{};
    gmtime_r(&seconds, &fields);
    return fields;
}
} // namespace

std::string utcNow()
{
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    const std::tm t = utcFields(static_cast<std::time_t>(milliseconds / 1000));
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", t.tm_year + 1900, t.tm_mon + 1,
                       t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, milliseconds % 1000);
}

std::string utcNowForPath()
{
    const std::tm t = utcFields(std::time(nullptr));
    return fmt::format("{:04}-{:02}-{:02}T{:02}-{:02}-{:02}Z", t.tm_year + 1900, t.tm_mon + 1,
                       t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
}

double epochSeconds()
{
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

} // namespace vergence
