#pragma once

#include <string>
#include <vector>

namespace vergence::detail {

/// Edit distance that counts an insertion, a removal, a replacement and a swap of neighbours as one
/// each (optimal string alignment).
std::size_t editDistance(const std::string& a, const std::string& b);

/// The first of the candidates with the smallest edit distance, or empty where none is near enough
/// to have been meant: at most a third of the letters, and at least one, may differ.
std::string nearestOf(const std::string& word, const std::vector<std::string>& candidates);

} // namespace vergence::detail
