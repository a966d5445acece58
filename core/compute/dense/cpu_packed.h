#pragma once

#include <memory>

#include <oneapi/dnnl/dnnl.hpp>

#include "core/compute/dense/problem.h"

namespace vergence {

/// The right-hand matrix [K, N] of a product, cut into panels of columns that lie one after
/// another. In F32 a panel is a dense [K, panelColumns], which oneDNN reads faster than any other
/// plain order; in BF16 it has oneDNN's own order of 64 columns, where two rows alternate, filled
/// up with zeros. Made of a linear layer's weight [N, K] once, or of any b for one product.
class CpuPackedLinear final : public PackedWeight {
public:
    CpuPackedLinear(DType type, Index columns, Index depth, int threads);

    /// In F32: 128, or 64 where that shares few panels out more evenly.
    static Index panelColumns(Index columns, int threads)
    {
        const Index panels = (columns + 127) / 128;
        return panels % threads == 0 || panels >= 4 * Index{threads} ? 128 : 64;
    }

    DType type() const { return m_type; }
    Index columns() const { return m_columns; }
    Index depth() const { return m_depth; }
    Index panelColumns() const { return m_panelColumns; }
    std::size_t bytes() const override;
    /// The order of `columns` columns that begin a panel: all of one (F32) or of several (BF16).
    dnnl::memory::desc layout(Index columns) const;
    std::byte* panel(Index index) const { return m_memory.get() + index * m_panelBytes; }
    void setMemory(const std::shared_ptr<void>& memory)
    {
        m_memory = std::static_pointer_cast<std::byte>(memory);
    }

private:
    DType m_type;
    Index m_columns, m_depth, m_panelColumns, m_panelBytes;
    std::shared_ptr<std::byte> m_memory;
};

} // namespace vergence
