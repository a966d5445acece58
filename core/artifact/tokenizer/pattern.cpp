#include "core/artifact/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
using Match = std::unique_ptr<pcre2_match_data, FreeMatch>;

PCRE2_SPTR codeUnits(std::string_view text)
{
    return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::unique_ptr<pcre2_code, FreeCode> compiled(const std::string& expression, bool ignoresCase)
{
    int error = 0;
    PCRE2_SIZE at = 0;
    const std::uint32_t options =
        PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | (ignoresCase ? PCRE2_CASELESS : 0u);
    std::unique_ptr<pcre2_code, FreeCode> code(
        pcre2_compile(codeUnits(expression), expression.size(), options, &error, &at, nullptr));
    if (!code) {
        char text[256] = {};
        pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof(text));
        throw ContractError(fmt::format("pattern \"{}\", character {}: {}", expression, at, text));
    }
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE); // without it matching is slower, not wrong
    return code;
}

} // namespace

struct Pattern::Code {
    std::unique_ptr<pcre2_code, FreeCode> compiled;
};

Pattern::Pattern(const std::string& expression, bool ignoresCase)
    : m_code(std::make_unique<Code>(Code{compiled(expression, ignoresCase)}))
{
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;

void Pattern::split(std::string_view text,
                    const std::function<void(std::string_view piece, bool isMatch)>& piece) const
{
    const Match match(pcre2_match_data_create_from_pattern(m_code->compiled.get(), nullptr));
    std::size_t done = 0;
    for (std::size_t from = 0; from < text.size();) {
        const int found = pcre2_match(m_code->compiled.get(), codeUnits(text), text.size(), from, 0,
                                      match.get(), nullptr);
        if (found < 0)
            break;
        const PCRE2_SIZE* place = pcre2_get_ovector_pointer(match.get());
        if (place[1] == place[0]) { // an empty match splits nothing
            ++from;
            continue;
        }
        if (place[0] > done)
            piece(text.substr(done, place[0] - done), false);
        piece(text.substr(place[0], place[1] - place[0]), true);
        done = from = place[1];
    }
    if (done < text.size())
        piece(text.substr(done), false);
}

std::string toLower(std::string_view utf8)
{
    static const std::unique_ptr<pcre2_code, FreeCode> letters = compiled("\\p{Lu}+", false);
    static constexpr std::string_view kReplacement = "\\L$0";
    std::string lowered(utf8.size() * 2 + 16, '\0');
    PCRE2_SIZE length = lowered.size();
    const int count = pcre2_substitute(letters.get(), codeUnits(utf8), utf8.size(), 0,
                                       PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_EXTENDED, nullptr,
                                       nullptr, codeUnits(kReplacement), kReplacement.size(),
                                       reinterpret_cast<PCRE2_UCHAR*>(lowered.data()), &length);
    if (count < 0)
        return std::string(utf8); // not UTF-8: nothing that has a case
    lowered.resize(length);
    return lowered;
}

} // namespace vergence
