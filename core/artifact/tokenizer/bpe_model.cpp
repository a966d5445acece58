#include "core/artifact/tokenizer/bpe_model.h"

#include <algorithm>
#include <queue>

#include <fmt/format.h>

#include "core/artifact/tokenizer/byte_alphabet.h"
#include "core/base/error.h"

namespace vergence {

namespace {

std::uint64_t pairKey(int left, int right)
{
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
           static_cast<std::uint32_t>(right);
}

/// One symbol of a word that is being merged; a linked list by position.
struct Symbol {
    int id = 0; ///< −1 after it was swallowed by its left neighbour
    int previous = -1, next = -1;
};

struct Candidate {
    int rank = 0, left = 0;
    int leftId = 0, rightId = 0; ///< as they were when queued; outdated candidates are dropped
    bool operator>(const Candidate& other) const
    {
        return std::pair(rank, left) > std::pair(other.rank, other.left);
    }
};

} // namespace

BpeModel::BpeModel(std::vector<std::string> pieces,
                   const std::vector<std::pair<std::string, std::string>>& merges,
                   const std::string& endOfWord, const std::string& source, BpeAlphabet alphabet)
    : m_alphabet(alphabet),
      m_pieces(std::move(pieces))
{
    for (std::size_t i = 0; i < m_pieces.size(); ++i) {
        if (!m_pieces[i].empty())
            m_ids.emplace(m_pieces[i], static_cast<int>(i));
    }
    findBytes(endOfWord, source);
    int rank = 0;
    for (const auto& [left, right] : merges) {
        const int result = find(left + right);
        if (find(left) < 0 || find(right) < 0 || result < 0)
            throw InputError(fmt::format(
                "{}: merge {} (\"{}\" \"{}\") uses a piece that the vocabulary does not have.",
                source, rank, left, right));
        m_merges.emplace(pairKey(find(left), find(right)), Merge{rank++, result});
    }
}

void BpeModel::findBytes(const std::string& endOfWord, const std::string& source)
{
    for (int byte = 0; byte < 256; ++byte) {
        const bool isSpelled = m_alphabet == BpeAlphabet::SpelledBytes;
        const std::string text =
            isSpelled ? spelledByte(static_cast<unsigned char>(byte)) : namedByte(byte);
        const int id = find(text), last = find(text + endOfWord);
        if (id < 0 || last < 0)
            throw InputError(fmt::format("{}: the vocabulary has no entry \"{}\" for byte {}; only "
                                         "vocabularies with all bytes are understood.",
                                         source, id < 0 ? text : text + endOfWord, byte));
        m_byteIds.push_back(id);
        m_lastByteIds.push_back(last);
    }
}

int BpeModel::find(const std::string& piece) const
{
    const auto found = m_ids.find(piece);
    return found == m_ids.end() ? -1 : found->second;
}

const BpeModel::Merge* BpeModel::merge(int left, int right) const
{
    const auto found = m_merges.find(pairKey(left, right));
    return found == m_merges.end() ? nullptr : &found->second;
}

std::vector<int> BpeModel::symbolsOf(std::string_view word) const
{
    std::vector<int> ids;
    ids.reserve(word.size());
    if (m_alphabet == BpeAlphabet::Characters) {
        appendCharacters(word, ids);
        return ids;
    }
    for (const char c : word)
        ids.push_back(m_byteIds[static_cast<unsigned char>(c)]);
    if (!ids.empty())
        ids.back() = m_lastByteIds[static_cast<unsigned char>(word.back())];
    return ids;
}

void BpeModel::appendCharacters(std::string_view word, std::vector<int>& ids) const
{
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t end = at + std::max<std::size_t>(1, validUtf8Length(word, at));
        const int id = find(std::string(word.substr(at, end - at)));
        if (id >= 0)
            ids.push_back(id);
        for (std::size_t i = at; id < 0 && i < end; ++i)
            ids.push_back(m_byteIds[static_cast<unsigned char>(word[i])]);
        at = end;
    }
}

std::vector<int> BpeModel::encodeWord(std::string_view word) const
{
    const std::vector<int> start = symbolsOf(word);
    const int count = static_cast<int>(start.size());
    std::vector<Symbol> symbols(start.size());
    for (int i = 0; i < count; ++i)
        symbols[static_cast<std::size_t>(i)] = {start[static_cast<std::size_t>(i)], i - 1,
                                                i + 1 == count ? -1 : i + 1};
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto at = [&](int i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
    const auto consider = [&](int left) {
        if (left < 0 || at(left).next < 0)
            return;
        const int leftId = at(left).id, rightId = at(at(left).next).id;
        if (const Merge* rule = merge(leftId, rightId))
            queue.push({rule->rank, left, leftId, rightId});
    };
    for (int i = 0; i < count; ++i)
        consider(i);
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Symbol& left = at(best.left);
        if (left.id != best.leftId || left.next < 0 || at(left.next).id != best.rightId)
            continue;
        Symbol& right = at(left.next);
        left.id = merge(best.leftId, best.rightId)->result;
        right.id = -1;
        left.next = right.next;
        if (left.next >= 0)
            at(left.next).previous = best.left;
        consider(best.left);
        consider(left.previous);
    }
    std::vector<int> ids;
    for (int i = count > 0 ? 0 : -1; i >= 0; i = at(i).next)
        ids.push_back(at(i).id);
    return ids;
}

std::vector<std::pair<std::string, std::string>>
mergeList(const std::string& text, const std::string& source, std::size_t most)
{
    std::vector<std::pair<std::string, std::string>> merges;
    std::size_t begin = text.find('\n') + 1; // the first line names the version
    while (begin > 0 && begin < text.size() && merges.size() < most) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        if (line.ends_with('\r'))
            line.pop_back();
        begin = end + 1;
        if (line.empty() && begin >= text.size())
            break;
        const std::size_t blank = line.find(' ');
        if (blank == std::string::npos || blank == 0 || blank + 1 == line.size())
            throw InputError(
                fmt::format("{}, line {}: two pieces with a blank between are expected.", source,
                            merges.size() + 2));
        merges.emplace_back(line.substr(0, blank), line.substr(blank + 1));
    }
    return merges;
}

} // namespace vergence
