#include "core/config/config.h"

#include <string_view>

#include <fmt/format.h>

#include "core/config/toml_reader.h"
#include "core/config/value_check.h"

namespace vergence {

namespace {

using detail::ReadValue;

constexpr std::string_view kBlank = " \t\r\n";

std::string trimmed(std::string_view text)
{
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos)
        return {};
    return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

/// The text read as one TOML value; empty where it is none.
std::optional<toml::table> parsedValue(const std::string& text)
{
    detail::TomlDocument document = detail::parseToml("v = " + text, {});
    const bool isOneValue =
        document.issues.empty() && document.table.size() == 1 && document.table.contains("v");
    return isOneValue ? std::optional<toml::table>(std::move(document.table)) : std::nullopt;
}

std::string withoutQuotes(const std::string& text)
{
    const bool isQuoted =
        text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
    if (!isQuoted)
        return text;
    const auto parsed = parsedValue(text);
    const auto* held = parsed ? parsed->get("v")->as_string() : nullptr;
    return held ? held->get() : text;
}

/// Text of the command line: a TOML string where it is one, else the characters as they stand.
ConfigValue bareText(const std::string& text)
{
    return withoutQuotes(text);
}

ConfigValue bareTexts(const std::string& text)
{
    std::vector<std::string> list;
    const std::string inner = text.starts_with('[') && text.ends_with(']') && text.size() >= 2
                                  ? trimmed(std::string_view(text).substr(1, text.size() - 2))
                                  : text;
    std::size_t begin = 0;
    while (!inner.empty() && begin <= inner.size()) {
        const std::size_t end = std::min(inner.find(',', begin), inner.size());
        list.push_back(withoutQuotes(trimmed(std::string_view(inner).substr(begin, end - begin))));
        begin = end + 1;
    }
    return list;
}

ReadValue readAssigned(const std::string& text, const Field& field)
{
    if (detail::isText(field.type))
        return {bareText(text), {}, {}};
    const bool isList = detail::isList(field.type);
    auto parsed = parsedValue(isList && !text.starts_with('[') ? "[" + text + "]" : text);
    if (parsed) {
        ReadValue read = detail::readValue(*parsed->get("v"), field, {});
        read.elements.clear(); // columns of one word help nobody
        if (read.value || field.type != FieldType::StringList)
            return read;
    }
    if (field.type == FieldType::StringList)
        return {bareTexts(text), {}, {}};
    return {std::nullopt, {detail::wrongType(field, detail::shortened(toToml(text)))}, {}};
}

} // namespace

void ConfigBuilder::addAssignment(const std::string& assignment, const std::string& source)
{
    const Place place{source, 0, 0};
    const std::size_t equals = assignment.find('=');
    const std::string name = trimmed(std::string_view(assignment).substr(0, equals));
    if (equals == std::string::npos || name.empty()) {
        m_issues.push_back(
            {IssueSeverity::Error,
             "syntax",
             {},
             fmt::format("Write key=value (found {}).", detail::shortened(toToml(assignment))),
             place,
             {}});
        return;
    }
    const std::size_t dot = name.rfind('.');
    const std::string key = dot == std::string::npos ? name : name.substr(dot + 1);
    const Field* field = m_schema.find(key);
    if (!field) {
        m_issues.push_back(detail::unknownKey(m_schema, key, place));
        return;
    }
    if (dot != std::string::npos && name.substr(0, dot) != field->group) {
        const std::string right = field->group.empty() ? key : field->group + "." + key;
        m_issues.push_back({IssueSeverity::Error, "wrong_table", key,
                            fmt::format("Key `{}` is called {}, not {}.", key, right, name), place,
                            right});
        return;
    }
    const ReadValue read =
        readAssigned(trimmed(std::string_view(assignment).substr(equals + 1)), *field);
    complain(*field, read.complaints, place, {});
    if (read.value)
        check(*field, *read.value, place, {});
}

} // namespace vergence
