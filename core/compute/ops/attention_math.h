#pragma once

#include <cstdint>

#include "core/compute/dtype.h"
#include "core/compute/host_device.h"
#include "core/compute/view.h"

namespace vergence {

/// Most numbers per head, and fewest.
inline constexpr Index kLargestHead = 128, kSmallestHead = 4;

/// Keys [first, last) that one query sees.
struct KeyRange {
    Index first = 0, last = 0;
};

/// Which keys a query sees. All masks of AttentionArgs are intervals, and both ends ascend with the
/// query.
struct AttentionMask {
    const std::int32_t* keyCounts = nullptr;     ///< [B]
    const std::int32_t* segmentStarts = nullptr; ///< [segments + 1]
    Index segments = 0;
    Index keys = 0;
    Index cacheOffset = 0;
    bool causal = false;

    VERGENCE_HD KeyRange range(Index batch, Index query) const
    {
        KeyRange seen{0, keys};
        if (segmentStarts)
            seen = segmentOf(query);
        if (causal && seen.last > query + cacheOffset + 1)
            seen.last = query + cacheOffset + 1;
        if (keyCounts && seen.last > keyCounts[batch])
            seen.last = keyCounts[batch];
        if (seen.last < seen.first)
            seen.last = seen.first;
        return seen;
    }

private:
    /// Empty for a query after the last segment.
    VERGENCE_HD KeyRange segmentOf(Index query) const
    {
        Index low = 0, high = segments; // starts[low] <= query < starts[high + 1]
        if (segments == 0 || query >= segmentStarts[segments] || query < segmentStarts[0])
            return {keys, keys};
        while (high - low > 1) {
            const Index middle = (low + high) / 2;
            if (segmentStarts[middle] <= query)
                low = middle;
            else
                high = middle;
        }
        const Index last = segmentStarts[low + 1];
        return {segmentStarts[low], last < keys ? last : keys};
    }
};

/// A tensor [B, S, H, d] with d contiguous; strides in elements.
struct AttentionRows {
    void* data = nullptr;
    Index batch = 0, row = 0, head = 0;

    template <class T>
    VERGENCE_HD T* at(Index b, Index s, Index h) const
    {
        return static_cast<T*>(data) + b * batch + s * row + h * head;
    }
};

/// Numbers that are added to the scores: [B, H, Sq, Sk], strides in elements, 0 where broadcast.
struct AttentionBias {
    const void* data = nullptr;
    Index batch = 0, head = 0, query = 0, key = 0;

    template <class Real>
    VERGENCE_HD const Real* at(Index b, Index h, Index q, Index k) const
    {
        return static_cast<const Real*>(data) + b * batch + h * head + q * query + k * key;
    }
};

/// One call of attention() or attentionBackward() as the kernels see it.
struct AttentionProblem {
    DType type = DType::F32;
    Index batches = 0, queries = 0, keys = 0;
    Index heads = 0, keyHeads = 0;
    Index size = 0; ///< numbers per head, d
    double scale = 1;
    AttentionMask mask;
    AttentionBias bias;
    AttentionRows q, k, v, o, gradO, gradQ, gradK, gradV;
    void* logSumExp = nullptr; ///< [B, H, Sq] or null
    void* delta = nullptr;     ///< [B, H, Sq]; only of the derivative

    VERGENCE_HD Index group() const { return heads / keyHeads; }
    VERGENCE_HD Index rowOf(Index batch, Index head, Index query) const
    {
        return (batch * heads + head) * queries + query;
    }
};

} // namespace vergence
