#include "plugins/live_diffusion/profile/text_table.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

namespace {

std::string replaced(std::string text, char which, const std::string& by)
{
    for (std::size_t at = text.find(which); at != std::string::npos;
         at = text.find(which, at + by.size()))
        text.replace(at, 1, by);
    return text;
}

std::string csvCell(const std::string& cell)
{
    if (cell.find_first_of(",\"\n\r") == std::string::npos)
        return cell;
    return '"' + replaced(cell, '"', "\"\"") + '"';
}

void checkWidths(const TextTable& table)
{
    for (const auto& row : table.rows)
        expects(row.size() == table.columns.size(), "a table's rows are as long as its columns");
}

} // namespace

std::string TextTable::markdown() const
{
    checkWidths(*this);
    const auto line = [](const std::vector<std::string>& cells) {
        std::string text = "|";
        for (const std::string& cell : cells)
            text += ' ' + replaced(replaced(cell, '|', "\\|"), '\n', " ") + " |";
        return text + '\n';
    };
    std::string text = line(columns) + '|';
    for (std::size_t i = 0; i < columns.size(); ++i)
        text += i == 0 ? " --- |" : " ---: |";
    text += '\n';
    for (const auto& row : rows)
        text += line(row);
    return text;
}

std::string TextTable::csv() const
{
    checkWidths(*this);
    const auto line = [](const std::vector<std::string>& cells) {
        std::string text;
        for (std::size_t i = 0; i < cells.size(); ++i)
            text += (i == 0 ? "" : ",") + csvCell(cells[i]);
        return text + '\n';
    };
    std::string text = line(columns);
    for (const auto& row : rows)
        text += line(row);
    return text;
}

std::string shortNumber(double value)
{
    if (!std::isfinite(value))
        return "–";
    if (value == 0)
        return "0";
    const double size = std::abs(value);
    if (size >= 100)
        return fmt::format("{:.0f}", value);
    if (size < 0.001)
        return fmt::format("{:.2e}", value);
    return fmt::format("{:.3g}", value);
}

std::string byteNumber(double bytes)
{
    if (!std::isfinite(bytes))
        return "–";
    constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (std::abs(bytes) >= 1024 && unit < 4) {
        bytes /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{:.0f} B", bytes)
                     : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

} // namespace vergence::live
