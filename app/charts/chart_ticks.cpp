#include "app/charts/chart_ticks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace vergence {
namespace {

/// The step among 1, 2, 5 times a power of ten that gives at most `wanted` intervals.
double niceStep(double width, int wanted)
{
    const double rough = width / std::max(1, wanted);
    const double decade = std::pow(10.0, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (rough <= factor * decade * (1 + 1e-9))
            return factor * decade;
    return 10 * decade;
}

/// Multiples of `step` in the range; the label of each by `text`.
template <class Text>
std::vector<Tick> multiples(Range range, double step, Text text)
{
    std::vector<Tick> ticks;
    const double first = std::ceil(range.from / step - 1e-9),
                 last = std::floor(range.to / step + 1e-9);
    if (!(last - first < 1000)) // the width of the range is lost in rounding
        return ticks;
    for (double i = first; i <= last; ++i) {
        const double position = i == 0 ? 0 : i * step;
        ticks.push_back({position, text(position)});
    }
    return ticks;
}

/// What `ticksOf` gives for a number of intervals, `wanted` or as many more as it takes for two
/// ticks: one alone says nothing of the scale.
template <class TicksOf>
std::vector<Tick> atLeastTwo(int wanted, TicksOf ticksOf)
{
    std::vector<Tick> ticks = ticksOf(wanted);
    for (int more = 2 * wanted; ticks.size() < 2 && more <= 4 * wanted; more *= 2)
        ticks = ticksOf(more);
    return ticks;
}

bool isDrawable(Range range)
{
    return std::isfinite(range.from) && std::isfinite(range.to) && range.width() > 0;
}

std::vector<Tick> ticksOfSeconds(Range seconds, int wanted)
{
    constexpr std::array kSteps{60,   120,  300,   600,   1200,  1800,
                                3600, 7200, 14400, 21600, 43200, 86400};
    const double rough = seconds.width() / std::max(1, wanted);
    if (rough <= 30)
        return multiples(seconds, niceStep(seconds.width(), wanted),
                         [](double s) { return shortNumber(s) + QStringLiteral(" s"); });
    const auto* found = std::lower_bound(kSteps.begin(), kSteps.end(), rough);
    const double step = found == kSteps.end() ? std::ceil(rough / 86400) * 86400 : *found;
    const bool inHours = step >= 1800;
    return multiples(seconds, step, [inHours](double s) {
        return inHours ? shortNumber(s / 3600) + QStringLiteral(" h")
                       : shortNumber(s / 60) + QStringLiteral(" min");
    });
}

} // namespace

QString shortNumber(double value, int digits)
{
    const double size = std::abs(value);
    for (const auto& [factor, suffix] :
         {std::pair(1e9, u'G'), std::pair(1e6, u'M'), std::pair(1e3, u'k')})
        if (size >= factor && size < 1e12 && (suffix != u'k' || size >= 1e4))
            return QString::number(value / factor, 'g', digits) + QChar(suffix);
    return QString::number(value, 'g', digits);
}

QString valueText(double value)
{
    if (std::isnan(value))
        return QStringLiteral("NaN");
    if (std::isinf(value))
        return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
    return std::abs(value) >= 1e4 && std::abs(value) < 1e7 ? QString::number(value, 'f', 0)
                                                           : QString::number(value, 'g', 4);
}

std::vector<Tick> linearTicks(Range range, int wanted)
{
    if (!isDrawable(range))
        return {};
    const double largest = std::max(std::abs(range.from), std::abs(range.to));
    return atLeastTwo(wanted, [&](int intervals) {
        const double step = niceStep(range.width(), intervals);
        const int digits =
            std::clamp(static_cast<int>(std::ceil(std::log10(largest / step))) + 1, 6, 15);
        return multiples(range, step,
                         [digits](double value) { return shortNumber(value, digits); });
    });
}

std::vector<Tick> logTicks(Range exponents, int wanted)
{
    if (!isDrawable(exponents))
        return {};
    const auto label = [](double exponent) { return shortNumber(std::pow(10.0, exponent)); };
    if (exponents.width() >= 3)
        return multiples(exponents, std::max(1.0, niceStep(exponents.width(), wanted)), label);
    std::vector<Tick> ticks;
    for (double decade = std::floor(exponents.from); decade <= exponents.to; ++decade) {
        for (const double digit : {1.0, 2.0, 5.0}) {
            const double position = decade + std::log10(digit);
            if (position >= exponents.from && position <= exponents.to)
                ticks.push_back({position, shortNumber(digit * std::pow(10.0, decade))});
        }
    }
    if (ticks.size() >= 2)
        return ticks;
    ticks.clear(); // within one digit of a decade: numbers at even distances
    const Range values{std::pow(10.0, exponents.from), std::pow(10.0, exponents.to)};
    for (const Tick& tick : linearTicks(values, wanted))
        if (tick.position > 0)
            ticks.push_back({std::log10(tick.position), tick.label});
    return ticks;
}

std::vector<Tick> timeTicks(Range seconds, int wanted)
{
    if (!isDrawable(seconds))
        return {};
    return atLeastTwo(wanted, [&](int intervals) { return ticksOfSeconds(seconds, intervals); });
}

} // namespace vergence
