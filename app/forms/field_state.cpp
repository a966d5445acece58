#include "app/forms/field_state.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>

#include "app/forms/number_text.h"

namespace vergence {
namespace {

QString elementText(std::int64_t value)
{
    return QString::number(value);
}
QString elementText(double value)
{
    return numberText(value);
}
QString elementText(const std::string& value)
{
    return QString::fromStdString(value);
}

template <class T>
QString listText(const std::vector<T>& values)
{
    QStringList texts;
    for (const T& value : values)
        texts.append(elementText(value));
    return texts.join(QStringLiteral(", "));
}

/// Numbers may stand apart by commas, semicolons or spaces, with or without brackets around the
/// list.
template <class T>
FieldState numberList(const QString& typed, const ConfigValue& lastValue,
                      ParsedNumber<T> (*parse)(const QString&))
{
    static const QRegularExpression kGaps(QStringLiteral("[\\s,;]+"));
    QString text = typed.trimmed();
    if (text.startsWith(u'[') && text.endsWith(u']'))
        text = text.mid(1, text.size() - 2);
    std::vector<T> values;
    int place = 0;
    for (const QString& part : text.split(kGaps, Qt::SkipEmptyParts)) {
        ++place;
        const auto parsed = parse(part);
        if (!parsed.value) {
            const QString where = QCoreApplication::translate("FieldState", "Element %1: %2");
            return {lastValue, typed, where.arg(place).arg(parsed.reason)};
        }
        values.push_back(*parsed.value);
    }
    return {values, {}, {}};
}

std::vector<std::string> stringList(const QString& text)
{
    std::vector<std::string> values;
    for (const QString& part : text.split(u',', Qt::SkipEmptyParts))
        if (!part.trimmed().isEmpty())
            values.push_back(part.trimmed().toStdString());
    return values;
}

template <class T>
FieldState number(const QString& typed, const ConfigValue& lastValue, const ParsedNumber<T>& parsed)
{
    return parsed.value ? FieldState{*parsed.value, {}, {}}
                        : FieldState{lastValue, typed, parsed.reason};
}

} // namespace

FieldState stateFromText(const Field& field, const QString& text, const ConfigValue& lastValue)
{
    switch (field.type) {
    case FieldType::Bool:
        return {text == QLatin1String("true"), {}, {}};
    case FieldType::Int:
    case FieldType::Seed:
        return number(text, lastValue, parseInt(text));
    case FieldType::Float:
        return number(text, lastValue, parseFloat(text));
    case FieldType::IntList:
        return numberList(text, lastValue, &parseInt);
    case FieldType::FloatList:
        return numberList(text, lastValue, &parseFloat);
    case FieldType::StringList:
        return {stringList(text), {}, {}};
    case FieldType::Enum:
    case FieldType::String:
    case FieldType::Path:
    case FieldType::Device:
        break;
    }
    return {text.trimmed().toStdString(), {}, {}};
}

QString editorText(const ConfigValue& value)
{
    return std::visit(
        [](const auto& held) -> QString {
            using T = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<T, bool>)
                return held ? QStringLiteral("true") : QStringLiteral("false");
            else if constexpr (requires { elementText(held); })
                return elementText(held);
            else
                return listText(held);
        },
        value);
}

} // namespace vergence
