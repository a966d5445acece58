#include "core/compute/ops/operands.h"

#include <fmt/format.h>

namespace vergence {

namespace {

bool isFloatingPoint(DType type)
{
    return type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16;
}

void expectPlace(std::string_view operation, Stream& stream, const Tensor& x)
{
    if (!(x.isContiguous()))
        throw ContractError(
            fmt::format("{}: the tensor {} is strided", operation, toString(x.shape())));
    if (!(x.device().get() == &stream.device()))
        throw ContractError(fmt::format("{}: the tensor {} lies on another device", operation,
                                        toString(x.shape())));
}

} // namespace

void expectNumbers(std::string_view operation, Stream& stream, const Tensor& x)
{
    if (!(isFloatingPoint(x.dtype())))
        throw ContractError(fmt::format("{}: element type {} instead of F32, F64, F16 or BF16",
                                        operation, nameOf(x.dtype())));
    expectPlace(operation, stream, x);
}

void expectAlike(std::string_view operation, Stream& stream,
                 std::initializer_list<const Tensor*> tensors)
{
    const Tensor* first = nullptr;
    for (const Tensor* tensor : tensors) {
        if (!tensor)
            continue;
        expectNumbers(operation, stream, *tensor);
        if (!first)
            first = tensor;
        if (tensor->dtype() != first->dtype())
            throw ContractError(fmt::format("{}: element types differ: {} and {}", operation,
                                            nameOf(first->dtype()), nameOf(tensor->dtype())));
    }
}

void expectType(std::string_view operation, Stream& stream, const Tensor& x, DType type)
{
    if (!(x.dtype() == type))
        throw ContractError(fmt::format("{}: element type {} instead of {}", operation,
                                        nameOf(x.dtype()), nameOf(type)));
    expectPlace(operation, stream, x);
}

void expectShape(std::string_view operation, std::string_view what, const Tensor& x,
                 const Shape& wanted)
{
    if (!(x.shape() == wanted))
        throw ContractError(fmt::format("{}: {} is {} instead of {}", operation, what,
                                        toString(x.shape()), toString(wanted)));
}

void expectSameShape(std::string_view operation, const Tensor& a, const Tensor& b)
{
    if (!(a.shape() == b.shape()))
        throw ContractError(fmt::format("{}: shapes differ: {} and {}", operation,
                                        toString(a.shape()), toString(b.shape())));
}

void expectWeights(std::string_view operation, Stream& stream, std::string_view what,
                   const Tensor* weights, const Tensor& x, Index count)
{
    if (!weights)
        return;
    if (!(weights->dtype() == x.dtype() || weights->dtype() == accumulatorType(x.dtype())))
        throw ContractError(fmt::format("{}: {} of type {} for numbers of type {}", operation, what,
                                        nameOf(weights->dtype()), nameOf(x.dtype())));
    expectPlace(operation, stream, *weights);
    expectShape(operation, what, *weights, {count});
}

void expectSums(std::string_view operation, Stream& stream, std::string_view what,
                const Tensor* sums, const Tensor& x, const Shape& wanted)
{
    if (!sums)
        return;
    if (!(sums->dtype() == accumulatorType(x.dtype())))
        throw ContractError(fmt::format("{}: {} of type {} for numbers of type {}", operation, what,
                                        nameOf(sums->dtype()), nameOf(x.dtype())));
    expectPlace(operation, stream, *sums);
    expectShape(operation, what, *sums, wanted);
}

Index columnsOf(std::string_view operation, const Tensor& x)
{
    if (!(x.rank() >= 1))
        throw ContractError(fmt::format("{}: a tensor without dimensions", operation));
    return x.shape().back();
}

} // namespace vergence
