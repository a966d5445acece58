#pragma once

#include <cstdint>
#include <optional>

#include <QString>

namespace vergence {

/// A number as somebody typed it, or the reason why it is none (one sentence that says what to
/// write instead).
template <class T>
struct ParsedNumber {
    std::optional<T> value;
    QString reason;
};

/// Reads `0.5`, `1e-4`, `1/3`, `2^10`, `10k`, `2M`, `1_000` and `inf`, whatever the locale is. A
/// comma is refused.
ParsedNumber<double> parseFloat(const QString& text);
/// The same forms where the result is a whole number of 64 bits.
ParsedNumber<std::int64_t> parseInt(const QString& text);

/// Shortest text that reads back as exactly this number: "1.6e-05", "500".
QString numberText(double value);

/// The next value for one press of an arrow key. Logarithmic steps go 1, 2, 5, 10; linear ones by a
/// hundredth of `range` (0 where the field has none: by the second digit of the value).
double stepped(double value, bool isUp, bool isLogarithmic, double range);

} // namespace vergence
