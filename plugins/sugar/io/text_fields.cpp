#include "plugins/sugar/io/text_fields.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace vergence::sugar {

namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view withoutLeadingBlanks(std::string_view text)
{
    const std::size_t start = text.find_first_not_of(kBlanks);
    return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

} // namespace

LineError::LineError(DamagedLine line, const char* remedy)
    : InputError(fmt::format("{}:{}: {}. {}", line.file, line.number, line.fault, remedy)),
      m_line(std::move(line))
{
}

std::optional<std::string_view> TextLines::next()
{
    if (m_rest.empty())
        return std::nullopt;
    const std::size_t end = m_rest.find('\n');
    std::string_view line = m_rest.substr(0, end);
    m_rest = end == std::string_view::npos ? std::string_view() : m_rest.substr(end + 1);
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    ++m_number;
    return line;
}

TextFields::TextFields(std::string_view line, const std::string& file, int number,
                       const char* remedy)
    : m_rest(line),
      m_file(&file),
      m_number(number),
      m_remedy(remedy)
{
}

void TextFields::fail(const std::string& fault) const
{
    throw LineError({*m_file, m_number, fault}, m_remedy);
}

bool TextFields::atEnd()
{
    m_rest = withoutLeadingBlanks(m_rest);
    return m_rest.empty();
}

std::string_view TextFields::nextField(const char* what)
{
    if (atEnd())
        fail(fmt::format("the line ends before {}", what));
    const std::size_t end = m_rest.find_first_of(kBlanks);
    const std::string_view field = m_rest.substr(0, end);
    m_rest.remove_prefix(field.size());
    return field;
}

template <class T>
T TextFields::read(const char* what)
{
    std::string_view field = nextField(what);
    const std::string_view written = field;
    if (field.starts_with('+'))
        field.remove_prefix(1);
    T value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size())
        fail(fmt::format("\"{}\" is no number for {}", written.substr(0, 40), what));
    return value;
}

template std::int32_t TextFields::read<std::int32_t>(const char*);
template std::uint32_t TextFields::read<std::uint32_t>(const char*);
template std::int64_t TextFields::read<std::int64_t>(const char*);
template std::uint64_t TextFields::read<std::uint64_t>(const char*);
template std::uint8_t TextFields::read<std::uint8_t>(const char*);
template float TextFields::read<float>(const char*);
template double TextFields::read<double>(const char*);

std::string TextFields::word(const char* what)
{
    return std::string(nextField(what));
}

std::string_view TextFields::rest()
{
    m_rest = withoutLeadingBlanks(m_rest);
    const std::size_t end = m_rest.find_last_not_of(kBlanks);
    const std::string_view all = end == std::string_view::npos ? m_rest : m_rest.substr(0, end + 1);
    m_rest = {};
    return all;
}

} // namespace vergence::sugar
