#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/compute/half.h"
#include "core/compute/ops/activation_math.h"
#include "core/compute/rng.h"
#include "core/compute/tensor.h"

namespace vergence::test {

/// Numbers in [−1, 1) that every type of this engine holds exactly (8 bits), so that all types are
/// compared with one reference.
inline std::vector<double> numbers(Index count, std::uint64_t seed)
{
    const Rng rng(seed, 1);
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<double>(static_cast<int>(rng.bits(i) >> 25) - 64) / 64.0;
    return values;
}

/// The same times a factor: with one that is no power of two, sums of products are rounded, so that
/// their order shows.
inline std::vector<double> numbers(Index count, std::uint64_t seed, double factor)
{
    auto values = numbers(count, seed);
    for (double& value : values)
        value *= factor;
    return values;
}

/// A factor of operands for tests that sums do not depend on threads: 1/3 where their order is the
/// same for tiles of any size, as seen on AMD's processors with AVX-512. oneDNN's products for
/// older instruction sets, which its variable can ask for, take other orders for other tiles; sums
/// are exact there (factor 1).
inline double factorOfThreadTests()
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && !__builtin_cpu_is("intel") &&
                   !std::getenv("ONEDNN_MAX_CPU_ISA")
               ? 1 / 3.0
               : 1;
#else
    return 1;
#endif
}

template <class T>
Tensor typedTensor(Stream& stream, const std::shared_ptr<Device>& device, const Shape& shape,
                   const std::vector<double>& values)
{
    std::vector<T> typed(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        typed[i] = T(static_cast<Accumulator<T>>(values[i]));
    return Tensor::fromHost<T>(stream, device, shape, typed);
}

/// A tensor of any product type on `device`.
inline Tensor tensorOf(Stream& stream, const std::shared_ptr<Device>& device, DType type,
                       const Shape& shape, const std::vector<double>& values)
{
    switch (type) {
    case DType::F64:
        return typedTensor<double>(stream, device, shape, values);
    case DType::F16:
        return typedTensor<Float16>(stream, device, shape, values);
    case DType::BF16:
        return typedTensor<BFloat16>(stream, device, shape, values);
    default:
        return typedTensor<float>(stream, device, shape, values);
    }
}

template <class T>
std::vector<double> widened(Stream& stream, const Tensor& tensor)
{
    const auto typed = tensor.toHost<T>(stream);
    std::vector<double> values(typed.size());
    for (std::size_t i = 0; i < typed.size(); ++i)
        values[i] = static_cast<double>(static_cast<Accumulator<T>>(typed[i]));
    return values;
}

inline std::vector<double> valuesOf(Stream& stream, const Tensor& tensor)
{
    switch (tensor.dtype()) {
    case DType::F64:
        return widened<double>(stream, tensor);
    case DType::F16:
        return widened<Float16>(stream, tensor);
    case DType::BF16:
        return widened<BFloat16>(stream, tensor);
    default:
        return widened<float>(stream, tensor);
    }
}

/// Like tensorOf(), but one element after the start of its memory: no 16-byte alignment.
inline Tensor misalignedTensor(Stream& stream, const std::shared_ptr<Device>& device, DType type,
                               const Shape& shape, std::vector<double> values)
{
    const Index count = elementCount(shape);
    values.insert(values.begin(), 7.0);
    const Tensor longer = tensorOf(stream, device, type, {count + 1}, values);
    return longer.narrow(0, 1, count).reshaped(shape);
}

/// A window [.., rows, columns] of a wider and taller array of sevens.
inline Tensor windowTensor(Stream& stream, const std::shared_ptr<Device>& device, DType type,
                           const Shape& shape, const std::vector<double>& values)
{
    const std::size_t rank = shape.size();
    Shape outer = shape;
    outer[rank - 1] += 5;
    outer[rank - 2] += 2;
    std::vector<double> all(static_cast<std::size_t>(elementCount(outer)), 7.0);
    const Index columns = shape[rank - 1], rows = shape[rank - 2];
    const Index batches = rows * columns == 0 ? 0 : elementCount(shape) / (rows * columns);
    for (Index b = 0; b < batches; ++b) {
        for (Index r = 0; r < rows; ++r) {
            for (Index c = 0; c < columns; ++c)
                all[static_cast<std::size_t>((b * (rows + 2) + r + 1) * (columns + 5) + c + 3)] =
                    values[static_cast<std::size_t>((b * rows + r) * columns + c)];
        }
    }
    return tensorOf(stream, device, type, outer, all).narrow(-1, 3, columns).narrow(-2, 1, rows);
}

/// All numbers of a tensor that may be a window.
inline std::vector<double> windowValues(Stream& stream, const Tensor& tensor)
{
    if (tensor.isContiguous())
        return valuesOf(stream, tensor);
    std::vector<double> values;
    if (tensor.rank() == 1) { // contiguous rows end the recursion before
        return values;
    }
    for (Index i = 0; i < tensor.extent(0); ++i) {
        const auto part = windowValues(stream, tensor.slice(i));
        values.insert(values.end(), part.begin(), part.end());
    }
    return values;
}

inline double activated(Activation kind, double x)
{
    switch (kind) {
    case Activation::GeluErf:
        return geluErf(x);
    case Activation::GeluTanh:
        return geluTanh(x);
    case Activation::QuickGelu:
        return swish(x, 1.702);
    case Activation::Silu:
        return swish(x, 1.0);
    case Activation::Relu:
        return x > 0 ? x : 0;
    case Activation::None:
        break;
    }
    return x;
}

/// Rounding of one number and of a sum of k products, relative to the numbers' size.
inline double toleranceOf(DType type, DType resultType, Index k)
{
    const double unit = resultType == DType::F64   ? 2.3e-16
                        : resultType == DType::F32 ? 1.2e-7
                        : resultType == DType::F16 ? 1e-3
                                                   : 8e-3;
    const double sum = (type == DType::F64 ? 2.3e-16 : 1.2e-7) * static_cast<double>(k + 8);
    return 2 * unit + sum;
}

} // namespace vergence::test
