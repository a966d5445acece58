#include "core/compute/dense/cpu_packed.h"

#include <fmt/format.h>

#include "core/compute/dense/cpu_dense.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

std::shared_ptr<const PackedWeight> CpuDenseMath::packLinear(Stream& stream, const Tensor& weight,
                                                             Index rows)
{
    expects(weight.rank() == 2 && weight.isContiguous(),
            fmt::format("packLinear: the weight is {} but must be a dense [N, K]",
                        toString(weight.shape())));
    expects(rows >= 0, "packLinear: the number of rows must not be negative");
    const bool isNative = weight.dtype() == DType::BF16 && m_multipliesBf16;
    if (weight.dtype() == DType::F64 || isNative || weight.size() == 0)
        return nullptr;
    const Index n = weight.extent(0), k = weight.extent(1);
    auto packed = std::make_shared<CpuPackedLinear>(n, k, m_threads);
    const Tensor memory = Tensor::empty(weight.device(), {n, k});
    packed->setMemory(memory.storage());
    pack(stream, {weight.data(), k, {}}, weight.dtype(), true, *packed);
    return packed;
}

void CpuDenseMath::pack(Stream& stream, const MatrixBatch& b, DType type, bool isTransposed,
                        const CpuPackedLinear& packed)
{
    const Index n = packed.columns(), k = packed.depth(), width = packed.tileColumns();
    // Pieces of a tile: some rows of it, or 16 of its columns where they are rows of the source.
    const Index tiles = (n + width - 1) / width;
    const Index step = isTransposed ? 16 : std::max<Index>(1, 16384 / width);
    const Index steps = ((isTransposed ? width : k) + step - 1) / step;
    forPieces(tiles * steps, [&](Index piece, int) {
        const Index tile = piece / steps, first = piece % steps * step;
        const Index column = tile * width, columns = std::min(width, n - column);
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
        const Index sourceAt =
            isTransposed ? (column + first) * b.rowStride : first * b.rowStride + column;
        copy.source =
            static_cast<const std::byte*>(b.data) + sourceAt * static_cast<Index>(sizeOf(type));
        copy.target = packed.tile(tile) + (isTransposed ? first : first * columns);
        copyTile(stream, copy);
    });
}

} // namespace vergence
