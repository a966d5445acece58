#include "core/artifact/plot/plot_scale.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace vergence::plot {

namespace {

std::string superscript(int number)
{
    static const char* const kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string text = number < 0 ? "⁻" : "";
    for (const char digit : std::to_string(std::abs(number)))
        text += kDigits[digit - '0'];
    return text;
}

double roundStep(double raw)
{
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    const double fraction = raw / power;
    return power * (fraction <= 1.001 ? 1 : fraction <= 2.001 ? 2 : fraction <= 5.001 ? 5 : 10);
}

std::string plain(double value, double step)
{
    const int digits = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
    const std::string text = fmt::format("{:.{}f}", value == 0 ? 0.0 : value, digits);
    return text.starts_with('-') ? "−" + text.substr(1) : text;
}

} // namespace

PlotScale::PlotScale(const PlotAxis& axis, std::span<const double> values, double from, double to)
    : m_axis(axis),
      m_from(from),
      m_to(to)
{
    double low = INFINITY, high = -INFINITY;
    for (const double value : values) {
        if (!shows(value))
            continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    if (!(low <= high))
        low = axis.isLog ? 0.1 : 0, high = 1;
    if (axis.isLog) {
        const double air = std::pow(high / low, 0.06) * 1.02;
        m_low = axis.low.value_or(low / air);
        m_high = axis.high.value_or(high * air);
    } else {
        const double span = high > low ? high - low : std::max(std::abs(high) * 0.1, 1e-12);
        m_low = axis.low.value_or(low - 0.05 * span);
        m_high = axis.high.value_or(high + 0.05 * span);
    }
    if (!(m_high > m_low))
        m_high = m_low + std::max(std::abs(m_low) * 0.1, 1e-12);
}

bool PlotScale::shows(double value) const
{
    return std::isfinite(value) && (!m_axis.isLog || value > 0);
}

double PlotScale::along(double value) const
{
    return m_axis.isLog ? std::log(value / m_low) / std::log(m_high / m_low)
                        : (value - m_low) / (m_high - m_low);
}

double PlotScale::operator()(double value) const
{
    // Hundredths of a pixel keep the drawings short as text.
    return std::round((m_from + (m_to - m_from) * along(value)) * 100) / 100;
}

double PlotScale::clamped(double value) const
{
    return std::clamp(value, m_low, m_high);
}

void PlotScale::place(double from, double to)
{
    m_from = from;
    m_to = to;
}

void PlotScale::widen(double span)
{
    const double middle = (m_low + m_high) / 2;
    m_low = middle - span / 2;
    m_high = middle + span / 2;
}

int PlotScale::power() const
{
    const double largest = std::max(std::abs(m_low), std::abs(m_high));
    if (m_axis.isLog || !m_axis.ticks.empty() || (largest >= 0.01 && largest < 1e5))
        return 0;
    return static_cast<int>(std::floor(std::log10(largest)));
}

std::vector<PlotScale::Tick> PlotScale::ticks(int count) const
{
    std::vector<Tick> result;
    const auto add = [&](double value, const std::string& text) {
        if (value >= m_low - 1e-9 * (m_high - m_low) && value <= m_high + 1e-9 * (m_high - m_low))
            result.push_back({value, text});
    };
    if (!m_axis.ticks.empty()) {
        for (const auto& [value, text] : m_axis.ticks)
            add(value, text);
    } else if (m_axis.isLog) {
        const int first = static_cast<int>(std::floor(std::log10(m_low))),
                  last = static_cast<int>(std::ceil(std::log10(m_high)));
        const bool isShort = std::log10(m_high / m_low) < 2.2;
        const int every = std::max(1, (last - first) / std::max(1, count));
        for (int decade = first; decade <= last; ++decade) {
            for (const int digit : {1, 2, 5}) {
                if ((digit > 1 && !isShort) || (decade - first) % every != 0)
                    continue;
                const double value = digit * std::pow(10.0, decade);
                const bool isPlain = decade >= -2 && decade <= 3;
                add(value, isPlain      ? fmt::format("{:g}", value)
                           : digit == 1 ? "10" + superscript(decade)
                                        : fmt::format("{}·10{}", digit, superscript(decade)));
            }
        }
    } else {
        const double step = roundStep((m_high - m_low) / std::max(1, count));
        const double unit = std::pow(10.0, power());
        for (double i = std::ceil(m_low / step - 1e-6); i * step <= m_high + 1e-6 * step; ++i)
            add(i * step, plain(i * step / unit, step / unit));
    }
    return result;
}

std::string PlotScale::title() const
{
    const int exponent = power();
    return exponent == 0 ? m_axis.title
                         : fmt::format("{} (× 10{})", m_axis.title, superscript(exponent));
}

} // namespace vergence::plot
