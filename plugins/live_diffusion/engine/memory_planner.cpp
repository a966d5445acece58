#include "plugins/live_diffusion/engine/memory_planner.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace vergence::live {

namespace {

std::size_t aligned(std::size_t bytes)
{
    return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool liveTogether(const BufferLife& a, const BufferLife& b)
{
    return a.first <= b.last && b.first <= a.last;
}

/// Smallest gap of at least `bytes` between `taken` (ascending by offset), or the end of them.
std::size_t bestOffset(const std::vector<std::pair<std::size_t, std::size_t>>& taken,
                       std::size_t bytes)
{
    std::size_t end = 0, best = 0, smallest = 0;
    bool isFound = false;
    for (const auto& [first, last] : taken) {
        if (first > end && first - end >= bytes && (!isFound || first - end < smallest)) {
            best = end;
            smallest = first - end;
            isFound = true;
        }
        end = std::max(end, last);
    }
    return isFound ? best : end;
}

} // namespace

MemoryPlan planMemory(std::span<const BufferLife> buffers, int operations)
{
    MemoryPlan plan;
    plan.offsets.assign(buffers.size(), 0);
    plan.liveBytes.assign(static_cast<std::size_t>(operations), 0);
    for (const BufferLife& buffer : buffers) {
        expects(buffer.first >= 0 && buffer.first <= buffer.last && buffer.last < operations,
                "planMemory: a buffer lives outside the operations");
        for (int op = buffer.first; op <= buffer.last; ++op)
            plan.liveBytes[static_cast<std::size_t>(op)] += buffer.bytes;
    }
    for (const std::size_t bytes : plan.liveBytes)
        plan.mostLive = std::max(plan.mostLive, bytes);

    std::vector<std::size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return buffers[a].bytes > buffers[b].bytes;
    });
    std::vector<std::size_t> placed;
    std::vector<std::pair<std::size_t, std::size_t>> taken;
    for (const std::size_t i : order) {
        taken.clear();
        for (const std::size_t other : placed) {
            if (liveTogether(buffers[i], buffers[other]))
                taken.emplace_back(plan.offsets[other],
                                   plan.offsets[other] + aligned(buffers[other].bytes));
        }
        std::sort(taken.begin(), taken.end());
        const std::size_t bytes = aligned(buffers[i].bytes);
        plan.offsets[i] = bestOffset(taken, bytes);
        plan.bytes = std::max(plan.bytes, plan.offsets[i] + bytes);
        placed.push_back(i);
    }
    return plan;
}

} // namespace vergence::live
