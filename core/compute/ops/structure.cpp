#include "core/compute/ops/structure.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "core/compute/ops/operands.h"
#include "core/compute/ops/structure_kernels.h"

namespace vergence {

namespace {

void expectPair(const char* operation, Stream& stream, const Tensor& source, const Tensor& target)
{
    expectSameShape(operation, source, target);
    if (source.dtype() != target.dtype())
        throw ContractError(fmt::format("{}: element types differ: {} and {}", operation,
                                        nameOf(source.dtype()), nameOf(target.dtype())));
    for (const Tensor* tensor : {&source, &target}) {
        if (tensor->device().get() != &stream.device())
            throw ContractError(fmt::format("{}: the tensor {} lies on another device", operation,
                                            toString(tensor->shape())));
    }
}

/// The fewest dimensions that describe both windows, the target's longest stride first.
StridedArguments reduced(const Tensor& source, const Tensor& target)
{
    StridedArguments args;
    std::array<int, 6> order{};
    int rank = 0;
    for (int d = 0; d < source.rank(); ++d) {
        if (source.extent(d) != 1)
            order[static_cast<std::size_t>(rank++)] = d;
    }
    std::stable_sort(order.begin(), order.begin() + rank,
                     [&](int a, int b) { return target.stride(a) > target.stride(b); });
    for (int i = 0; i < rank; ++i) {
        const int d = order[static_cast<std::size_t>(i)];
        const Index extent = source.extent(d), from = source.stride(d), to = target.stride(d);
        const int last = args.rank - 1;
        if (last >= 0 && args.sourceStrides[last] == from * extent &&
            args.targetStrides[last] == to * extent) {
            args.extents[last] *= extent;
            args.sourceStrides[last] = from;
            args.targetStrides[last] = to;
        } else {
            args.extents[args.rank] = extent;
            args.sourceStrides[args.rank] = from;
            args.targetStrides[args.rank++] = to;
        }
    }
    args.count = source.size();
    args.source = source.data();
    args.target = target.data();
    args.type = source.dtype();
    args.elementBytes = static_cast<int>(sizeOf(source.dtype()));
    return args;
}

/// Joins neighbouring numbers into units of up to 16 bytes where both windows allow.
void widen(StridedArguments& args)
{
    const int last = args.rank - 1;
    if (last < 0 || args.sourceStrides[last] != 1 || args.targetStrides[last] != 1)
        return;
    while (args.elementBytes < 16) {
        bool isEven = args.extents[last] % 2 == 0;
        for (int d = 0; d < last; ++d)
            isEven = isEven && args.sourceStrides[d] % 2 == 0 && args.targetStrides[d] % 2 == 0;
        const auto places = reinterpret_cast<std::uintptr_t>(args.source) |
                            reinterpret_cast<std::uintptr_t>(args.target);
        if (!isEven || places % (2 * static_cast<std::uintptr_t>(args.elementBytes)) != 0)
            return;
        args.elementBytes *= 2;
        args.extents[last] /= 2;
        args.count /= 2;
        for (int d = 0; d < last; ++d) {
            args.sourceStrides[d] /= 2;
            args.targetStrides[d] /= 2;
        }
    }
}

void expectRows(const char* operation, Stream& stream, const Tensor& table, const Tensor& ids,
                const Tensor& rows)
{
    expectType(operation, stream, ids, DType::I32);
    Shape wanted = table.shape();
    if (ids.rank() != 1 || wanted.empty())
        throw ContractError(fmt::format("{}: ids {} into a table {}", operation,
                                        toString(ids.shape()), toString(table.shape())));
    wanted[0] = ids.size();
    expectShape(operation, "the tensor of rows", rows, wanted);
}

RowsArguments rowsArguments(const Tensor& table, const Tensor& ids, const Tensor& rows)
{
    RowsArguments args;
    args.type = rows.dtype();
    args.tableType = table.dtype();
    args.tableRows = table.extent(0);
    args.count = ids.size();
    args.columns = std::accumulate(table.shape().begin() + 1, table.shape().end(), Index{1},
                                   std::multiplies<>{});
    args.ids = static_cast<const std::int32_t*>(ids.data());
    return args;
}

} // namespace

void copyStrided(Stream& stream, const Tensor& source, const Tensor& target)
{
    expectPair("copyStrided", stream, source, target);
    if (source.size() == 0)
        return;
    if (source.isContiguous() && target.isContiguous())
        return stream.copy(target.data(), source.data(), source.bytes());
    StridedArguments args = reduced(source, target);
    if (!stream.device().isCpu())
        widen(args);
    copyStridedKernel(stream, args);
}

void addStrided(Stream& stream, const Tensor& source, const Tensor& target)
{
    expectPair("addStrided", stream, source, target);
    if (source.dtype() != DType::F64 && source.dtype() != DType::F32 &&
        source.dtype() != DType::F16 && source.dtype() != DType::BF16)
        throw ContractError(fmt::format("addStrided: element type {} instead of F32, F64, F16 or "
                                        "BF16",
                                        nameOf(source.dtype())));
    if (source.size() > 0)
        addStridedKernel(stream, reduced(source, target));
}

Tensor contiguous(Stream& stream, Arena& arena, const Tensor& x)
{
    if (x.isContiguous())
        return x;
    const Tensor copy = arena.take(x.shape(), x.dtype());
    copyStrided(stream, x, copy);
    return copy;
}

void gatherRows(Stream& stream, const Tensor& table, const Tensor& ids, const Tensor& y)
{
    expectAlike("gatherRows", stream, {&table, &y});
    expectRows("gatherRows", stream, table, ids, y);
    RowsArguments args = rowsArguments(table, ids, y);
    args.from = table.data();
    args.to = y.data();
    if (y.size() > 0)
        gatherRowsKernel(stream, args);
}

void scatterAddRows(Stream& stream, const Tensor& gradY, const Tensor& ids, const Tensor& gradTable)
{
    constexpr const char* kName = "scatterAddRows";
    expectNumbers(kName, stream, gradY);
    expectNumbers(kName, stream, gradTable);
    if (gradTable.dtype() != gradY.dtype() && gradTable.dtype() != accumulatorType(gradY.dtype()))
        throw ContractError(fmt::format("{}: rows of type {} into a table of type {}", kName,
                                        nameOf(gradY.dtype()), nameOf(gradTable.dtype())));
    expectRows(kName, stream, gradTable, ids, gradY);
    RowsArguments args = rowsArguments(gradTable, ids, gradY);
    args.from = gradY.data();
    args.to = gradTable.data();
    if (gradY.size() > 0)
        scatterAddRowsKernel(stream, args);
}

void broadcastLeading(Stream& stream, const Tensor& x, const Tensor& y)
{
    Shape wanted = x.shape();
    wanted.insert(wanted.begin(), y.rank() > 0 ? y.extent(0) : 0);
    expectShape("broadcastLeading", "the result", y, wanted);
    expectType("broadcastLeading", stream, x, y.dtype());
    expectType("broadcastLeading", stream, y, y.dtype());
    if (y.size() == 0)
        return;
    // A window that stays at x for every entry of the leading dimension.
    StridedArguments args;
    args.rank = 2;
    args.extents[0] = y.extent(0);
    args.extents[1] = x.size();
    args.sourceStrides[1] = args.targetStrides[1] = 1;
    args.targetStrides[0] = x.size();
    args.count = y.size();
    args.source = x.data();
    args.target = y.data();
    args.type = x.dtype();
    args.elementBytes = static_cast<int>(sizeOf(x.dtype()));
    if (!stream.device().isCpu())
        widen(args);
    copyStridedKernel(stream, args);
}

} // namespace vergence
