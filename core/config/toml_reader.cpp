#include "core/config/toml_reader.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace vergence::detail {

namespace {

constexpr int kMostSyntaxErrors = 32;
constexpr std::size_t kDeepestDots = 512; // nested tables are released recursively

/// The bytes of one line, counted from 1; both ends are the text's end where there is no such line.
std::pair<std::size_t, std::size_t> lineRange(const std::string& text, int line)
{
    std::size_t begin = 0;
    for (int i = 1; i < line; ++i) {
        const std::size_t end = text.find('\n', begin);
        if (end == std::string::npos)
            return {text.size(), text.size()};
        begin = end + 1;
    }
    return {begin, std::min(text.find('\n', begin), text.size())};
}

std::size_t firstVisible(const std::string& text, std::size_t begin, std::size_t end)
{
    while (begin < end && static_cast<unsigned char>(text[begin]) <= ' ')
        ++begin;
    return begin;
}

/// Overwrites the line with spaces, so that the rest keeps its places. After a faulty table header
/// its keys go as well, for they would count to the table before. False where there is nothing to
/// overwrite.
bool blankLine(std::string& text, int line)
{
    const auto [begin, lineEnd] = lineRange(text, line);
    const std::size_t first = firstVisible(text, begin, lineEnd);
    if (first >= lineEnd)
        return false;
    std::size_t end = lineEnd;
    if (text[first] == '[') {
        while (end < text.size() && text[firstVisible(text, end, text.size() - 1)] != '[')
            end = std::min(text.find('\n', end + 1), text.size());
    }
    std::replace_if(
        text.begin() + static_cast<std::ptrdiff_t>(begin),
        text.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c != '\n'; }, ' ');
    return true;
}

bool parses(std::string_view text)
{
    try {
        const toml::table table = toml::parse(text);
        return true;
    } catch (const toml::parse_error&) {
        return false;
    }
}

/// After a line was left out, a later complaint may only echo it (an array that was never closed).
/// A line that is wrong by itself, or defines something twice, is a fault of its own.
bool isOwnFault(const toml::parse_error& error, const std::string& text)
{
    if (error.description().find("redefine") != std::string_view::npos)
        return true;
    const auto [begin, end] = lineRange(text, static_cast<int>(error.source().begin.line));
    return !parses(std::string_view(text).substr(begin, end - begin));
}

ConfigIssue syntaxIssue(std::string description, const Place& place)
{
    constexpr std::string_view kPrefix = "Error while parsing ";
    if (description.starts_with(kPrefix))
        description = "in a " + description.substr(kPrefix.size());
    if (!description.empty() && description.back() == '.')
        description.pop_back();
    return {IssueSeverity::Error, "syntax", {}, "Not valid TOML: " + description + ".", place, {}};
}

/// The line of a run of dotted names that would nest too deeply, or 0.
int lineOfTooManyDots(const std::string& text)
{
    constexpr std::string_view kJoining = "\"'_- \t";
    int line = 1;
    std::size_t dots = 0;
    for (const char c : text) {
        if (c == '.')
            ++dots;
        else if (!std::isalnum(static_cast<unsigned char>(c)) &&
                 kJoining.find(c) == std::string_view::npos)
            dots = 0;
        if (dots > kDeepestDots)
            return line;
        line += c == '\n';
    }
    return 0;
}

const char* kindOf(const toml::node& node)
{
    switch (node.type()) {
    case toml::node_type::table:
        return "a table";
    case toml::node_type::array:
        return "a list";
    case toml::node_type::date:
        return "a date";
    case toml::node_type::time:
        return "a time of day";
    case toml::node_type::date_time:
        return "a date and time";
    default:
        return "nothing";
    }
}

std::optional<ConfigValue> scalarOf(const toml::node& node, bool wantsInteger)
{
    if (const auto* truth = node.as_boolean())
        return ConfigValue(truth->get());
    if (const auto* integer = node.as_integer())
        return ConfigValue(integer->get());
    if (const auto* number = node.as_floating_point()) {
        const auto integer = wantsInteger ? exactInteger(number->get()) : std::nullopt;
        return integer ? ConfigValue(*integer) : ConfigValue(number->get());
    }
    if (const auto* text = node.as_string())
        return ConfigValue(text->get());
    return std::nullopt;
}

template <class T>
std::optional<ConfigValue> collected(const std::vector<ConfigValue>& scalars)
{
    std::vector<T> list;
    list.reserve(scalars.size());
    for (const ConfigValue& scalar : scalars) {
        const T* held = std::get_if<T>(&scalar);
        if (!held)
            return std::nullopt;
        list.push_back(*held);
    }
    return ConfigValue(std::move(list));
}

ReadValue readList(const toml::array& array, const Field& field, const std::string& source)
{
    ReadValue read;
    std::vector<ConfigValue> scalars;
    for (const toml::node& element : array) {
        const std::size_t index = read.elements.size();
        read.elements.push_back(placeOf(element.source(), source));
        auto scalar = scalarOf(element, field.type == FieldType::IntList);
        if (scalar && field.type == FieldType::FloatList &&
            std::holds_alternative<std::int64_t>(*scalar))
            scalar = ConfigValue(static_cast<double>(std::get<std::int64_t>(*scalar)));
        const bool fits = scalar && ((field.type == FieldType::IntList && scalar->index() == 1) ||
                                     (field.type == FieldType::FloatList && scalar->index() == 2) ||
                                     (field.type == FieldType::StringList && scalar->index() == 3));
        if (fits)
            scalars.push_back(std::move(*scalar));
        else
            read.complaints.push_back(
                wrongType(field, scalar ? shortened(toToml(*scalar)) : kindOf(element), index));
    }
    if (!read.complaints.empty())
        return read;
    read.value = field.type == FieldType::IntList     ? collected<std::int64_t>(scalars)
                 : field.type == FieldType::FloatList ? collected<double>(scalars)
                                                      : collected<std::string>(scalars);
    return read;
}

} // namespace

TomlDocument parseToml(const std::string& text, const std::string& source)
{
    TomlDocument document;
    std::string rest = text;
    while (const int line = lineOfTooManyDots(rest)) {
        document.issues.push_back(syntaxIssue("too many nested tables", {source, line, 0}));
        if (document.issues.size() >= kMostSyntaxErrors || !blankLine(rest, line))
            return document;
    }
    for (int attempt = 0; attempt < kMostSyntaxErrors; ++attempt) {
        try {
            document.table = toml::parse(rest);
            return document;
        } catch (const toml::parse_error& error) {
            if (document.issues.empty() || isOwnFault(error, rest))
                document.issues.push_back(
                    syntaxIssue(std::string(error.description()), placeOf(error.source(), source)));
            if (!blankLine(rest, static_cast<int>(error.source().begin.line)))
                return document;
        }
    }
    return document;
}

bool isHeaderKey(const std::string& key)
{
    static constexpr std::array<std::string_view, 4> kHeaderKeys{"schema", "vergence", "plugin",
                                                                 "preset"};
    return std::find(kHeaderKeys.begin(), kHeaderKeys.end(), key) != kHeaderKeys.end();
}

ReadValue readValue(const toml::node& node, const Field& field, const std::string& source)
{
    const toml::array* array = node.as_array();
    if (array && isList(field.type))
        return readList(*array, field, source);
    ReadValue read;
    read.value = scalarOf(node, holdsIntegers(field.type));
    if (!read.value)
        read.complaints.push_back(wrongType(field, kindOf(node)));
    return read;
}

Place placeOf(const toml::source_region& region, const std::string& source)
{
    return {source, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

Place placeOf(const toml::key& key, const std::string& source)
{
    return placeOf(key.source(), source);
}

} // namespace vergence::detail
