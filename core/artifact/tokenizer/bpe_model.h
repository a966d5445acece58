#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vergence {

/// What a word is made of before merging.
enum class BpeAlphabet {
    SpelledBytes, ///< GPT-2, CLIP: every byte as one printable character
    Characters    ///< Gemma: characters; one without a piece as its bytes <0x00> … <0xFF>
};

/// Vocabulary and merge rules of byte-pair encoding.
/// Source: Neural Machine Translation of Rare Words with Subword Units (2016), section 3.2.
class BpeModel {
public:
    /// `pieces`: spelled text by id, empty where an id is unused. `merges`: pairs by rank.
    /// `endOfWord` is appended to the last symbol of a word ("</w>" for CLIP, empty otherwise).
    /// `source` names the file in errors. Throws InputError for a byte without a piece or a merge
    /// of unknown pieces.
    BpeModel(std::vector<std::string> pieces,
             const std::vector<std::pair<std::string, std::string>>& merges,
             const std::string& endOfWord, const std::string& source,
             BpeAlphabet alphabet = BpeAlphabet::SpelledBytes);

    /// Ids of one word: its symbols, then the lowest-ranked neighbouring pair merged until none is
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
    void findBytes(const std::string& endOfWord, const std::string& source);
    std::vector<int> symbolsOf(std::string_view word) const;
    void appendCharacters(std::string_view word, std::vector<int>& ids) const;

    BpeAlphabet m_alphabet;
    std::vector<std::string> m_pieces;
    std::unordered_map<std::string, int> m_ids;
    std::unordered_map<std::uint64_t, Merge> m_merges;
    std::vector<int> m_byteIds, m_lastByteIds; ///< [256]; the second with endOfWord
};

/// The pairs of a list of merges, by rank: after a line with the version, two pieces with a blank
/// between per line; at most `most` of them. Throws InputError with the line.
std::vector<std::pair<std::string, std::string>>
mergeList(const std::string& text, const std::string& source, std::size_t most = SIZE_MAX);

} // namespace vergence
