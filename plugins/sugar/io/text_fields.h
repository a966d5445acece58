#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace vergence::sugar {

/// A line of a text that cannot be read, and why.
struct DamagedLine {
    std::string file;
    int number = 0; ///< from 1
    std::string fault;
    bool isPhotograph = false; ///< the line was to name one
};

/// "file:line: fault. remedy".
class LineError final : public InputError {
public:
    LineError(DamagedLine line, const char* remedy);
    const DamagedLine& line() const { return m_line; }

private:
    DamagedLine m_line;
};

/// Lines of a text, counted from 1; "\r\n" ends a line like "\n".
class TextLines {
public:
    explicit TextLines(std::string_view text) : m_rest(text) {}
    std::optional<std::string_view> next();
    int number() const { return m_number; } ///< of the line given last

private:
    std::string_view m_rest;
    int m_number = 0;
};

/// Fields between blanks and tabs of one line. Faults become a LineError.
class TextFields {
public:
    TextFields(std::string_view line, const std::string& file, int number, const char* remedy);

    template <class T>
    T read(const char* what); ///< whole field; numbers without regard to the locale
    std::string word(const char* what);
    std::string_view rest(); ///< what is left, without blanks at either end
    bool atEnd();
    [[noreturn]] void fail(const std::string& fault) const;

private:
    std::string_view nextField(const char* what);

    std::string_view m_rest;
    const std::string* m_file;
    int m_number;
    const char* m_remedy;
};

} // namespace vergence::sugar
