#pragma once

#include <cstdint>
#include <vector>

namespace vergence::sugar {

/// Numbers of items that have the same key, in a fixed order. Keeps its buffers.
class Grouping {
public:
    /// Groups items 0 to n − 1 by key(i), below `keyCount`; groups and what is in them come in the
    /// order of the items. Items of `leftOut` are in none.
    template <class Key>
    void build(std::uint32_t n, std::size_t keyCount, std::uint32_t leftOut, const Key& key);

    std::size_t groups() const { return m_keys.size(); }
    const std::vector<std::uint32_t>& keys() const { return m_keys; }     ///< [groups]
    const std::vector<std::uint32_t>& starts() const { return m_starts; } ///< [groups + 1]
    const std::vector<std::uint32_t>& items() const { return m_items; }
    std::size_t bytes() const
    {
        return sizeof(std::uint32_t) *
               (m_group.capacity() + m_keys.capacity() + m_starts.capacity() + m_items.capacity());
    }

private:
    std::vector<std::uint32_t> m_group; ///< of each key, counted from 1; 0 outside of build()
    std::vector<std::uint32_t> m_keys, m_starts, m_items;
};

template <class Key>
void Grouping::build(std::uint32_t n, std::size_t keyCount, std::uint32_t leftOut, const Key& key)
{
    m_keys.clear();
    m_starts.assign(1, 0);
    if (m_group.size() < keyCount)
        m_group.resize(keyCount, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t own = key(i);
        if (own == leftOut)
            continue;
        if (m_group[own] == 0) {
            m_keys.push_back(own);
            m_starts.push_back(0);
            m_group[own] = static_cast<std::uint32_t>(m_keys.size());
        }
        ++m_starts[m_group[own]];
    }
    for (std::size_t group = 1; group < m_starts.size(); ++group)
        m_starts[group] += m_starts[group - 1];
    m_items.resize(m_starts.back());
    for (std::uint32_t i = n; i-- > 0;) { // backwards, as ends of groups move down
        const std::uint32_t own = key(i);
        if (own != leftOut)
            m_items[--m_starts[m_group[own]]] = i;
    }
    // Every entry now holds the start of the group before it: group g's lies at g + 1.
    m_starts.erase(m_starts.begin());
    m_starts.push_back(static_cast<std::uint32_t>(m_items.size()));
    for (const std::uint32_t own : m_keys)
        m_group[own] = 0;
}

} // namespace vergence::sugar
