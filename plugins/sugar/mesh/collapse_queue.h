#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace vergence::sugar {

/// A pair of vertices that may collapse; out of date when either has changed since.
struct CollapseCandidate {
    float cost;
    std::uint32_t a, b, stamp;

    bool operator<(const CollapseCandidate& other) const
    {
        return std::tie(cost, a, b, stamp) < std::tie(other.cost, other.a, other.b, other.stamp);
    }
};

/// A heap, cheapest first, with four children a node: they share a cache line or two, so that a
/// queue of millions waits for memory half as often as one with two children.
class CollapseQueue {
public:
    bool isEmpty() const { return m_entries.empty(); }
    void clear() { m_entries.clear(); }

    void push(const CollapseCandidate& candidate)
    {
        std::size_t at = m_entries.size();
        m_entries.push_back(candidate);
        for (; at > 0 && candidate < m_entries[(at - 1) / kChildren]; at = (at - 1) / kChildren)
            m_entries[at] = m_entries[(at - 1) / kChildren];
        m_entries[at] = candidate;
    }

    CollapseCandidate pop()
    {
        const CollapseCandidate cheapest = m_entries.front(), moved = m_entries.back();
        m_entries.pop_back();
        if (m_entries.empty())
            return cheapest;
        std::size_t at = 0;
        for (std::size_t first = 1; first < m_entries.size(); first = kChildren * at + 1) {
            const auto begin = m_entries.begin() + static_cast<std::ptrdiff_t>(first);
            const auto end = m_entries.begin() + static_cast<std::ptrdiff_t>(
                                                     std::min(first + kChildren, m_entries.size()));
            const auto least = std::min_element(begin, end);
            if (!(*least < moved))
                break;
            m_entries[at] = *least;
            at = static_cast<std::size_t>(least - m_entries.begin());
        }
        m_entries[at] = moved;
        return cheapest;
    }

private:
    static constexpr std::size_t kChildren = 4;

    std::vector<CollapseCandidate> m_entries;
};

} // namespace vergence::sugar
