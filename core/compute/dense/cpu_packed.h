#pragma once

#include <memory>

#include "core/compute/dense/panel_kernels.h"
#include "core/compute/dense/problem.h"

namespace vergence {

/// The right-hand matrix [K, N] of a product in F32 as panels: of a linear layer's weight [N, K]
/// made once, or of any b for one product.
class CpuPackedLinear final : public PackedWeight {
public:
    CpuPackedLinear(Index columns, Index depth) : m_layout{columns, depth} {}

    const PanelLayout& layout() const { return m_layout; }
    std::size_t bytes() const { return static_cast<std::size_t>(m_layout.size()) * sizeof(float); }
    /// The panel that starts with column `first`.
    float* panel(Index first) const
    {
        return static_cast<float*>(m_memory.get()) + m_layout.offsetAt(first);
    }
    void setMemory(std::shared_ptr<void> memory) { m_memory = std::move(memory); }

private:
    PanelLayout m_layout;
    std::shared_ptr<void> m_memory;
};

} // namespace vergence
