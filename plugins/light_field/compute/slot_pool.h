#pragma once

// For kernel files only: an inline namespace per build, so that no two builds share a symbol.

#include <atomic>
#include <thread>

namespace vergence::light_field {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Strips of memory for as many threads as run at once. A task holds one while it works; which one
/// does not matter.
class SlotPool {
public:
    explicit SlotPool(int count) : m_count(count < kMost ? count : kMost) {}

    int take()
    {
        for (;;) {
            for (int i = 0; i < m_count; ++i) {
                if (!m_taken[i].test_and_set(std::memory_order_acquire))
                    return i;
            }
            std::this_thread::yield();
        }
    }
    void give(int slot) { m_taken[slot].clear(std::memory_order_release); }

private:
    static constexpr int kMost = 64;
    std::atomic_flag m_taken[kMost] = {};
    int m_count;
};

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::light_field
