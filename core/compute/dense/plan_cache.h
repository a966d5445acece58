#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace vergence {

/// What distinguishes prepared work: kind, extents, strides, types, options; unused entries 0.
struct PlanKey {
    std::array<std::int64_t, 24> values{};

    bool operator==(const PlanKey&) const = default;
};

struct PlanKeyHash {
    /// FNV-1a over whole words, with a final mix.
    std::size_t operator()(const PlanKey& key) const
    {
        std::uint64_t hash = 14695981039346656037ull;
        for (const std::int64_t value : key.values)
            hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211ull;
        return hash ^ (hash >> 29);
    }
};

/// Plans by key; the least recently used leave when there are more than `most`. Thread-safe.
template <class Plan>
class PlanCache {
public:
    using Pointer = std::shared_ptr<const Plan>;

    explicit PlanCache(std::size_t most = 1024) : m_most(most) {}

    /// The plan of `key`, made by `make()` where it is not there. `make` may return null ("the
    /// library has nothing fast for this"), which is remembered too.
    template <class Make>
    Pointer find(const PlanKey& key, const Make& make)
    {
        Pointer plan;
        // Made outside the lock: generating code takes milliseconds.
        return lookUp(key, plan) ? plan : keep(key, make());
    }

    /// False where the key is unknown.
    bool lookUp(const PlanKey& key, Pointer& plan)
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_index.find(key);
        if (found == m_index.end())
            return false;
        m_entries.splice(m_entries.begin(), m_entries, found->second);
        plan = found->second->plan;
        return true;
    }

    /// Adds a plan, unless another thread was faster; returns the one that is kept.
    Pointer keep(const PlanKey& key, Pointer plan)
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_index.find(key);
        if (found != m_index.end())
            return found->second->plan;
        m_entries.push_front({key, plan});
        m_index.emplace(key, m_entries.begin());
        if (m_entries.size() > m_most) {
            m_index.erase(m_entries.back().key);
            m_entries.pop_back();
        }
        return plan;
    }

    std::size_t size() const
    {
        const std::lock_guard lock(m_mutex);
        return m_entries.size();
    }

private:
    struct Entry {
        PlanKey key;
        Pointer plan;
    };

    std::size_t m_most;
    mutable std::mutex m_mutex;
    std::list<Entry> m_entries; ///< most recently used first
    std::unordered_map<PlanKey, typename std::list<Entry>::iterator, PlanKeyHash> m_index;
};

} // namespace vergence
