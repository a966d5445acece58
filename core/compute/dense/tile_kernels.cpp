#include "core/compute/dense/tile_kernels.h"

#include <algorithm>

#include "core/compute/half.h"
#include "core/compute/launch.h"
#include "core/compute/ops/activation_math.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace {

#if defined(__CUDACC__)
constexpr Index kChunk = 1; // numbers that one item finishes
#else
constexpr Index kChunk = 256;
#endif

template <class Out, class Product, Activation kind>
struct FinishChunk {
    using Real = Accumulator<Out>;
    TileFinish tile;

    VERGENCE_HD void addBias(Real* value, Index row, Index first, Index count) const
    {
        if (tile.biasPerRow) {
            const Real bias = tile.biasType == tile.type
                                  ? Real(static_cast<const Out*>(tile.bias)[row])
                                  : Real(static_cast<const float*>(tile.bias)[row]);
            for (Index i = 0; i < count; ++i)
                value[i] += bias;
        } else if (tile.biasType == tile.type) {
            const Out* bias = static_cast<const Out*>(tile.bias) + first;
            for (Index i = 0; i < count; ++i)
                value[i] += Real(bias[i]);
        } else {
            const float* bias = static_cast<const float*>(tile.bias) + first;
            for (Index i = 0; i < count; ++i)
                value[i] += Real(bias[i]);
        }
    }

    VERGENCE_HD void operator()(Index row, Index first, Index count) const
    {
        Real value[kChunk];
        const auto alpha = Real(tile.alpha), beta = Real(tile.beta);
        if (tile.product) {
            const Product* product =
                static_cast<const Product*>(tile.product) + row * tile.productStride + first;
            for (Index i = 0; i < count; ++i)
                value[i] = alpha * Real(product[i]);
        } else {
            for (Index i = 0; i < count; ++i)
                value[i] = Real(0);
        }
        if (tile.bias)
            addBias(value, row, first, count);
        if (tile.preActivation) {
            Out* target =
                static_cast<Out*>(tile.preActivation) + row * tile.preActivationStride + first;
            for (Index i = 0; i < count; ++i)
                target[i] = Out(value[i]);
        }
        for (Index i = 0; i < count; ++i)
            value[i] = activationValue<kind>(value[i]);
        if (tile.residual) {
            const Out* residual =
                static_cast<const Out*>(tile.residual) + row * tile.residualStride + first;
            for (Index i = 0; i < count; ++i)
                value[i] += Real(residual[i]);
        }
        Out* y = static_cast<Out*>(tile.y) + row * tile.yStride + first;
        if (beta != Real(0)) {
            for (Index i = 0; i < count; ++i)
                value[i] += beta * Real(y[i]);
        }
        for (Index i = 0; i < count; ++i)
            y[i] = Out(value[i]);
    }
};

template <class Body>
struct OneNumber {
    Body body;
    Index columns;
    VERGENCE_HD void operator()(Index i) const { body(i / columns, i % columns, 1); }
};

template <class Body>
void runChunks(Stream& stream, Index rows, Index columns, const Body& body)
{
#if defined(__CUDACC__)
    forEach(stream, rows * columns, OneNumber<Body>{body, columns});
#else
    (void)stream;
    for (Index row = 0; row < rows; ++row) {
        for (Index first = 0; first < columns; first += kChunk)
            body(row, first, std::min(kChunk, columns - first));
    }
#endif
}

template <class Out, class Product>
void finishTyped(Stream& stream, const TileFinish& tile)
{
    const auto run = [&](const auto& body) { runChunks(stream, tile.rows, tile.columns, body); };
    switch (tile.activation) {
    case Activation::None:
        return run(FinishChunk<Out, Product, Activation::None>{tile});
    case Activation::GeluErf:
        return run(FinishChunk<Out, Product, Activation::GeluErf>{tile});
    case Activation::GeluTanh:
        return run(FinishChunk<Out, Product, Activation::GeluTanh>{tile});
    case Activation::QuickGelu:
        return run(FinishChunk<Out, Product, Activation::QuickGelu>{tile});
    case Activation::Silu:
        return run(FinishChunk<Out, Product, Activation::Silu>{tile});
    case Activation::Relu:
        return run(FinishChunk<Out, Product, Activation::Relu>{tile});
    }
}

void finishTileBody(Stream& stream, const TileFinish& tile)
{
    switch (tile.type) {
    case DType::F64:
        return finishTyped<double, double>(stream, tile);
    case DType::F16:
        return tile.productIsRounded ? finishTyped<Float16, Float16>(stream, tile)
                                     : finishTyped<Float16, float>(stream, tile);
    case DType::BF16:
        return tile.productIsRounded ? finishTyped<BFloat16, BFloat16>(stream, tile)
                                     : finishTyped<BFloat16, float>(stream, tile);
    default:
        return finishTyped<float, float>(stream, tile);
    }
}

#if !defined(__CUDACC__)

template <class T>
void copyRows(const TileCopy& tile)
{
    const T* source = static_cast<const T*>(tile.source);
    for (Index row = 0; row < tile.rows; ++row) {
        const T* from = source + row * tile.sourceStride;
        float* to = tile.target + row * tile.targetStride;
        for (Index i = 0; i < tile.columns; ++i)
            to[i] = static_cast<float>(from[i]);
    }
}

template <class T>
void copyTransposed(const TileCopy& tile)
{
    constexpr Index kBlock = 16; // 16 floats are a cache line on both sides
    const T* source = static_cast<const T*>(tile.source);
    for (Index column = 0; column < tile.columns; column += kBlock) {
        const Index columns = std::min(kBlock, tile.columns - column);
        for (Index row = 0; row < tile.rows; row += kBlock) {
            const Index rows = std::min(kBlock, tile.rows - row);
            const T* from = source + row * tile.sourceStride + column;
            float* to = tile.target + column * tile.targetStride + row;
            if (rows == kBlock && columns == kBlock) {
                for (Index j = 0; j < kBlock; ++j) {
                    for (Index i = 0; i < kBlock; ++i)
                        to[j * tile.targetStride + i] =
                            static_cast<float>(from[i * tile.sourceStride + j]);
                }
                continue;
            }
            for (Index j = 0; j < columns; ++j) {
                for (Index i = 0; i < rows; ++i)
                    to[j * tile.targetStride + i] =
                        static_cast<float>(from[i * tile.sourceStride + j]);
            }
        }
    }
}

template <class T>
void copyTyped(const TileCopy& tile)
{
    if (tile.transpose)
        copyTransposed<T>(tile);
    else
        copyRows<T>(tile);
}

void copyTileBody(Stream&, const TileCopy& tile)
{
    if (tile.type == DType::F16)
        copyTyped<Float16>(tile);
    else if (tile.type == DType::BF16)
        copyTyped<BFloat16>(tile);
    else
        copyTyped<float>(tile);
}

template <class T>
void sumTyped(const PartialSum& sum)
{
    T* target = static_cast<T*>(sum.target);
    float value[kChunk];
    for (Index first = 0; first < sum.count; first += kChunk) {
        const Index count = std::min(kChunk, sum.count - first);
        for (Index i = 0; i < count; ++i)
            value[i] = sum.accumulate ? static_cast<float>(target[first + i]) : 0.0f;
        for (Index p = 0; p < sum.parts; ++p) {
            const float* part = sum.partials + p * sum.stride + first;
            for (Index i = 0; i < count; ++i)
                value[i] += part[i];
        }
        for (Index i = 0; i < count; ++i)
            target[first + i] = T(value[i]);
    }
}

void sumPartialsBody(Stream&, const PartialSum& sum)
{
    if (sum.type == DType::F16)
        sumTyped<Float16>(sum);
    else if (sum.type == DType::BF16)
        sumTyped<BFloat16>(sum);
    else
        sumTyped<float>(sum);
}

VERGENCE_REGISTER_KERNEL(copyTile, copyTileBody)
VERGENCE_REGISTER_KERNEL(sumPartials, sumPartialsBody)

#endif

VERGENCE_REGISTER_KERNEL(finishTile, finishTileBody)

} // namespace
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
