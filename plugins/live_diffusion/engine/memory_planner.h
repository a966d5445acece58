#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace vergence::live {

/// A buffer of a fixed sequence of operations: alive from the operation that writes it to the last
/// one that reads it, both included.
struct BufferLife {
    std::size_t bytes = 0;
    int first = 0, last = 0;
};

/// Where all buffers lie in one arena.
struct MemoryPlan {
    std::vector<std::size_t> offsets;   ///< multiples of kArenaAlignment, one per buffer
    std::size_t bytes = 0;              ///< of the arena
    std::vector<std::size_t> liveBytes; ///< per operation: Σ bytes of the buffers that live then
    std::size_t mostLive = 0;           ///< largest of them: no arena can be smaller
};

inline constexpr std::size_t kArenaAlignment = 256;

/// Largest buffers first, each into the smallest gap that fits among those that live at the same
/// time, else behind them. Throws ContractError where a buffer ends before it begins or outside
/// [0, operations). Source: Efficient Memory Management for Deep Neural Net Inference (2020),
/// section 5.
MemoryPlan planMemory(std::span<const BufferLife> buffers, int operations);

} // namespace vergence::live
