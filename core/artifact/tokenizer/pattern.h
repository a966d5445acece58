#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace vergence {

/// A regular expression over UTF-8 with Unicode classes (\p{L}), by PCRE2. Bytes that are not UTF-8
/// match nothing. Thread-safe.
class Pattern {
public:
    /// Throws ContractError with the place of a mistake in `expression`.
    explicit Pattern(const std::string& expression, bool ignoresCase = false);
    ~Pattern();
    Pattern(Pattern&&) noexcept;

    /// Calls `piece` for every match and every stretch between matches, in order, without gaps.
    void split(std::string_view text,
               const std::function<void(std::string_view piece, bool isMatch)>& piece) const;

private:
    struct Code;
    std::unique_ptr<Code> m_code;
};

/// Lower case of every letter that has a single-letter counterpart.
std::string toLower(std::string_view utf8);

} // namespace vergence
