#include "core/artifact/tokenizer/bpe_tokenizer.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/artifact/tokenizer/byte_alphabet.h"
#include "core/artifact/tokenizer/clip_text.h"
#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::size_t kCachedWords = 1 << 16;
constexpr std::size_t kLongestCachedWord = 64; // bytes

constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kClipWords = R"('s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+)";

std::string quoted(const std::string& literal)
{
    std::string text;
    for (const char c : literal) {
        if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)))
            text += '\\';
        text += c;
    }
    return text;
}

std::string normalised(std::string text, const std::vector<TextStep>& steps)
{
    for (const TextStep& step : steps) {
        if (step.lowers) {
            text = toLower(text);
            continue;
        }
        std::string replaced;
        std::size_t done = 0;
        for (std::size_t at; (at = text.find(step.from, done)) != std::string::npos;
             done = at + step.from.size())
            replaced.append(text, done, at - done).append(step.to);
        text = replaced.append(text, done);
    }
    return text;
}

/// Alternatives, longest first, each with the white space that it swallows.
std::optional<Pattern> patternOf(const BpeRules& rules, bool isNormalised)
{
    std::vector<AddedToken> added;
    for (const AddedToken& token : rules.added) {
        if (token.isNormalised == isNormalised)
            added.push_back(token);
        if (token.isNormalised && isNormalised)
            added.back().content = normalised(token.content, rules.normaliser);
    }
    if (added.empty())
        return std::nullopt;
    std::stable_sort(added.begin(), added.end(), [](const AddedToken& a, const AddedToken& b) {
        return a.content.size() > b.content.size();
    });
    std::string expression;
    for (const AddedToken& token : added) {
        expression += expression.empty() ? "" : "|";
        expression += (token.stripsLeft ? "\\s*" : "") + quoted(token.content) +
                      (token.stripsRight ? "\\s*" : "");
    }
    return Pattern(expression);
}

std::string trimmed(std::string_view text)
{
    const std::size_t first = text.find_first_not_of(" \t\r\n\f\v");
    if (first == std::string_view::npos)
        return {};
    return std::string(text.substr(first, text.find_last_not_of(" \t\r\n\f\v") - first + 1));
}

} // namespace

BpeTokenizer::BpeTokenizer(BpeModel model, BpeRules rules)
    : m_model(std::move(model)),
      m_rules(std::move(rules)),
      m_addedPattern(patternOf(m_rules, false)),
      m_normalisedPattern(patternOf(m_rules, true)),
      m_wordPattern(m_rules.isClip ? kClipWords : kGpt2Words, m_rules.isClip),
      m_digitPattern("\\p{N}")
{
    for (const AddedToken& token : m_rules.added) {
        m_addedByContent.emplace(token.content, token.id);
        if (token.isNormalised)
            m_addedByContent.emplace(normalised(token.content, m_rules.normaliser), token.id);
        m_addedById.emplace(token.id, token.content);
    }
}

std::vector<int> BpeTokenizer::encode(std::string_view text) const
{
    std::vector<int> ids;
    splitAdded(m_addedPattern, text, ids, [&](std::string_view raw) {
        const std::string plain = normalised(std::string(raw), m_rules.normaliser);
        splitAdded(m_normalisedPattern, plain, ids,
                   [&](std::string_view stretch) { encodeStretch(stretch, ids); });
    });
    return ids;
}

void BpeTokenizer::splitAdded(const std::optional<Pattern>& pattern, std::string_view text,
                              std::vector<int>& ids, const Stretch& stretch) const
{
    if (!pattern) {
        stretch(text);
        return;
    }
    pattern->split(text, [&](std::string_view piece, bool isAdded) {
        if (!isAdded) {
            stretch(piece);
            return;
        }
        auto found = m_addedByContent.find(std::string(piece));
        if (found == m_addedByContent.end()) // with the white space that it swallows
            found = m_addedByContent.find(trimmed(piece));
        ids.push_back(found->second);
    });
}

void BpeTokenizer::encodeStretch(std::string_view text, std::vector<int>& ids) const
{
    if (m_rules.isWhole) {
        encodeWord(text, ids);
        return;
    }
    if (m_rules.isClip) {
        encodeWords(clipText(text), ids);
        return;
    }
    if (!m_rules.individualDigits) {
        encodeWords(text, ids);
        return;
    }
    m_digitPattern.split(text, [&](std::string_view piece, bool isDigit) {
        if (isDigit)
            encodeWord(piece, ids);
        else
            encodeWords(piece, ids);
    });
}

void BpeTokenizer::encodeWords(std::string_view text, std::vector<int>& ids) const
{
    m_wordPattern.split(text, [&](std::string_view word, bool isWord) {
        if (isWord || !m_rules.isClip) // what is not UTF-8 is a word of its own
            encodeWord(word, ids);
    });
}

void BpeTokenizer::encodeWord(std::string_view word, std::vector<int>& ids) const
{
    if (word.size() > kLongestCachedWord) {
        const std::vector<int> made = m_model.encodeWord(word);
        ids.insert(ids.end(), made.begin(), made.end());
        return;
    }
    const std::lock_guard lock(m_cacheMutex);
    auto found = m_cache.find(std::string(word));
    if (found == m_cache.end()) {
        if (m_cache.size() >= kCachedWords)
            m_cache.clear();
        found = m_cache.emplace(word, m_model.encodeWord(word)).first;
    }
    ids.insert(ids.end(), found->second.begin(), found->second.end());
}

std::string BpeTokenizer::decodeBytes(std::span<const int> ids) const
{
    std::string bytes;
    for (const int id : ids) {
        if (const auto added = m_addedById.find(id); added != m_addedById.end()) {
            bytes += added->second;
            continue;
        }
        expects(id >= 0 && id < m_model.size(),
                fmt::format("decode: id {} is outside the vocabulary of {}", id, vocabularySize()));
        bytes += pieceText(id);
    }
    return bytes;
}

std::string BpeTokenizer::pieceText(int id) const
{
    std::string piece = m_model.piece(id);
    if (m_rules.isWhole) {
        if (const int byte = byteOfName(piece); byte >= 0)
            return std::string(1, static_cast<char>(byte));
        std::vector<TextStep> back;
        for (const TextStep& step : m_rules.normaliser) {
            if (!step.lowers)
                back.insert(back.begin(), {false, step.to, step.from});
        }
        return normalised(std::move(piece), back);
    }
    const bool endsWord = m_rules.isClip && piece.ends_with(kEndOfWord);
    if (endsWord)
        piece.resize(piece.size() - std::string_view(kEndOfWord).size());
    return unspelled(piece).value_or(piece) + (endsWord ? " " : "");
}

int BpeTokenizer::vocabularySize() const
{
    int size = m_model.size();
    for (const AddedToken& token : m_rules.added)
        size = std::max(size, token.id + 1);
    return size;
}

int BpeTokenizer::find(const std::string& piece) const
{
    const auto added = m_addedByContent.find(piece);
    return added != m_addedByContent.end() ? added->second : m_model.find(piece);
}

Tokenizer::~Tokenizer() = default;

std::string Tokenizer::decode(std::span<const int> ids) const
{
    return validUtf8(decodeBytes(ids));
}

} // namespace vergence
