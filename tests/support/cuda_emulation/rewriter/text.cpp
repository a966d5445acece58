#include "tests/support/cuda_emulation/rewriter/text.h"

#include <algorithm>
#include <cctype>

namespace vergence::emulation {

namespace {

bool isSpace(char c)
{
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool isOpening(char c)
{
    return c == '(' || c == '[' || c == '{';
}

bool isClosing(char c)
{
    return c == ')' || c == ']' || c == '}';
}

/// Whether the apostrophe separates digits, as in 1'000.
bool separatesDigits(std::string_view text, std::size_t at)
{
    std::size_t first = at;
    while (first > 0 && (isWordCharacter(text[first - 1]) || text[first - 1] == '\''))
        --first;
    return first < at && std::isdigit(static_cast<unsigned char>(text[first])) != 0;
}

std::size_t endOfRawString(const Source& source, std::size_t quote)
{
    const std::size_t open = source.text.find('(', quote);
    const std::string last = ")" + source.text.substr(quote + 1, open - quote - 1) + "\"";
    const std::size_t end = open == std::string::npos ? open : source.text.find(last, open);
    if (end == std::string::npos)
        refuse(source, quote, "a raw string without end");
    return end + last.size();
}

/// Behind the literal that begins at `at`. An apostrophe may stand alone in a line of text that is
/// not compiled.
std::size_t endOfLiteral(const Source& source, std::size_t at)
{
    const std::string& text = source.text;
    if (text[at] == '"' && at > 0 && text[at - 1] == 'R')
        return endOfRawString(source, at);
    for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == text[at])
            return i + 1;
    }
    if (text[at] == '"')
        refuse(source, at, "a string without end");
    return at + 1;
}

std::size_t endOfComment(const Source& source, std::size_t at)
{
    if (source.text[at + 1] == '/')
        return std::min(source.text.find('\n', at), source.text.size());
    const std::size_t end = source.text.find("*/", at + 2);
    if (end == std::string::npos)
        refuse(source, at, "a comment without end");
    return end + 2;
}

std::string blanked(const Source& source, bool keepsLiterals)
{
    const std::string& text = source.text;
    std::string out = text;
    for (std::size_t i = 0; i < text.size();) {
        const bool isComment =
            text[i] == '/' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '*');
        const bool isLiteral = text[i] == '"' || (text[i] == '\'' && !separatesDigits(text, i));
        if (!isComment && !isLiteral) {
            ++i;
            continue;
        }
        const std::size_t end = isComment ? endOfComment(source, i) : endOfLiteral(source, i);
        for (; i < end; ++i) {
            if (text[i] != '\n' && !(isLiteral && keepsLiterals))
                out[i] = ' ';
        }
    }
    return out;
}

std::vector<std::string> splitAt(std::string_view text, char separator, bool hasAngles)
{
    std::vector<std::string> parts;
    int depth = 0, angles = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        depth += isOpening(c) ? 1 : isClosing(c) ? -1 : 0;
        if (hasAngles && depth == 0)
            angles += c == '<' ? 1 : c == '>' ? -1 : 0;
        if (c == separator && depth == 0 && angles == 0) {
            parts.push_back(trimmed(text.substr(first, i - first)));
            first = i + 1;
        }
    }
    parts.push_back(trimmed(text.substr(first)));
    return parts;
}

} // namespace

void refuse(const Source& source, std::size_t at, const std::string& why)
{
    const auto end = source.text.begin() + static_cast<std::ptrdiff_t>(at);
    const auto line = 1 + std::count(source.text.begin(), end, '\n');
    throw RewriteError(source.path + ":" + std::to_string(line) + ": " + why);
}

std::string withoutComments(const Source& source)
{
    return blanked(source, true);
}

std::string withoutCommentsAndLiterals(const Source& source)
{
    return blanked(source, false);
}

bool isWordCharacter(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::size_t findWord(std::string_view text, std::string_view word, std::size_t from)
{
    for (std::size_t at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !isWordCharacter(text[at - 1])) &&
            (end == text.size() || !isWordCharacter(text[end])))
            return at;
    }
    return text.npos;
}

std::size_t skipSpaces(std::string_view text, std::size_t at)
{
    while (at < text.size() && isSpace(text[at]))
        ++at;
    return at;
}

std::size_t skipSpacesBack(std::string_view text, std::size_t end)
{
    while (end > 0 && isSpace(text[end - 1]))
        --end;
    return end;
}

std::size_t closingBracket(std::string_view text, std::size_t open)
{
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
        depth += isOpening(text[i]) ? 1 : isClosing(text[i]) ? -1 : 0;
        if (depth == 0)
            return i;
    }
    return text.npos;
}

std::size_t openingBracket(std::string_view text, std::size_t end)
{
    int depth = 0;
    for (std::size_t i = end; i-- > 0;) {
        depth += isClosing(text[i]) ? 1 : isOpening(text[i]) ? -1 : 0;
        if (depth == 0)
            return i;
    }
    return text.npos;
}

std::vector<std::string> split(std::string_view text, char separator)
{
    return splitAt(text, separator, false);
}

std::vector<std::string> splitDeclaration(std::string_view text)
{
    return splitAt(text, ',', true);
}

std::string trimmed(std::string_view text)
{
    const std::size_t first = skipSpaces(text, 0), end = skipSpacesBack(text, text.size());
    return first < end ? std::string(text.substr(first, end - first)) : std::string();
}

std::string onOneLine(std::string_view text)
{
    std::string out;
    for (const char c : trimmed(text)) {
        if (!isSpace(c))
            out += c;
        else if (out.back() != ' ')
            out += ' ';
    }
    return out;
}

std::string lineEndsOf(std::string_view text)
{
    return std::string(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), '\n');
}

} // namespace vergence::emulation
