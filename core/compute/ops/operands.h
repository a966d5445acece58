#pragma once

#include <initializer_list>
#include <string_view>

#include "core/compute/tensor.h"

namespace vergence {

// Checks of the public functions in this folder. Messages start with the operation's name and name
// both sides. All throw ContractError.

/// Dense, of a floating-point type, and on the stream's device.
void expectNumbers(std::string_view operation, Stream& stream, const Tensor& x);
/// The same for several tensors of one element type.
void expectAlike(std::string_view operation, Stream& stream,
                 std::initializer_list<const Tensor*> tensors);
/// Dense, of `type`, and on the stream's device.
void expectType(std::string_view operation, Stream& stream, const Tensor& x, DType type);
void expectShape(std::string_view operation, std::string_view what, const Tensor& x,
                 const Shape& wanted);
void expectSameShape(std::string_view operation, const Tensor& a, const Tensor& b);
/// A vector of weights [count] in the type of x or its accumulator's; null passes.
void expectWeights(std::string_view operation, Stream& stream, std::string_view what,
                   const Tensor* weights, const Tensor& x, Index count);
/// A gradient of weights or a statistic: shape `wanted`, in the accumulator's type; null passes.
void expectSums(std::string_view operation, Stream& stream, std::string_view what,
                const Tensor* sums, const Tensor& x, const Shape& wanted);

/// Type in which sums of `type` are kept: F64 for F64, else F32.
inline DType accumulatorType(DType type)
{
    return type == DType::F64 ? DType::F64 : DType::F32;
}
/// Whether `weights` are in the accumulator's type (also where that is the type of the data).
inline bool isWide(const Tensor* weights, DType type)
{
    return weights && weights->dtype() != type;
}
inline void* dataOf(const Tensor* tensor)
{
    return tensor ? tensor->data() : nullptr;
}
/// Innermost extent and the number of rows of it. A tensor of rank 0 has none.
Index columnsOf(std::string_view operation, const Tensor& x);
inline Index rowsOf(const Tensor& x, Index columns)
{
    return columns > 0 ? x.size() / columns : 0;
}

} // namespace vergence
