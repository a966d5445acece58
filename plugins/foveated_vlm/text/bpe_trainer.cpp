#include "plugins/foveated_vlm/text/bpe_trainer.h"

#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/tokenizer/byte_alphabet.h"
#include "core/artifact/tokenizer/pattern.h"
#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

using Json = nlohmann::json;
using Pair = std::pair<int, int>;

constexpr const char* kWords =
    R"(\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A word of the texts as pieces, and how often it occurs.
struct Word {
    std::vector<int> pieces;
    long count = 0;
};

/// Pieces by id and merges by rank, growing.
class Vocabulary {
public:
    explicit Vocabulary(const std::vector<std::string>& specials)
    {
        for (const std::string& special : specials)
            add(special);
        for (int byte = 0; byte < 256; ++byte)
            add(spelledByte(static_cast<unsigned char>(byte)));
    }

    int size() const { return static_cast<int>(m_pieces.size()); }
    int idOf(const std::string& piece) const { return m_ids.at(piece); }
    const std::string& piece(int id) const { return m_pieces[static_cast<std::size_t>(id)]; }

    int add(const std::string& piece)
    {
        const auto [entry, isNew] = m_ids.emplace(piece, size());
        if (isNew)
            m_pieces.push_back(piece);
        return entry->second;
    }
    /// Two ways to the same piece share its id.
    int merge(Pair pair)
    {
        m_merges.push_back({piece(pair.first), piece(pair.second)});
        return add(piece(pair.first) + piece(pair.second));
    }

    Json pieces() const { return m_ids; }
    const Json& merges() const { return m_merges; }

private:
    std::vector<std::string> m_pieces;
    std::unordered_map<std::string, int> m_ids;
    Json m_merges = Json::array();
};

/// Different words of the texts; fewer where it was stopped.
std::vector<Word> wordsOf(std::span<const std::string> texts, const Vocabulary& vocabulary,
                          const std::function<bool()>& isStopped)
{
    const Pattern pattern(kWords);
    std::map<std::string, long> counts;
    for (const std::string& text : texts) {
        if (isStopped())
            return {};
        pattern.split(text, [&](std::string_view word, bool) { ++counts[std::string(word)]; });
    }
    std::vector<Word> words;
    for (const auto& [text, count] : counts) {
        Word word{{}, count};
        for (const char c : text)
            word.pieces.push_back(vocabulary.idOf(spelledByte(static_cast<unsigned char>(c))));
        words.push_back(std::move(word));
    }
    return words;
}

/// The pair that occurs most often, of equals the first; a count of 0 where no pair is left.
std::pair<Pair, long> mostFrequentPair(const std::vector<Word>& words)
{
    std::map<Pair, long> counts;
    for (const Word& word : words) {
        for (std::size_t i = 0; i + 1 < word.pieces.size(); ++i)
            counts[{word.pieces[i], word.pieces[i + 1]}] += word.count;
    }
    std::pair<Pair, long> best;
    for (const auto& entry : counts) {
        if (entry.second > best.second)
            best = entry;
    }
    return best;
}

void replace(Word& word, Pair pair, int merged)
{
    std::size_t kept = 0;
    for (std::size_t i = 0; i < word.pieces.size(); ++i) {
        const bool isPair = i + 1 < word.pieces.size() && word.pieces[i] == pair.first &&
                            word.pieces[i + 1] == pair.second;
        word.pieces[kept++] = isPair ? merged : word.pieces[i];
        i += isPair ? 1 : 0;
    }
    word.pieces.resize(kept);
}

Json addedTokens(const std::vector<std::string>& contents, const Vocabulary& vocabulary)
{
    Json added = Json::array();
    for (const std::string& content : contents)
        added.push_back({{"id", vocabulary.idOf(content)},
                         {"content", content},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"single_word", false},
                         {"special", true}});
    return added;
}

} // namespace

std::string trainedTokenizerJson(std::span<const std::string> texts, const BpeTraining& training,
                                 const std::function<bool()>& isStopped)
{
    const auto stopped = [&] { return isStopped && isStopped(); };
    std::vector<std::string> specials = training.specials;
    Vocabulary vocabulary(specials);
    expects(vocabulary.size() == static_cast<int>(specials.size()) + 256,
            "trainedTokenizerJson: a special piece occurs twice or is a byte");
    expects(training.vocabulary >= vocabulary.size(),
            fmt::format("trainedTokenizerJson: {} ids cannot hold {} special pieces and 256 bytes",
                        training.vocabulary, specials.size()));
    std::vector<Word> words = wordsOf(texts, vocabulary, stopped);
    while (vocabulary.size() < training.vocabulary && !stopped()) {
        const auto [pair, count] = mostFrequentPair(words);
        if (count == 0)
            break;
        const int merged = vocabulary.merge(pair);
        for (Word& word : words)
            replace(word, pair, merged);
    }
    if (stopped())
        return {};
    for (int i = 0; vocabulary.size() < training.vocabulary; ++i) {
        specials.push_back(fmt::format("<|reserved_{}|>", i));
        vocabulary.add(specials.back());
    }
    const Json byteLevel{{"type", "ByteLevel"},
                         {"add_prefix_space", false},
                         {"trim_offsets", true},
                         {"use_regex", true}};
    const Json digits{{"type", "Digits"}, {"individual_digits", true}};
    return prettyJson(
        {{"version", "1.0"},
         {"added_tokens", addedTokens(specials, vocabulary)},
         {"pre_tokenizer",
          {{"type", "Sequence"}, {"pretokenizers", Json::array({digits, byteLevel})}}},
         {"decoder", byteLevel},
         {"model",
          {{"type", "BPE"}, {"vocab", vocabulary.pieces()}, {"merges", vocabulary.merges()}}}});
}

} // namespace vergence::fvlm
