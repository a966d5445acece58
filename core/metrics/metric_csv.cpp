#include "core/metrics/metric_store.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

constexpr const char* kHeader = "step,wall_s,name,value\n";

void appendNumber(std::string& text, double value)
{
    if (std::isnan(value)) { // to_chars would also write "-nan"
        text += "nan";
        return;
    }
    std::array<char, 32> buffer;
    text.append(buffer.data(),
                std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr);
}

void appendName(std::string& text, const std::string& name)
{
    if (name.find_first_of(",\"") == std::string::npos) {
        text += name;
        return;
    }
    text += '"';
    for (const char c : name) {
        if (c == '"')
            text += '"';
        text += c;
    }
    text += '"';
}

/// Reads the fields of one line from the left; each call returns false where the line is not as it
/// should be.
class Line {
public:
    explicit Line(std::string_view text) : m_rest(text) {}

    template <class Number>
    bool readNumber(Number& number)
    {
        const std::string_view field = m_rest.substr(0, m_rest.find(','));
        const auto [end, error] =
            std::from_chars(field.data(), field.data() + field.size(), number);
        m_rest.remove_prefix(field.size());
        return error == std::errc() && end == field.data() + field.size();
    }

    bool readComma()
    {
        const bool found = m_rest.starts_with(',');
        m_rest.remove_prefix(found ? 1 : 0);
        return found;
    }

    bool readName(std::string& name)
    {
        if (m_rest.starts_with('"'))
            return readQuoted(name);
        const std::string_view field = m_rest.substr(0, m_rest.find(','));
        name.assign(field);
        m_rest.remove_prefix(field.size());
        return !name.empty();
    }

    bool isAtEnd() const { return m_rest.empty(); }

private:
    bool readQuoted(std::string& name)
    {
        name.clear();
        for (std::size_t i = 1; i < m_rest.size(); ++i) {
            const bool isQuote = m_rest[i] == '"';
            const bool isDoubled = isQuote && i + 1 < m_rest.size() && m_rest[i + 1] == '"';
            if (isQuote && !isDoubled) {
                m_rest.remove_prefix(i + 1);
                return !name.empty();
            }
            name += m_rest[i];
            i += isDoubled ? 1 : 0;
        }
        return false;
    }

    std::string_view m_rest;
};

void readPoint(std::string_view text, MetricPoint& point, const std::string& source,
               std::size_t number)
{
    Line line(text);
    const char* wrong = !line.readNumber(point.step)          ? "the step is not a whole number"
                        : !line.readComma()                   ? "wall_s is missing"
                        : !line.readNumber(point.wallSeconds) ? "wall_s is not a number"
                        : !line.readComma()                   ? "the name is missing"
                        : !line.readName(point.name)
                            ? "the name is empty or its quote is not closed"
                        : !line.readComma()             ? "the value is missing"
                        : !line.readNumber(point.value) ? "the value is not a number"
                        : !line.isAtEnd()               ? "there are more than four fields"
                                                        : nullptr;
    if (wrong)
        throw InputError(fmt::format("Cannot read {} line {}: {}. Expected step,wall_s,name,value.",
                                     source, number, wrong));
}

} // namespace

MetricStore MetricStore::fromCsv(const std::string& text, const std::string& source)
{
    MetricStore store;
    MetricPoint point;
    std::string_view rest = text;
    for (std::size_t number = 1;; ++number) {
        const std::size_t end = rest.find('\n');
        if (end ==
            std::string_view::npos) // what follows the last line break was torn while being written
            break;
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        if (number == 1) {
            if (line != std::string_view(kHeader).substr(0, std::string_view(kHeader).size() - 1))
                throw InputError(fmt::format(
                    "Cannot read {} line 1: the header must be step,wall_s,name,value.", source));
            continue;
        }
        readPoint(line, point, source, number);
        const auto found = store.m_series.find(std::string_view(point.name));
        (found != store.m_series.end() ? found->second : store.m_series[point.name]).append(point);
    }
    store.m_revision = store.m_series.empty() ? 0 : 1;
    return store;
}

std::string MetricStore::toCsv(const std::vector<MetricPoint>& points)
{
    std::string text;
    for (const MetricPoint& point : points) {
        text += std::to_string(point.step) + ",";
        appendNumber(text, point.wallSeconds);
        text += ',';
        appendName(text, point.name);
        text += ',';
        appendNumber(text, point.value);
        text += '\n';
    }
    return text;
}

const char* MetricStore::csvHeader()
{
    return kHeader;
}

} // namespace vergence
