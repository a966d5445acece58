#include "core/compute/dense/cpu_packed.h"

#include <fmt/format.h>

#include "core/compute/dense/cpu_dense.h"
#include "core/compute/dense/pieces.h"

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
    auto packed = std::make_shared<CpuPackedLinear>(n, k);
    const Tensor memory = Tensor::empty(weight.device(), {packed->layout().size()});
    packed->setMemory(memory.storage());
    pack(stream, {weight.data(), k, {}}, weight.dtype(), true, *packed);
    return packed;
}

void CpuDenseMath::pack(Stream& stream, const MatrixBatch& b, DType type, bool isTransposed,
                        const CpuPackedLinear& packed)
{
    const PanelLayout& all = packed.layout();
    constexpr Index kColumns = PanelLayout::kPanelColumns;
    forPieces(ceilDiv(all.columns, kColumns), [&](Index piece, int) {
        const Index first = piece * kColumns, at = isTransposed ? first * b.rowStride : first;
        packPanels(stream, {advanced(b.data, at, type), b.rowStride, type, isTransposed},
                   {std::min(kColumns, all.columns - first), all.depth}, packed.panel(first));
    });
}

} // namespace vergence
