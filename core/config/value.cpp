#include "core/config/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::array<std::pair<FieldType, const char*>, 11> kTypeNames{{
    {FieldType::Bool, "bool"},
    {FieldType::Int, "int"},
    {FieldType::Float, "float"},
    {FieldType::Enum, "enum"},
    {FieldType::String, "string"},
    {FieldType::Path, "path"},
    {FieldType::Seed, "seed"},
    {FieldType::Device, "device"},
    {FieldType::IntList, "int_list"},
    {FieldType::FloatList, "float_list"},
    {FieldType::StringList, "string_list"},
}};

std::string spell(bool value)
{
    return value ? "true" : "false";
}

std::string spell(std::int64_t value)
{
    return std::to_string(value);
}

std::string spell(double value)
{
    if (std::isnan(value))
        return "nan";
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    std::string text(buffer.data(), end);
    if (text.find_first_of(".ei") == std::string::npos) // 'i' of "inf"
        text += ".0";
    return text;
}

std::string spell(const std::string& value)
{
    std::string text = "\"";
    for (const char c : value) {
        switch (c) {
        case '"':
            text += "\\\"";
            break;
        case '\\':
            text += "\\\\";
            break;
        case '\b':
            text += "\\b";
            break;
        case '\t':
            text += "\\t";
            break;
        case '\n':
            text += "\\n";
            break;
        case '\f':
            text += "\\f";
            break;
        case '\r':
            text += "\\r";
            break;
        default:
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                text += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
            else
                text += c;
        }
    }
    text += "\"";
    return text;
}

template <class T>
std::string spell(const std::vector<T>& list)
{
    std::string text = "[";
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (i > 0)
            text += ", ";
        text += spell(list[i]);
    }
    text += "]";
    return text;
}

template <class T>
nlohmann::json jsonOf(const T& value)
{
    return value;
}

nlohmann::json jsonOf(double value)
{
    if (std::isfinite(value))
        return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

nlohmann::json jsonOf(const std::vector<double>& list)
{
    nlohmann::json json = nlohmann::json::array();
    for (const double value : list)
        json.push_back(jsonOf(value));
    return json;
}

[[noreturn]] void refuse(const nlohmann::json& json, FieldType type)
{
    using Handler = nlohmann::json::error_handler_t;
    throw ContractError(fmt::format("Cannot read the JSON value {} as {}.",
                                    json.dump(-1, ' ', false, Handler::replace), nameOf(type)));
}

std::int64_t integerFrom(const nlohmann::json& json, FieldType type)
{
    if (json.is_number_unsigned() &&
        json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
        refuse(json, type);
    if (json.is_number_integer())
        return json.get<std::int64_t>();
    refuse(json, type);
}

double floatFrom(const nlohmann::json& json, FieldType type)
{
    if (json.is_number())
        return json.get<double>();
    if (json == "nan")
        return std::numeric_limits<double>::quiet_NaN();
    if (json == "inf")
        return std::numeric_limits<double>::infinity();
    if (json == "-inf")
        return -std::numeric_limits<double>::infinity();
    refuse(json, type);
}

std::string textFrom(const nlohmann::json& json, FieldType type)
{
    if (!json.is_string())
        refuse(json, type);
    return json.get<std::string>();
}

template <class T>
std::vector<T> listFrom(const nlohmann::json& json, FieldType type,
                        T (*read)(const nlohmann::json&, FieldType))
{
    if (!json.is_array())
        refuse(json, type);
    std::vector<T> list;
    list.reserve(json.size());
    for (const nlohmann::json& element : json)
        list.push_back(read(element, type));
    return list;
}

} // namespace

std::string nameOf(FieldType type)
{
    for (const auto& [known, name] : kTypeNames) {
        if (known == type)
            return name;
    }
    throw ContractError("nameOf: no such field type");
}

std::optional<FieldType> fieldTypeFromName(const std::string& name)
{
    for (const auto& [type, known] : kTypeNames) {
        if (name == known)
            return type;
    }
    return std::nullopt;
}

std::string toToml(const ConfigValue& value)
{
    return std::visit([](const auto& held) { return spell(held); }, value);
}

nlohmann::json toJson(const ConfigValue& value)
{
    return std::visit([](const auto& held) { return jsonOf(held); }, value);
}

ConfigValue valueFromJson(const nlohmann::json& json, FieldType type)
{
    switch (type) {
    case FieldType::Bool:
        if (!json.is_boolean())
            refuse(json, type);
        return json.get<bool>();
    case FieldType::Int:
    case FieldType::Seed:
        return integerFrom(json, type);
    case FieldType::Float:
        return floatFrom(json, type);
    case FieldType::Enum:
    case FieldType::String:
    case FieldType::Path:
    case FieldType::Device:
        return textFrom(json, type);
    case FieldType::IntList:
        return listFrom<std::int64_t>(json, type, integerFrom);
    case FieldType::FloatList:
        return listFrom<double>(json, type, floatFrom);
    case FieldType::StringList:
        return listFrom<std::string>(json, type, textFrom);
    }
    throw ContractError("valueFromJson: no such field type");
}

} // namespace vergence
