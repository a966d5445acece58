#include "core/artifact/tokenizer/byte_alphabet.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace vergence {

bool spellsItself(unsigned char byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

namespace {

struct Alphabet {
    std::array<int, 256> codeOf{};
    std::array<int, 324> byteOf{};

    Alphabet()
    {
        byteOf.fill(-1);
        int next = 256;
        for (int byte = 0; byte < 256; ++byte) {
            const int code = spellsItself(static_cast<unsigned char>(byte)) ? byte : next++;
            codeOf[static_cast<std::size_t>(byte)] = code;
            byteOf[static_cast<std::size_t>(code)] = byte;
        }
    }
};

const Alphabet& alphabet()
{
    static const Alphabet table;
    return table;
}

} // namespace

std::size_t validUtf8Length(std::string_view text, std::size_t at)
{
    const auto byte = [&](std::size_t i) {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
    const unsigned first = byte(0);
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return follows(1) ? 2 : 0;
    if ((first & 0xF0u) == 0xE0u) {
        const bool overlong = first == 0xE0 && byte(1) < 0xA0;
        const bool surrogate = first == 0xED && byte(1) > 0x9F;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool overlong = first == 0xF0 && byte(1) < 0x90;
        const bool tooLarge = first == 0xF4 && byte(1) > 0x8F;
        return follows(1) && follows(2) && follows(3) && !overlong && !tooLarge ? 4 : 0;
    }
    return 0;
}

std::string spelledByte(unsigned char byte)
{
    const int code = alphabet().codeOf[byte];
    if (code < 0x80)
        return std::string(1, static_cast<char>(code));
    return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

std::string spelled(std::string_view raw)
{
    std::string text;
    for (const char c : raw)
        text += spelledByte(static_cast<unsigned char>(c));
    return text;
}

std::optional<std::string> unspelled(std::string_view spelledText)
{
    std::string raw;
    for (std::size_t i = 0; i < spelledText.size();) {
        const auto first = static_cast<unsigned char>(spelledText[i]);
        const std::size_t length = validUtf8Length(spelledText, i);
        if (length == 0 || length > 2)
            return std::nullopt;
        const std::size_t code =
            length == 1
                ? first
                : ((first & 0x1Fu) << 6) | (static_cast<unsigned char>(spelledText[i + 1]) & 0x3Fu);
        if (code >= alphabet().byteOf.size() || alphabet().byteOf[code] < 0)
            return std::nullopt;
        raw += static_cast<char>(alphabet().byteOf[code]);
        i += length;
    }
    return raw;
}

std::string namedByte(int byte)
{
    return fmt::format("<0x{:02X}>", byte);
}

int byteOfName(std::string_view name)
{
    int byte = -1;
    if (name.size() != 6 || !name.starts_with("<0x") || name.back() != '>')
        return -1;
    const auto read = std::from_chars(name.data() + 3, name.data() + 5, byte, 16);
    return read.ec == std::errc() && read.ptr == name.data() + 5 ? byte : -1;
}

std::string validUtf8(std::string_view bytes)
{
    std::string text;
    for (std::size_t i = 0; i < bytes.size();) {
        const std::size_t length = validUtf8Length(bytes, i);
        if (length == 0) {
            text += "\xEF\xBF\xBD";
            ++i;
        } else {
            text += bytes.substr(i, length);
            i += length;
        }
    }
    return text;
}

} // namespace vergence
