#include "core/artifact/tokenizer/bpe_model.h"

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
                   const std::string& endOfWord, const std::string& source)
    : m_pieces(std::move(pieces))
{
    for (std::size_t i = 0; i < m_pieces.size(); ++i) {
        if (!m_pieces[i].empty())
            m_ids.emplace(m_pieces[i], static_cast<int>(i));
    }
    for (int byte = 0; byte < 256; ++byte) {
        const std::string text = spelledByte(static_cast<unsigned char>(byte));
        const int id = find(text), last = find(text + endOfWord);
        if (id < 0 || last < 0)
            throw InputError(fmt::format("{}: the vocabulary has no entry \"{}\" for byte {}; only "
                                         "byte-level vocabularies are "
                                         "understood.",
                                         source, id < 0 ? text : text + endOfWord, byte));
        m_byteIds.push_back(id);
        m_lastByteIds.push_back(last);
    }
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

std::vector<int> BpeModel::encodeWord(std::string_view word) const
{
    std::vector<Symbol> symbols(word.size());
    const int count = static_cast<int>(word.size());
    for (int i = 0; i < count; ++i) {
        const auto byte = static_cast<unsigned char>(word[static_cast<std::size_t>(i)]);
        symbols[static_cast<std::size_t>(i)] = {i + 1 == count ? m_lastByteIds[byte]
                                                               : m_byteIds[byte],
                                                i - 1, i + 1 == count ? -1 : i + 1};
    }
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

} // namespace vergence
