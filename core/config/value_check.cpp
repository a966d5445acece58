#include "core/config/value_check.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/config/nearest.h"

namespace vergence::detail {

namespace {

constexpr std::size_t kLongestQuote = 60;

std::string subject(const Field& field, std::optional<std::size_t> element)
{
    return element ? fmt::format("{}[{}]", field.key, *element) : field.key;
}

const char* expectation(FieldType type, bool ofElement)
{
    switch (type) {
    case FieldType::Bool:
        return "true or false";
    case FieldType::Int:
        return "a whole number";
    case FieldType::Seed:
        return "a whole number";
    case FieldType::Float:
        return "a number";
    case FieldType::Enum:
        return "one of its choices, as text";
    case FieldType::String:
        return "text";
    case FieldType::Path:
        return "a path, as text";
    case FieldType::Device:
        return "the name of a device, as text";
    case FieldType::IntList:
        return ofElement ? "a whole number" : "a list of whole numbers";
    case FieldType::FloatList:
        return ofElement ? "a number" : "a list of numbers";
    case FieldType::StringList:
        return ofElement ? "text" : "a list of texts";
    }
    throw ContractError("config: no such field type");
}

std::optional<double> lowerBound(const Field& field)
{
    if (field.type == FieldType::Seed && !field.minimum)
        return 0.0;
    return field.minimum;
}

/// Long double holds every 64-bit integer and every double, so that comparisons near 2^63 are
/// exact.
void checkRange(const Field& field, long double number, const std::string& spelling,
                std::optional<std::size_t> element, std::vector<Complaint>& complaints)
{
    const std::string unit = field.unit.empty() ? "" : " " + field.unit;
    const auto complain = [&](const char* relation, double bound) {
        complaints.push_back(
            {"out_of_range",
             fmt::format("{} must be at {} {}{} (found {}).", subject(field, element), relation,
                         numberText(bound), unit, spelling),
             {},
             element});
    };
    if (const auto minimum = lowerBound(field); minimum && number < *minimum)
        complain("least", *minimum);
    else if (field.maximum && number > *field.maximum)
        complain("most", *field.maximum);
}

void checkNumber(const Field& field, std::int64_t value, std::optional<std::size_t> element,
                 std::vector<Complaint>& complaints)
{
    checkRange(field, static_cast<long double>(value), std::to_string(value), element, complaints);
}

void checkNumber(const Field& field, double value, std::optional<std::size_t> element,
                 std::vector<Complaint>& complaints)
{
    if (std::isfinite(value))
        return checkRange(field, value, numberText(value), element, complaints);
    complaints.push_back({"not_finite",
                          fmt::format("{} must be a finite number (found {}).",
                                      subject(field, element), toToml(value)),
                          {},
                          element});
}

void checkChoice(const Field& field, const std::string& text, std::optional<std::size_t> element,
                 std::vector<Complaint>& complaints)
{
    if (std::find(field.choices.begin(), field.choices.end(), text) != field.choices.end())
        return;
    Complaint complaint{"wrong_choice",
                        fmt::format("{} must be one of {} (found {}).", subject(field, element),
                                    fmt::join(field.choices, ", "), shortened(toToml(text))),
                        nearestOf(text, field.choices), element};
    if (!complaint.nearest.empty())
        complaint.sentence += fmt::format(" Did you mean `{}`?", complaint.nearest);
    complaints.push_back(std::move(complaint));
}

void checkText(const Field& field, const std::string& text, std::optional<std::size_t> element,
               std::vector<Complaint>& complaints)
{
    if (!isUtf8(text)) {
        complaints.push_back(
            {"not_utf8",
             fmt::format("{} must be UTF-8 text (found other bytes).", subject(field, element)),
             {},
             element});
    } else if (!field.choices.empty()) {
        checkChoice(field, text, element, complaints);
    }
}

void checkCount(const Field& field, std::size_t count, std::vector<Complaint>& complaints)
{
    const std::size_t least = field.minimumCount.value_or(0);
    const bool isTooLong = field.maximumCount && count > *field.maximumCount;
    if (count >= least && !isTooLong)
        return;
    const auto entries = [](std::size_t n) {
        return fmt::format("{} {}", n, n == 1 ? "entry" : "entries");
    };
    std::string wanted;
    if (field.maximumCount && *field.maximumCount == least)
        wanted = entries(least);
    else
        wanted =
            isTooLong ? "at most " + entries(*field.maximumCount) : "at least " + entries(least);
    complaints.push_back({"wrong_length",
                          fmt::format("{} must have {} (found {}).", field.key, wanted, count),
                          {},
                          {}});
}

template <class T>
void checkDistinct(const Field& field, const std::vector<T>& list,
                   std::vector<Complaint>& complaints)
{
    for (std::size_t i = 0; field.isDistinct && i < list.size(); ++i)
        if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
            list.begin() + static_cast<std::ptrdiff_t>(i))
            complaints.push_back(
                {"doubled", fmt::format("{} has {} twice.", field.key, toToml(list[i])), {}, i});
}

/// Elements one by one; what does not convert is a complaint.
template <class To, class From>
std::optional<ConfigValue> convertedList(const std::vector<From>& list, const Field& field,
                                         std::vector<Complaint>& complaints)
{
    std::vector<To> result;
    result.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        if constexpr (std::is_same_v<To, From>) {
            result.push_back(list[i]);
        } else if constexpr (std::is_same_v<To, double> && std::is_same_v<From, std::int64_t>) {
            result.push_back(static_cast<double>(list[i]));
        } else if constexpr (std::is_same_v<To, std::int64_t> && std::is_same_v<From, double>) {
            if (const auto integer = exactInteger(list[i]))
                result.push_back(*integer);
            else
                complaints.push_back(wrongType(field, numberText(list[i]), i));
        } else {
            complaints.push_back(wrongType(field, shortened(toToml(list[i])), i));
        }
    }
    return complaints.empty() ? std::optional<ConfigValue>(std::move(result)) : std::nullopt;
}

template <class To>
std::optional<ConfigValue> listOf(const ConfigValue& value, const Field& field,
                                  std::vector<Complaint>& complaints)
{
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value))
        return convertedList<To>(*integers, field, complaints);
    if (const auto* numbers = std::get_if<std::vector<double>>(&value))
        return convertedList<To>(*numbers, field, complaints);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
        return convertedList<To>(*texts, field, complaints);
    return std::nullopt;
}

std::optional<ConfigValue> integerOf(const ConfigValue& value)
{
    if (std::holds_alternative<std::int64_t>(value))
        return value;
    const auto* number = std::get_if<double>(&value);
    const auto integer = number ? exactInteger(*number) : std::nullopt;
    return integer ? std::optional<ConfigValue>(*integer) : std::nullopt;
}

std::optional<ConfigValue> floatOf(const ConfigValue& value)
{
    if (std::holds_alternative<double>(value))
        return value;
    const auto* integer = std::get_if<std::int64_t>(&value);
    return integer ? std::optional<ConfigValue>(static_cast<double>(*integer)) : std::nullopt;
}

/// The value in the type that the field stores; empty, mostly with complaints about elements, where
/// it does not fit.
std::optional<ConfigValue> convert(const Field& field, const ConfigValue& value,
                                   std::vector<Complaint>& complaints)
{
    switch (field.type) {
    case FieldType::Bool:
        return std::holds_alternative<bool>(value) ? std::optional<ConfigValue>(value)
                                                   : std::nullopt;
    case FieldType::Int:
    case FieldType::Seed:
        return integerOf(value);
    case FieldType::Float:
        return floatOf(value);
    case FieldType::Enum:
    case FieldType::String:
    case FieldType::Path:
    case FieldType::Device:
        return std::holds_alternative<std::string>(value) ? std::optional<ConfigValue>(value)
                                                          : std::nullopt;
    case FieldType::IntList:
        return listOf<std::int64_t>(value, field, complaints);
    case FieldType::FloatList:
        return listOf<double>(value, field, complaints);
    case FieldType::StringList:
        return listOf<std::string>(value, field, complaints);
    }
    throw ContractError("config: no such field type");
}

/// Checks a scalar or each element of a list, and the length of lists.
struct ContentCheck {
    const Field& field;
    std::vector<Complaint>& complaints;

    void operator()(bool) const {}
    void operator()(std::int64_t value) const { checkNumber(field, value, {}, complaints); }
    void operator()(double value) const { checkNumber(field, value, {}, complaints); }
    void operator()(const std::string& text) const { checkText(field, text, {}, complaints); }
    void operator()(const std::vector<std::string>& list) const
    {
        for (std::size_t i = 0; i < list.size(); ++i)
            checkText(field, list[i], i, complaints);
        checkCount(field, list.size(), complaints);
        checkDistinct(field, list, complaints);
    }
    template <class T>
    void operator()(const std::vector<T>& list) const
    {
        for (std::size_t i = 0; i < list.size(); ++i)
            checkNumber(field, list[i], i, complaints);
        checkCount(field, list.size(), complaints);
        checkDistinct(field, list, complaints);
    }
};

} // namespace

Checked checkValue(const Field& field, const ConfigValue& value)
{
    Checked checked;
    checked.value = convert(field, value, checked.complaints);
    const auto* number = std::get_if<double>(&value);
    if (!checked.value && number && !std::isfinite(*number)) {
        checkNumber(field, *number, {}, checked.complaints);
        return checked;
    }
    if (!checked.value && checked.complaints.empty())
        checked.complaints.push_back(
            wrongType(field, number ? numberText(*number) : shortened(toToml(value))));
    if (checked.value)
        std::visit(ContentCheck{field, checked.complaints}, *checked.value);
    if (!checked.complaints.empty())
        checked.value.reset();
    return checked;
}

Complaint wrongType(const Field& field, const std::string& found,
                    std::optional<std::size_t> element)
{
    std::string wanted = expectation(field.type, element.has_value());
    if (field.type == FieldType::Enum)
        wanted = fmt::format("one of {}", fmt::join(field.choices, ", "));
    return {"wrong_type",
            fmt::format("{} must be {} (found {}).", subject(field, element), wanted, found),
            {},
            element};
}

bool isList(FieldType type)
{
    return type == FieldType::IntList || type == FieldType::FloatList ||
           type == FieldType::StringList;
}

bool isText(FieldType type)
{
    return type == FieldType::Enum || type == FieldType::String || type == FieldType::Path ||
           type == FieldType::Device;
}

bool holdsIntegers(FieldType type)
{
    return type == FieldType::Int || type == FieldType::Seed || type == FieldType::IntList;
}

std::optional<std::int64_t> exactInteger(double value)
{
    constexpr double kTwoTo63 = 9223372036854775808.0;
    if (!(value >= -kTwoTo63 && value < kTwoTo63) || std::trunc(value) != value)
        return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::string numberText(double value)
{
    constexpr double kLongestPlain = 1e15;
    if (std::trunc(value) == value && std::abs(value) < kLongestPlain)
        return std::to_string(static_cast<std::int64_t>(value));
    return toToml(value);
}

std::string shortened(const std::string& text)
{
    if (text.size() <= kLongestQuote)
        return text;
    std::size_t end = kLongestQuote;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end;
    return text.substr(0, end) + "…";
}

bool isUtf8(const std::string& text)
{
    // The JSON writer either drops or replaces bytes that are not UTF-8; only for clean text do
    // both agree.
    using Handler = nlohmann::json::error_handler_t;
    const nlohmann::json json(text);
    return json.dump(-1, ' ', false, Handler::ignore) ==
           json.dump(-1, ' ', false, Handler::replace);
}

} // namespace vergence::detail
