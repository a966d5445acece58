#include "core/compute/dense/cpu_packed.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/compute/dense/cpu_conv.h"
#include "core/compute/dense/cpu_dense.h"

namespace vergence {

namespace {

Index ceilDiv(Index a, Index b)
{
    return (a + b - 1) / b;
}

/// The layout that oneDNN likes best for [k, n] with products of `rows` rows.
dnnl::memory::desc packedLayout(Index rows, Index n, Index k, dnnl::memory::data_type type)
{
    using dnnl::memory;
    const OnThisThread single;
    const memory::desc a({rows, k}, type, memory::format_tag::ab);
    const memory::desc b({k, n}, type, memory::format_tag::any);
    const memory::desc y({rows, n}, memory::data_type::f32, memory::format_tag::ab);
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, y), cpuEngine()).weights_desc();
}

} // namespace

std::shared_ptr<const PackedWeight> CpuDenseMath::packLinear(Stream& stream, const Tensor& weight,
                                                             Index rows)
{
    expects(weight.rank() == 2 && weight.isContiguous(),
            fmt::format("packLinear: the weight is {} but must be a dense [N, K]",
                        toString(weight.shape())));
    expects(rows >= 0, "packLinear: the number of rows must not be negative");
    if (weight.dtype() == DType::F64 || weight.size() == 0)
        return nullptr;

    using dnnl::memory;
    const bool isBf16 = weight.dtype() == DType::BF16 && m_multipliesBf16;
    const auto type = isBf16 ? memory::data_type::bf16 : memory::data_type::f32;
    auto packed = std::make_shared<CpuPackedLinear>();
    const Index n = weight.extent(0), k = weight.extent(1);
    packed->m_columns = n;
    packed->m_depth = k;
    packed->m_tileColumns = m_threads == 1 ? n : std::min<Index>(n, 128);
    const Index count = ceilDiv(n, packed->m_tileColumns);
    const Index tileRows = std::clamp<Index>(rows, 1, 512);
    packed->m_layout = packedLayout(tileRows, packed->m_tileColumns, k, type);
    packed->m_lastLayout = packedLayout(tileRows, n - (count - 1) * packed->m_tileColumns, k, type);
    packed->m_layoutNumber = layoutNumber(packed->m_layout);
    packed->m_lastLayoutNumber = layoutNumber(packed->m_lastLayout);
    packed->m_tileBytes =
        (std::max(packed->m_layout.get_size(), packed->m_lastLayout.get_size()) + 255) / 256 * 256;
    packed->m_memory = Tensor::empty(weight.device(),
                                     {count * static_cast<Index>(packed->m_tileBytes)}, DType::U8);

    std::shared_ptr<void> copy;
    const auto* source = static_cast<const std::byte*>(
        isBf16 ? weight.data() : static_cast<const void*>(asFloats(*this, stream, weight, copy)));
    const auto bytes = static_cast<Index>(isBf16 ? sizeof(std::uint16_t) : sizeof(float));
    forPieces(count, [&](Index tile, int) {
        const Index first = tile * packed->m_tileColumns;
        const Index columns = std::min(packed->m_tileColumns, n - first);
        memory from({{k, columns}, type, memory::dims{1, k}}, cpuEngine(),
                    const_cast<std::byte*>(source + first * k * bytes));
        memory to(packed->layout(columns), cpuEngine(), packed->tile(tile));
        dnnl::stream engineStream = cpuEngineStream();
        dnnl::reorder(from, to).execute(engineStream, from, to);
    });
    return packed;
}

} // namespace vergence
