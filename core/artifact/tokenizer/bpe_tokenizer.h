#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/artifact/tokenizer/bpe_model.h"
#include "core/artifact/tokenizer/pattern.h"
#include "core/artifact/tokenizer/tokenizer.h"

namespace vergence {

/// A piece that is never split nor made by merging.
struct AddedToken {
    int id = 0;
    std::string content;
    bool stripsLeft = false;   ///< swallows white space before it
    bool stripsRight = false;  ///< swallows white space after it
    bool isNormalised = false; ///< looked for after the normaliser, not before
};

/// One step of a normaliser.
struct TextStep {
    bool lowers = false; ///< else every `from` becomes `to`
    std::string from, to;
};

/// How text becomes words before merging.
struct BpeRules {
    bool isClip = false; ///< cleans and lower-cases, drops white space, marks ends of words
    bool individualDigits = false; ///< every digit is a word
    bool isWhole = false; ///< what lies between added tokens is one word of characters (Gemma)
    std::vector<TextStep> normaliser; ///< in order; of whole texts alone
    std::vector<AddedToken> added;
};

/// Byte-level BPE with the word patterns of GPT-2 or CLIP, or BPE of characters with bytes for
/// those that have no piece.
class BpeTokenizer final : public Tokenizer {
public:
    BpeTokenizer(BpeModel model, BpeRules rules);

    std::vector<int> encode(std::string_view text) const override;
    std::string decodeBytes(std::span<const int> ids) const override;
    int vocabularySize() const override;
    int find(const std::string& piece) const override;

    static constexpr const char* kEndOfWord = "</w>";

private:
    using Stretch = std::function<void(std::string_view)>;
    void splitAdded(const std::optional<Pattern>& pattern, std::string_view text,
                    std::vector<int>& ids, const Stretch& stretch) const;
    void encodeStretch(std::string_view text, std::vector<int>& ids) const;
    std::string pieceText(int id) const;
    void encodeWords(std::string_view text, std::vector<int>& ids) const;
    void encodeWord(std::string_view word, std::vector<int>& ids) const;

    BpeModel m_model;
    BpeRules m_rules;
    std::unordered_map<std::string, int> m_addedByContent;
    std::unordered_map<int, std::string> m_addedById;
    std::optional<Pattern> m_addedPattern, m_normalisedPattern;
    Pattern m_wordPattern;
    Pattern m_digitPattern;
    mutable std::mutex m_cacheMutex;
    mutable std::unordered_map<std::string, std::vector<int>> m_cache; ///< words seen before
};

} // namespace vergence
