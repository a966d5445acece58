#pragma once

#include <string>
#include <string_view>

namespace vergence {

/// Text as CLIP sees it: HTML entities resolved (twice), white space collapsed to single blanks and
/// trimmed, lower case. Broken encodings ("mojibake") are left as they are.
std::string clipText(std::string_view text);

/// White space collapsed to single blanks and trimmed.
std::string collapsedBlanks(std::string_view text);

} // namespace vergence
