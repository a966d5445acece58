#include "core/compute/dense/cpu_packed.h"

#include <fmt/format.h>

#include "core/compute/dense/cpu_dense.h"
#include "core/compute/dense/pair_kernels.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

CpuPackedLinear::CpuPackedLinear(DType type, Index columns, Index depth, int threads)
    : m_type(type),
      m_columns(columns),
      m_depth(depth)
{
    m_panelColumns = type == DType::BF16 ? PairedPanel::kColumns
                                         : std::min(columns, panelColumns(columns, threads));
    m_panelBytes = static_cast<Index>(layout(m_panelColumns).get_size());
}

std::size_t CpuPackedLinear::bytes() const
{
    return m_type == DType::BF16 ? layout(m_columns).get_size()
                                 : static_cast<std::size_t>(m_columns * m_depth) * sizeof(float);
}

dnnl::memory::desc CpuPackedLinear::layout(Index columns) const
{
    using dnnl::memory;
    if (m_type == DType::BF16)
        return {{m_depth, columns}, memory::data_type::bf16, memory::format_tag::BA16a64b2a};
    return {{m_depth, columns}, memory::data_type::f32, memory::format_tag::ab};
}

std::shared_ptr<const PackedWeight> CpuDenseMath::packLinear(Stream& stream, const Tensor& weight,
                                                             Index rows)
{
    expects(weight.rank() == 2 && weight.isContiguous(),
            fmt::format("packLinear: the weight is {} but must be a dense [N, K]",
                        toString(weight.shape())));
    expects(rows >= 0, "packLinear: the number of rows must not be negative");
    const Index n = weight.extent(0), k = weight.extent(1);
    const bool isPaired = weight.dtype() == DType::BF16 && m_multipliesBf16;
    if (weight.dtype() == DType::F64 || weight.size() == 0 ||
        (isPaired && n < PairedPanel::kColumns))
        return nullptr;
    auto packed =
        std::make_shared<CpuPackedLinear>(isPaired ? DType::BF16 : DType::F32, n, k, m_threads);
    const Tensor memory =
        Tensor::empty(weight.device(), {static_cast<Index>(packed->bytes())}, DType::U8);
    packed->setMemory(memory.storage());
    pack(stream, {weight.data(), k, {}}, weight.dtype(), true, *packed);
    return packed;
}

void CpuDenseMath::pack(Stream& stream, const MatrixBatch& b, DType type, bool isTransposed,
                        const CpuPackedLinear& packed)
{
    const Index n = packed.columns(), k = packed.depth(), width = packed.panelColumns();
    const Index panels = ceilDiv(n, width);
    const auto sourceAt = [&](Index row, Index column) {
        return advanced(
            b.data, isTransposed ? column * b.rowStride + row : row * b.rowStride + column, type);
    };
    if (packed.type() == DType::BF16) {
        // Along the source's rows: all panels of some rows of b, or some columns of b.
        const Index rows = isTransposed ? k : 2 * PairedPanel::kRows;
        const Index columns = isTransposed ? width : n;
        const Index down = ceilDiv(k, rows);
        forPieces(down * ceilDiv(n, columns), [&](Index piece, int) {
            const Index row = piece % down * rows, first = piece / down * columns;
            for (Index column = first; column < std::min(n, first + columns); column += width) {
                auto* panel = reinterpret_cast<std::uint16_t*>(packed.panel(column / width));
                pairPanel(stream, {reinterpret_cast<const std::uint16_t*>(sourceAt(row, column)),
                                   b.rowStride, isTransposed, std::min(rows, k - row),
                                   std::min(width, n - column), panel + row * width});
            }
        });
        return;
    }
    // Pieces of a panel: some rows of it, or 16 of its columns where they are rows of the source.
    const Index step = isTransposed ? 16 : std::max<Index>(1, 16384 / width);
    const Index steps = ceilDiv(isTransposed ? width : k, step);
    forPieces(panels * steps, [&](Index piece, int) {
        const Index panel = piece / steps, first = piece % steps * step;
        const Index column = panel * width, columns = std::min(width, n - column);
        const Index extent = isTransposed ? columns : k;
        if (first >= extent)
            return;
        TileCopy copy;
        copy.type = type;
        copy.sourceStride = b.rowStride;
        copy.targetStride = columns;
        copy.rows = std::min(step, extent - first);
        copy.columns = isTransposed ? k : columns;
        copy.transpose = isTransposed;
        copy.source = isTransposed ? sourceAt(0, column + first) : sourceAt(first, column);
        copy.target = reinterpret_cast<float*>(packed.panel(panel)) +
                      (isTransposed ? first : first * columns);
        copyTile(stream, copy);
    });
}

} // namespace vergence
