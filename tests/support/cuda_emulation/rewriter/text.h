#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Finding one's way in a C++ text without parsing it.

namespace vergence::emulation {

struct Source {
    std::string path;
    std::string text;
};

/// A place that cannot be rewritten; says "file:line: why".
class RewriteError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
[[noreturn]] void refuse(const Source& source, std::size_t at, const std::string& why);

/// The text with spaces in place of comments, and perhaps of string and character literals: what is
/// found there is found at the same offset of the text.
std::string withoutComments(const Source& source);
std::string withoutCommentsAndLiterals(const Source& source);

bool isWordCharacter(char c);
/// Offset of the word from `from` on, or npos.
std::size_t findWord(std::string_view text, std::string_view word, std::size_t from = 0);
std::size_t skipSpaces(std::string_view text, std::size_t at);
/// The end of what stands before `end`, without spaces.
std::size_t skipSpacesBack(std::string_view text, std::size_t end);

/// The bracket that closes the one at `open`; npos where there is none. Brackets of all three kinds
/// count.
std::size_t closingBracket(std::string_view text, std::size_t open);
/// The bracket that opens the one before `end`; npos where there is none.
std::size_t openingBracket(std::string_view text, std::size_t end);

/// Splits at separators outside of brackets; trims the parts.
std::vector<std::string> split(std::string_view text, char separator);
/// The same for a declaration, where < and > are brackets as well.
std::vector<std::string> splitDeclaration(std::string_view text);

std::string trimmed(std::string_view text);
/// Trimmed, and each row of spaces and line ends as one space.
std::string onOneLine(std::string_view text);
/// As many line ends as the text has.
std::string lineEndsOf(std::string_view text);

} // namespace vergence::emulation
