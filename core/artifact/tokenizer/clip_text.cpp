#include "core/artifact/tokenizer/clip_text.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/artifact/tokenizer/pattern.h"

namespace vergence {

namespace {

std::string utf8Of(std::uint32_t code)
{
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80)
        return std::string(1, static_cast<char>(code));
    if (code < 0x800)
        return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
    if (code < 0x10000)
        return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
    return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

/// What stands for `&entity;`; empty where that is none. Captions hold numbers and the five names
/// of XML.
std::optional<std::string> resolved(std::string_view entity)
{
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames{
        {{"amp", "&"},
         {"lt", "<"},
         {"gt", ">"},
         {"quot", "\""},
         {"apos", "'"},
         {"nbsp", "\u00A0"}}};
    for (const auto& [name, text] : kNames) {
        if (entity == name)
            return std::string(text);
    }
    if (entity.size() < 2 || entity[0] != '#')
        return std::nullopt;
    const bool isHex = entity[1] == 'x' || entity[1] == 'X';
    const std::string_view digits = entity.substr(isHex ? 2 : 1);
    std::uint32_t code = 0;
    const auto end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, code, isHex ? 16 : 10);
    const bool isCharacter = code > 0 && code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
    if (digits.empty() || read.ec != std::errc() || read.ptr != end || !isCharacter)
        return std::nullopt;
    return utf8Of(code);
}

std::string withoutEntities(std::string_view text)
{
    constexpr std::size_t kLongest = 10;
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t end =
            text[i] == '&' ? text.substr(i, kLongest).find(';') : std::string::npos;
        const auto entity =
            end == std::string::npos ? std::nullopt : resolved(text.substr(i + 1, end - 1));
        plain += entity ? *entity : std::string(1, text[i]);
        i += entity ? end : 0;
    }
    return plain;
}

} // namespace

std::string collapsedBlanks(std::string_view text)
{
    static const Pattern kBlanks("\\s+");
    std::string collapsed;
    kBlanks.split(text, [&](std::string_view piece, bool isBlank) {
        collapsed += isBlank ? std::string_view(" ") : piece;
    });
    const std::size_t first = collapsed.find_first_not_of(' ');
    if (first == std::string::npos)
        return {};
    return collapsed.substr(first, collapsed.find_last_not_of(' ') - first + 1);
}

std::string clipText(std::string_view text)
{
    return toLower(collapsedBlanks(withoutEntities(withoutEntities(text))));
}

} // namespace vergence
