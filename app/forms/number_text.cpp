#include "app/forms/number_text.h"

#include <array>
#include <cmath>
#include <limits>

#include <QCoreApplication>
#include <QLocale>

namespace vergence {
namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("NumberText", text);
}

/// A factor and the text without its suffix: "10k" gives 1000 and "10".
double takeSuffix(QString& text)
{
    if (text.isEmpty())
        return 1;
    const QChar last = text.back();
    const double factor = last == u'k' ? 1e3 : last == u'M' ? 1e6 : last == u'G' ? 1e9 : 1;
    if (factor != 1)
        text.chop(1);
    return factor;
}

std::optional<double> plainNumber(QString text)
{
    text = text.trimmed();
    const double factor = takeSuffix(text);
    QLocale c = QLocale::c();
    c.setNumberOptions(QLocale::RejectGroupSeparator);
    bool ok = false;
    const double value = c.toDouble(text, &ok);
    return ok ? std::optional(value * factor) : std::nullopt;
}

/// a, a/b or a^b.
std::optional<double> expression(const QString& text)
{
    for (const QChar sign : {u'/', u'^'}) {
        const qsizetype at = text.indexOf(sign);
        if (at < 0)
            continue;
        const auto left = plainNumber(text.left(at)), right = plainNumber(text.mid(at + 1));
        if (!left || !right)
            return std::nullopt;
        return sign == u'/' ? *left / *right : std::pow(*left, *right);
    }
    return plainNumber(text);
}

/// The reason where the text cannot be a number at all; empty where it is worth reading.
QString refusal(const QString& text)
{
    if (text.isEmpty())
        return tr("Write a number.");
    if (text.contains(u',')) {
        QString point = text;
        point.replace(u',', u'.');
        return expression(point) ? tr("Write a point instead of the comma: %1").arg(point)
                                 : tr("Write one number, with a point and without commas.");
    }
    return {};
}

QString notANumber(const QString& text)
{
    return tr("“%1” is not a number. Write for instance 0.5, 1e-4, 1/3, 2^10 or 10k.").arg(text);
}

} // namespace

ParsedNumber<double> parseFloat(const QString& typed)
{
    QString text = typed.trimmed();
    if (const QString reason = refusal(text); !reason.isEmpty())
        return {std::nullopt, reason};
    text.remove(u'_');
    const auto value = expression(text);
    if (!value)
        return {std::nullopt, notANumber(typed.trimmed())};
    if (std::isnan(*value))
        return {std::nullopt, tr("“%1” has no value. Write a number.").arg(typed.trimmed())};
    return {value, {}};
}

ParsedNumber<std::int64_t> parseInt(const QString& typed)
{
    QString text = typed.trimmed();
    if (const QString reason = refusal(text); !reason.isEmpty())
        return {std::nullopt, reason};
    text.remove(u'_');
    bool ok = false;
    if (const qlonglong exact = text.toLongLong(&ok); ok) // a double would round beyond 2^53
        return {exact, {}};
    const auto value = expression(text);
    if (!value)
        return {std::nullopt, notANumber(typed.trimmed())};
    if (!std::isfinite(*value) || *value != std::floor(*value))
        return {std::nullopt, tr("Write a whole number (found %1).").arg(numberText(*value))};
    if (std::abs(*value) >= 9.2e18)
        return {std::nullopt, tr("“%1” is too large.").arg(typed.trimmed())};
    return {static_cast<std::int64_t>(*value), {}};
}

QString numberText(double value)
{
    return QLocale::c().toString(value, 'g', QLocale::FloatingPointShortest);
}

double stepped(double value, bool isUp, bool isLogarithmic, double range)
{
    const auto rounded = [](double number) { // 0.1 + 0.2 is to read 0.3
        return QByteArray::number(number, 'g', 12).toDouble();
    };
    if (!isLogarithmic || value <= 0) {
        const double digit =
            value == 0 ? 0.1 : std::pow(10.0, std::floor(std::log10(std::abs(value))) - 1);
        const double step = range > 0 ? std::pow(10.0, std::floor(std::log10(range)) - 2) : digit;
        return rounded(isUp ? value + step : value - step);
    }
    const double decade = std::pow(10.0, std::floor(std::log10(value) + 1e-12));
    constexpr std::array kSteps{0.5, 1.0, 2.0, 5.0, 10.0};
    const double mantissa = rounded(value / decade);
    double next = isUp ? 10.0 : 0.5;
    for (const double step : kSteps) {
        if (isUp && step > mantissa)
            return rounded(step * decade);
        if (!isUp && step < mantissa)
            next = step;
    }
    return rounded(next * decade);
}

} // namespace vergence
