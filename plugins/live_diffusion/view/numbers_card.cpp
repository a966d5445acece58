#include "plugins/live_diffusion/view/numbers_card.h"

#include <algorithm>

#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_sheet.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/view/chart_parts.h"

namespace vergence::live {

namespace {

constexpr double kRow = 74, kGap = 8, kPadding = 10, kLarge = 22;

/// The largest face up to kLarge in which the text fits.
double faceFor(const std::string& text, double room)
{
    return std::min(kLarge, kLarge * room / std::max(1.0, plot::textLength(text, kLarge)));
}

} // namespace

Diagram numbersCard(std::span<const BigNumber> numbers, std::size_t columns, double width)
{
    expects(columns > 0 && width >= 120 * static_cast<double>(columns),
            "numbers: columns of at least 120 px");
    if (numbers.empty())
        return emptyChart("Numbers", "Nothing measured yet.", width, 120);
    const std::size_t rows = (numbers.size() + columns - 1) / columns;
    const double height = 2 * plot::kEdge + static_cast<double>(rows) * (kRow + kGap) - kGap;
    const double cell = (width - 2 * plot::kEdge + kGap) / static_cast<double>(columns) - kGap;
    Diagram sheet = plot::sheet(width, height);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const BigNumber& number = numbers[i];
        const double left = plot::kEdge + static_cast<double>(i % columns) * (cell + kGap),
                     top = height - plot::kEdge - static_cast<double>(i / columns) * (kRow + kGap),
                     room = cell - 2 * kPadding;
        const auto write = [&](double down, const std::string& text, double size,
                               const std::string& colour, bool isBold) {
            sheet.texts.push_back(
                plot::label(left + kPadding, top - down, text, size, colour, "left"));
            sheet.texts.back().isBold = isBold;
        };
        sheet.polygons.push_back(
            plot::rectangle(left, top - kRow, left + cell, top, "faint", 0.6, number.definition));
        write(15, plot::shortened(number.name, room - 14), plot::kSmall, "muted", false);
        if (!number.definition.empty())
            sheet.texts.push_back(plot::label(left + cell - kPadding, top - 15, "?", plot::kSmall,
                                              "accent", "right"));
        const std::string value = number.value.empty() ? "–" : number.value;
        write(38, value, faceFor(value, room), number.isWarning ? "warning" : "text", true);
        write(61, plot::shortened(number.note, room), plot::kSmall, "muted", false);
    }
    return sheet;
}

} // namespace vergence::live
