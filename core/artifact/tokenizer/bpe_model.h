#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vergence {

/// Vocabulary and merge rules of byte-pair encoding over the spelled byte alphabet.
/// Source: Neural Machine Translation of Rare Words with Subword Units (2016), section 3.2.
class BpeModel {
public:
    /// `pieces`: spelled text by id, empty where an id is unused. `merges`: pairs by rank.
    /// `endOfWord` is appended to the last symbol of a word ("</w>" for CLIP, empty otherwise).
    /// `source` names the file in errors. Throws InputError for a byte without a piece or a merge
    /// of unknown pieces.
    BpeModel(std::vector<std::string> pieces,
             const std::vector<std::pair<std::string, std::string>>& merges,
             const std::string& endOfWord, const std::string& source);

    /// Ids of one word: its bytes, then the lowest-ranked neighbouring pair merged until none is
    /// left, leftmost first among equals. O(n log n).
    std::vector<int> encodeWord(std::string_view word) const;

    const std::string& piece(int id) const { return m_pieces[static_cast<std::size_t>(id)]; }
    int size() const { return static_cast<int>(m_pieces.size()); }
    int find(const std::string& piece) const; ///< −1 where there is none

private:
    struct Merge {
        int rank = 0;
        int result = 0;
    };
    const Merge* merge(int left, int right) const;

    std::vector<std::string> m_pieces;
    std::unordered_map<std::string, int> m_ids;
    std::unordered_map<std::uint64_t, Merge> m_merges;
    std::vector<int> m_byteIds, m_lastByteIds; ///< [256]; the second with endOfWord
};

} // namespace vergence
