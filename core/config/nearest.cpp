#include "core/config/nearest.h"

#include <algorithm>
#include <numeric>

namespace vergence::detail {

namespace {
constexpr std::size_t kLongestWord =
    128; // longer words are no misspelt keys, and the table grows with the square
}

std::size_t editDistance(const std::string& a, const std::string& b)
{
    std::vector<std::size_t> beforeLast(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], beforeLast[j - 2] + 1);
        }
        std::swap(beforeLast, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

std::string nearestOf(const std::string& word, const std::vector<std::string>& candidates)
{
    if (word.size() > kLongestWord)
        return {};
    std::string nearest;
    std::size_t smallest = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        if (candidate.size() > kLongestWord)
            continue;
        const std::size_t distance = editDistance(word, candidate);
        if (distance < smallest && distance < candidate.size()) {
            smallest = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

} // namespace vergence::detail
