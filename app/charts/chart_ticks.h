#pragma once

#include <vector>

#include <QString>

#include "app/charts/zoom_stack.h"

namespace vergence {

/// A tick of an axis: where it stands and what it says.
struct Tick {
    double position = 0;
    QString label;
    bool operator==(const Tick&) const = default;
};

// All give two ticks at least where numbers between would do.

/// About `wanted` ticks at 1, 2 or 5 times a power of ten within `range`.
std::vector<Tick> linearTicks(Range range, int wanted);
/// Ticks of an axis of common logarithms: decades, with 2 and 5 between where fewer than three
/// decades are shown.
std::vector<Tick> logTicks(Range exponents, int wanted);
/// Ticks of seconds that read "30 s", "5 min" or "2 h".
std::vector<Tick> timeTicks(Range seconds, int wanted);

/// "1.5", "20k", "3M", "1e-05": short, for axes.
QString shortNumber(double value, int digits = 6);
/// Four significant digits for titles and labels; "NaN" and "∞" in words of mathematics.
QString valueText(double value);

} // namespace vergence
