#include "core/metrics/event_file.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/base/crc32c.h"

namespace vergence {

namespace {

static_assert(std::endian::native == std::endian::little, "bytes are written as they lie");

/// Kinds of fields, the lowest three bits of their keys.
enum class Wire : unsigned { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

template <class Number>
void putFixed(std::string& out, Number number)
{
    char bytes[sizeof(Number)];
    std::memcpy(bytes, &number, sizeof(Number));
    out.append(bytes, sizeof(Number));
}

void putVarint(std::string& out, std::uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        out.push_back(static_cast<char>(number | 0x80));
    out.push_back(static_cast<char>(number));
}

void putKey(std::string& out, unsigned field, Wire wire)
{
    putVarint(out, field << 3 | static_cast<unsigned>(wire));
}

void putBytes(std::string& out, unsigned field, std::string_view bytes)
{
    putKey(out, field, Wire::Bytes);
    putVarint(out, bytes.size());
    out += bytes;
}

/// A checksum of data that holds its own checksum would always be the same.
std::uint32_t maskedCrc(std::string_view bytes)
{
    const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

void putRecord(std::string& out, const std::string& event)
{
    std::string length;
    putFixed<std::uint64_t>(length, event.size());
    out += length;
    putFixed(out, maskedCrc(length));
    out += event;
    putFixed(out, maskedCrc(event));
}

std::string eventAt(double seconds, std::int64_t step)
{
    std::string event;
    putKey(event, 1, Wire::Fixed64); // wall_time
    putFixed(event, seconds);
    if (step != 0) {
        putKey(event, 2, Wire::Varint); // step
        putVarint(event, static_cast<std::uint64_t>(step));
    }
    return event;
}

std::string summaryValue(const std::string& tag, double value)
{
    std::string bytes;
    putBytes(bytes, 1, tag);
    putKey(bytes, 2, Wire::Fixed32); // simple_value
    putFixed(bytes, static_cast<float>(value));
    return bytes;
}

struct Point {
    std::int64_t step;
    double wall;
    const std::string* name;
    double value;
};

std::vector<Point> pointsInOrder(const MetricStore& metrics, const std::vector<std::string>& names)
{
    std::vector<Point> points;
    for (const std::string& name : names) {
        const Series& series = *metrics.find(name);
        for (std::size_t i = 0; i < series.size(); ++i)
            points.push_back({series.steps()[i], series.walls()[i], &name, series.values()[i]});
    }
    std::ranges::stable_sort(points, {}, [](const Point& p) { return std::tie(p.step, p.wall); });
    return points;
}

} // namespace

std::string toEventFile(const MetricStore& metrics, double start)
{
    std::string file;
    std::string version = eventAt(start, 0);
    putBytes(version, 3, "brain.Event:2"); // file_version
    putRecord(file, version);
    const std::vector<std::string> names = metrics.names();
    const std::vector<Point> points = pointsInOrder(metrics, names);
    for (auto at = points.begin(); at != points.end();) {
        const Point& first = *at;
        std::string summary;
        for (; at != points.end() && at->step == first.step && at->wall == first.wall; ++at)
            putBytes(summary, 1, summaryValue(*at->name, at->value));
        std::string event = eventAt(start + first.wall, first.step);
        putBytes(event, 5, summary);
        putRecord(file, event);
    }
    return file;
}

double secondsOf(std::string_view utc)
{
    std::tm time{};
    double seconds = 0;
    const std::string text(utc);
    if (std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%lfZ", &time.tm_year, &time.tm_mon, &time.tm_mday,
                    &time.tm_hour, &time.tm_min, &seconds) != 6)
        return 0;
    time.tm_year -= 1900;
    time.tm_mon -= 1;
    return static_cast<double>(::timegm(&time)) + seconds;
}

std::string eventFileName(double start, const std::string& name)
{
    return fmt::format("events.out.tfevents.{:010.0f}.{}", start, name);
}

} // namespace vergence
