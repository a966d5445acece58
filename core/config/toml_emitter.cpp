#include "core/config/config.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/config/value_check.h"

namespace vergence {

namespace {

/// Names of letters, digits, '_' and '-' stand bare, all others in quotes.
std::string tableName(const std::string& group)
{
    constexpr std::string_view kBare =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return group.find_first_not_of(kBare) == std::string::npos ? group : toToml(group);
}

/// Comment lines; TOML allows no control characters in them.
std::string comment(const std::string& text)
{
    std::string lines;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        std::replace_if(
            line.begin(), line.end(),
            [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
        lines += "# " + line + "\n";
        begin = end + 1;
    }
    return lines;
}

std::string rangeText(const Field& field)
{
    if (field.minimum && field.maximum)
        return fmt::format("{} to {}", detail::numberText(*field.minimum),
                           detail::numberText(*field.maximum));
    if (field.minimum)
        return "at least " + detail::numberText(*field.minimum);
    return field.maximum ? "at most " + detail::numberText(*field.maximum) : "";
}

std::string countText(const Field& field)
{
    if (!field.minimumCount && !field.maximumCount)
        return {};
    const std::size_t least = field.minimumCount.value_or(0);
    if (!field.maximumCount)
        return fmt::format("{} or more entries", least);
    if (least == *field.maximumCount)
        return fmt::format("{} entries", least);
    return fmt::format("{} to {} entries", least, *field.maximumCount);
}

/// "Unit: px. Range: 8 to 4096."
std::string limits(const Field& field)
{
    std::vector<std::string> parts;
    if (!field.unit.empty())
        parts.push_back("Unit: " + field.unit + ".");
    if (const std::string range = rangeText(field); !range.empty())
        parts.push_back("Range: " + range + ".");
    if (const std::string count = countText(field); !count.empty())
        parts.push_back("Length: " + count + ".");
    if (field.type == FieldType::Enum)
        parts.push_back(fmt::format("One of: {}.", fmt::join(field.choices, ", ")));
    return fmt::format("{}", fmt::join(parts, " "));
}

std::string entry(const Config& config, const Field& field)
{
    std::string text = comment(field.help) + comment(limits(field));
    text += field.key + " = " + toToml(config.value(field.key));
    if (config.differsFromDefault(field.key))
        text += "  # changed, default " + toToml(field.defaultValue);
    return text + "\n";
}

} // namespace

std::string emitToml(const Config& config, const std::string& presetName)
{
    const ConfigSchema& schema = config.schema();
    std::string text = fmt::format(
        "schema = {}\n", toToml(fmt::format("org.vergence.{}/{}", schema.id(), schema.version())));
    text += "plugin = " + toToml(schema.id()) + "\n";
    if (!presetName.empty())
        text += "preset = " + toToml(presetName) + "\n";

    std::vector<std::string> groups{""}; // keys without a table must come first
    for (const Field& field : schema.fields()) {
        if (std::find(groups.begin(), groups.end(), field.group) == groups.end())
            groups.push_back(field.group);
    }
    for (const std::string& group : groups) {
        if (!group.empty())
            text += fmt::format("\n[{}]\n", tableName(group));
        bool isFirst = !group.empty();
        for (const Field& field : schema.fields()) {
            if (field.group != group)
                continue;
            if (!isFirst)
                text += "\n";
            text += entry(config, field);
            isFirst = false;
        }
    }
    return text;
}

} // namespace vergence
