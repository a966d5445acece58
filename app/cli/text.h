#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace vergence::cli {

/// The candidate nearest to `word` by edit distance, or empty where none is near enough to be a
/// slip.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);
/// " Did you mean `demo`?", or empty.
std::string suggestion(const std::string& word, const std::vector<std::string>& candidates);

/// Rows in columns that line up, two spaces apart; the first row is the heading.
void printTable(std::ostream& out, const std::vector<std::vector<std::string>>& rows);

std::string bytesText(std::uint64_t bytes); ///< "1.2 GiB"

} // namespace vergence::cli
