#pragma once

#include <string>

namespace vergence {

/// `word` for a POSIX shell: it stays one word, in single quotes where it holds anything but plain
/// characters, and nothing in it is executed.
std::string shellWord(const std::string& word);

} // namespace vergence
