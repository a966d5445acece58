#pragma once

#include <memory>

#include <oneapi/dnnl/dnnl.hpp>

#include "core/compute/dense.h"

namespace vergence {

/// A linear layer's weight [N, K] cut into tiles of columns, each in oneDNN's own order.
class CpuPackedLinear final : public PackedWeight {
public:
    Index columns() const { return m_columns; }
    Index depth() const { return m_depth; }
    Index tileColumns() const { return m_tileColumns; }
    const dnnl::memory::desc& layout(Index columns) const
    {
        return columns == m_tileColumns ? m_layout : m_lastLayout;
    }
    /// Tells layouts apart in plan keys.
    std::size_t layoutNumber(Index columns) const
    {
        return columns == m_tileColumns ? m_layoutNumber : m_lastLayoutNumber;
    }
    std::byte* tile(Index index) const
    {
        return static_cast<std::byte*>(m_memory.data()) +
               static_cast<std::size_t>(index) * m_tileBytes;
    }

private:
    friend class CpuDenseMath;

    Index m_columns = 0, m_depth = 0, m_tileColumns = 0;
    dnnl::memory::desc m_layout, m_lastLayout;
    std::size_t m_layoutNumber = 0, m_lastLayoutNumber = 0, m_tileBytes = 0;
    Tensor m_memory; ///< U8
};

} // namespace vergence
