#pragma once

#include <algorithm>
#include <memory>

#include "core/compute/dense/problem.h"

namespace vergence {

/// The right-hand matrix [K, N] of a product in F32, cut into tiles of columns that lie one after
/// another: each a dense [K, tileColumns]. oneDNN reads such tiles faster than any other plain
/// order. Made of a linear layer's weight [N, K] once, or of any b for one product.
class CpuPackedLinear final : public PackedWeight {
public:
    CpuPackedLinear(Index columns, Index depth, int threads)
        : m_columns(columns),
          m_depth(depth),
          m_tileColumns(std::min(columns, tileColumns(columns, threads)))
    {
    }

    /// 128, or 64 where that shares few tiles out more evenly.
    static Index tileColumns(Index columns, int threads)
    {
        const Index tiles = (columns + 127) / 128;
        return tiles % threads == 0 || tiles >= 4 * Index{threads} ? 128 : 64;
    }

    Index columns() const { return m_columns; }
    Index depth() const { return m_depth; }
    Index tileColumns() const { return m_tileColumns; }
    std::size_t bytes() const override
    {
        return static_cast<std::size_t>(m_columns * m_depth) * sizeof(float);
    }
    float* tile(Index index) const
    {
        return static_cast<float*>(m_memory.get()) + index * m_tileColumns * m_depth;
    }
    void setMemory(std::shared_ptr<void> memory) { m_memory = std::move(memory); }

private:
    Index m_columns, m_depth, m_tileColumns;
    std::shared_ptr<void> m_memory;
};

} // namespace vergence
