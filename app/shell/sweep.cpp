#include "app/shell/sweep.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QCoreApplication>
#include <QUuid>

#include "app/forms/number_text.h"
#include "app/shell/worker_commands.h"

namespace vergence {

namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("Sweep", text);
}

bool isNumber(const Field& field)
{
    return field.type == FieldType::Int || field.type == FieldType::Float ||
           field.type == FieldType::Seed;
}

/// A value as TOML has it; the reason where the field does not take it.
SweepValues oneNumber(const Field& field, const QString& text)
{
    double number = 0;
    QString written;
    if (field.type == FieldType::Float) {
        const auto parsed = parseFloat(text);
        if (!parsed.value)
            return {{}, parsed.reason};
        number = *parsed.value;
        written = numberText(number);
    } else {
        const auto parsed = parseInt(text);
        if (!parsed.value)
            return {{}, parsed.reason};
        number = static_cast<double>(*parsed.value);
        written = QString::number(*parsed.value);
    }
    if (field.minimum && number < *field.minimum)
        return {{}, tr("%1 is below the least value, %2.").arg(text, numberText(*field.minimum))};
    if (field.maximum && number > *field.maximum)
        return {{}, tr("%1 is above the largest value, %2.").arg(text, numberText(*field.maximum))};
    return {{written}, {}};
}

SweepValues oneValue(const Field& field, const QString& text)
{
    if (isNumber(field))
        return oneNumber(field, text);
    QStringList choices{"false", "true"};
    if (field.type == FieldType::Enum) {
        choices.clear();
        for (const std::string& choice : field.choices)
            choices << QString::fromStdString(choice);
    }
    if (!choices.contains(text))
        return {{}, tr("%1 is none of %2.").arg(text, choices.join(QStringLiteral(", ")))};
    return {{text}, {}};
}

SweepValues checked(QStringList values)
{
    if (values.size() < 2)
        return {{}, tr("A sweep needs at least two values.")};
    return {std::move(values), {}};
}

} // namespace

bool canSweep(const Field& field)
{
    return isNumber(field) || field.type == FieldType::Bool || field.type == FieldType::Enum;
}

SweepValues sweepList(const Field& field, const QString& text)
{
    QStringList values;
    for (const QString& part : text.split(u',', Qt::SkipEmptyParts)) {
        if (part.trimmed().isEmpty())
            continue;
        const SweepValues one = oneValue(field, part.trimmed());
        if (!one.reason.isEmpty())
            return one;
        if (values.contains(one.values.front()))
            return {{}, tr("%1 comes twice.").arg(part.trimmed())};
        values << one.values;
    }
    return checked(std::move(values));
}

SweepValues sweepRange(const Field& field, const SweepRange& range)
{
    const auto from = parseFloat(range.from), to = parseFloat(range.to);
    if (!from.value || !to.value)
        return {{}, from.value ? to.reason : from.reason};
    if (!std::isfinite(*from.value) || !std::isfinite(*to.value))
        return {{}, tr("Both ends of a range are finite numbers.")};
    if (range.isLogarithmic && (*from.value <= 0 || *to.value <= 0))
        return {{}, tr("Equal ratios need both ends above 0.")};
    QStringList values;
    for (int i = 0; i < range.count; ++i) {
        const double share = static_cast<double>(i) / std::max(1, range.count - 1);
        double number = range.isLogarithmic ? *from.value * std::pow(*to.value / *from.value, share)
                                            : *from.value + (*to.value - *from.value) * share;
        if (i == range.count - 1)
            number = *to.value;
        // Four digits say what a person means by 0.001, 0.00316, 0.01.
        const bool isEnd = i == 0 || i == range.count - 1;
        const QString text = field.type == FieldType::Float
                                 ? (isEnd ? numberText(number) : QString::number(number, 'g', 4))
                                 : QString::number(std::llround(number));
        const SweepValues one = oneValue(field, text);
        if (!one.reason.isEmpty())
            return one;
        if (!values.contains(one.values.front()))
            values << one.values;
    }
    return checked(std::move(values));
}

std::vector<RunDraft> sweepDrafts(const RunDraft& draft, const Field& field,
                                  const QStringList& values)
{
    const QString key = QString::fromStdString(field.key);
    const QString group = QUuid::createUuid().toString(QUuid::Id128).left(8);
    const bool isText = field.type == FieldType::Enum;
    std::vector<RunDraft> drafts;
    for (qsizetype i = 0; i < values.size(); ++i) {
        RunDraft one = draft;
        one.flags.removeIf([&](const QString& flag) { return flag.startsWith(key + u'='); });
        one.flags << key + u'=' + (isText ? u'"' + values[i] + u'"' : values[i]);
        one.sweep = SweepPlace{group, key, values[i],
                               static_cast<double>(i) /
                                   static_cast<double>(std::max<qsizetype>(1, values.size() - 1))};
        drafts.push_back(std::move(one));
    }
    return drafts;
}

QColor sweepColour(double share)
{
    static constexpr std::array<QRgb, 6> kStops{0x440154, 0x414487, 0x2a788e,
                                                0x22a884, 0x7ad151, 0xfde725};
    const double at = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
    const auto low = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
    const double part = at - static_cast<double>(low);
    const QColor a = QColor::fromRgb(kStops[low]), b = QColor::fromRgb(kStops[low + 1]);
    const auto mix = [part](int from, int to) {
        return static_cast<int>(std::lround(from + (to - from) * part));
    };
    return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

} // namespace vergence
