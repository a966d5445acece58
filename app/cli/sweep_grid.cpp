#include "app/cli/sweep_grid.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"

namespace vergence::cli {

namespace {

std::string withoutBlanks(const std::string& text)
{
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string::npos
               ? std::string()
               : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Cuts at commas that stand outside of brackets and quotes.
std::vector<std::string> splitValues(const std::string& text)
{
    std::vector<std::string> values{""};
    char quote = 0;
    int depth = 0;
    for (const char c : text) {
        if (quote != 0)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '[' || c == ']')
            depth += c == '[' ? 1 : -1;
        if (c == ',' && quote == 0 && depth <= 0)
            values.emplace_back();
        else
            values.back() += c;
    }
    std::ranges::transform(values, values.begin(), withoutBlanks);
    return values;
}

std::string numberWithCommas(std::size_t number)
{
    std::string text = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

} // namespace

SweepGrid::SweepGrid(const std::vector<std::string>& axes)
{
    for (const std::string& axis : axes)
        add(axis);
    std::size_t count = 1;
    for (const Axis& axis : m_axes) {
        count *= axis.values.size();
        if (count > kMost)
            throw Error(fmt::format("One submission takes at most {} runs, and this sweep has "
                                    "more. Sweep over fewer values.",
                                    numberWithCommas(kMost)),
                        ExitCode::Usage);
    }
}

void SweepGrid::add(const std::string& text)
{
    const std::size_t equals = std::min(text.find('='), text.size());
    Axis axis;
    axis.key = withoutBlanks(text.substr(0, equals));
    if (equals < text.size())
        axis.values = splitValues(text.substr(equals + 1));
    if (axis.key.empty() || axis.values.empty() || std::ranges::count(axis.values, "") > 0)
        throw Error(fmt::format("Write --sweep KEY=VALUE,VALUE,… (found {}).", text),
                    ExitCode::Usage);
    std::vector<std::string> sorted = axis.values;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
        throw Error(fmt::format("--sweep {} has {} twice.", axis.key, *twice), ExitCode::Usage);
    if (std::ranges::find(m_axes, axis.key, &Axis::key) != m_axes.end())
        throw Error(fmt::format("--sweep has {} twice.", axis.key), ExitCode::Usage);
    m_axes.push_back(std::move(axis));
}

std::size_t SweepGrid::size() const
{
    std::size_t count = 1;
    for (const Axis& axis : m_axes)
        count *= axis.values.size();
    return count;
}

const std::string& SweepGrid::value(std::size_t axis, std::size_t index) const
{
    for (std::size_t later = m_axes.size() - 1; later > axis; --later)
        index /= m_axes[later].values.size();
    return m_axes[axis].values[index % m_axes[axis].values.size()];
}

std::vector<std::string> SweepGrid::assignments(std::size_t index) const
{
    std::vector<std::string> list;
    for (std::size_t i = 0; i < m_axes.size(); ++i)
        list.push_back(m_axes[i].key + "=" + value(i, index));
    return list;
}

std::string SweepGrid::keys() const
{
    std::vector<std::string> list; // of `train.rate` the window shows `rate`
    for (const Axis& axis : m_axes)
        list.push_back(axis.key.substr(axis.key.rfind('.') + 1));
    return fmt::format("{}", fmt::join(list, ", "));
}

std::string SweepGrid::values(std::size_t index) const
{
    std::vector<std::string> list;
    for (std::size_t i = 0; i < m_axes.size(); ++i)
        list.push_back(value(i, index));
    return fmt::format("{}", fmt::join(list, ", "));
}

std::string SweepGrid::text(std::size_t index) const
{
    return fmt::format("{}", fmt::join(assignments(index), ", "));
}

} // namespace vergence::cli
