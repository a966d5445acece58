#include "core/compute/dense/cpu_conv.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/compute/dense/cpu_packed.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

std::byte* at(const Tensor& tensor, Index element)
{
    return static_cast<std::byte*>(tensor.data()) +
           element * static_cast<Index>(sizeOf(tensor.dtype()));
}

/// A convolution or its derivative with respect to the images, cut into windows of rows and, where
/// images are small, slices of the result's channels.
class WindowedConv {
public:
    /// `isNarrow`: BF16 operands are multiplied as such, see canBeNarrow(); otherwise in F32.
    WindowedConv(CpuDenseMath& dense, ConvPass pass, const ConvProblem& problem,
                 const Conv2dOptions& options, bool isNarrow)
        : m_dense(dense),
          m_pass(pass),
          m_p(problem),
          m_options(options),
          m_isNarrow(isNarrow),
          m_plans(dense, m_p, isNarrow)
    {
        chooseTiles();
    }

    /// False where oneDNN has nothing fast for this problem; nothing was done then.
    bool run(Stream& stream, const Tensor& operand, const Tensor& weight, const Tensor& result);
    /// The weights in oneDNN's order; null where it has nothing fast.
    std::shared_ptr<CpuPackedConv> pack(Stream& stream, const Tensor& weight, bool ownMemory);

private:
    bool isForward() const { return m_pass == ConvPass::Forward; }
    bool isNhwc() const { return m_p.layout == ImageLayout::Nhwc; }
    Index resultHeight() const { return isForward() ? m_p.outHeight : m_p.height; }
    Index resultWidth() const { return isForward() ? m_p.outWidth : m_p.width; }
    Index resultChannels() const { return isForward() ? m_p.outChannels : m_p.channels; }
    Index operandHeight() const { return isForward() ? m_p.height : m_p.outHeight; }
    Index operandWidth() const { return isForward() ? m_p.width : m_p.outWidth; }
    Index operandChannels() const { return isForward() ? m_p.channels : m_p.outChannels; }
    Index operandBytes() const
    {
        return static_cast<Index>(sizeOf(m_isNarrow ? DType::BF16 : DType::F32));
    }

    void chooseTiles();
    /// First row of a window: whole strides, so that every window of a derivative sees some row.
    Index rowOfWindow(Index index) const
    {
        const Index strides = ceilDiv(resultHeight(), m_p.stride);
        return std::min(index * strides / m_windows * m_p.stride, resultHeight());
    }
    ConvWindow windowOf(Index index) const;
    ConvShape shapeOf(const ConvWindow& window, Index channels) const;
    Index sliceChannels(Index slice) const
    {
        return std::min(m_sliceChannels, resultChannels() - slice * m_sliceChannels);
    }
    bool chooseTarget(const Tensor& result);
    bool findPlans(const CpuPackedConv& packed);
    bool findPlansOrFinish(const CpuPackedConv& packed);
    const Plan& planOf(Index window, Index slice) const
    {
        return *m_found[static_cast<std::size_t>(window * 2 + (slice == m_slices - 1 ? 1 : 0))];
    }
    void runPiece(Stream& stream, Index piece, int slot, const SlotMemory& memory,
                  const std::byte* operand, const CpuPackedConv& packed,
                  const Tensor& result) const;
    void finish(Stream& stream, Index image, const ConvWindow& window, Index slice, float* product,
                float* spare, const Tensor& result) const;

    CpuDenseMath& m_dense;
    ConvPass m_pass;
    const ConvProblem& m_p;
    const Conv2dOptions& m_options;
    bool m_isNarrow;
    ConvPlans m_plans;
    Index m_windowRows = 0, m_windows = 1; ///< most rows of a window; windows of an image
    Index m_sliceChannels = 0, m_slices = 0;
    ConvPlans::Extras m_extras;
    enum class Target { Result, ResultThenFinish, PreActivation, Slot } m_target = Target::Slot;
    std::vector<std::shared_ptr<const Plan>> m_found; ///< [window][inner or last slice]
    std::size_t m_scratchBytes = 0;
};

void WindowedConv::chooseTiles()
{
    constexpr Index kLeastPixels = 64, kLeastChannels = 64;
    const Index wanted = ceilDiv(m_dense.piecesOf(m_p.flops()), m_p.images);
    const Index pixels = resultHeight() * resultWidth();
    const Index mostWindows =
        std::clamp<Index>(pixels / kLeastPixels, 1, ceilDiv(resultHeight(), m_p.stride));
    const Index mostSlices = std::max<Index>(1, resultChannels() / kLeastChannels);
    // Every window reads its slice's weights, every slice the image: the heavier is cut first.
    const bool isHeavy = m_p.weights() > operandHeight() * operandWidth() * operandChannels();
    const Index first = std::min(wanted, isHeavy ? mostSlices : mostWindows);
    const Index second = std::clamp<Index>(wanted / first, 1, isHeavy ? mostWindows : mostSlices);
    m_windows = isHeavy ? second : first;
    const Index slices = isHeavy ? first : second;
    m_windowRows = ceilDiv(ceilDiv(resultHeight(), m_p.stride), m_windows) * m_p.stride;
    m_sliceChannels =
        slices > 1 ? ceilDiv(ceilDiv(resultChannels(), slices), 16) * 16 : resultChannels();
    m_slices = ceilDiv(resultChannels(), m_sliceChannels);
}

ConvWindow WindowedConv::windowOf(Index index) const
{
    const Index first = rowOfWindow(index), rows = rowOfWindow(index + 1) - first;
    return isForward() ? forwardWindow(m_p, first, rows) : backwardWindow(m_p, first, rows);
}

ConvShape WindowedConv::shapeOf(const ConvWindow& window, Index channels) const
{
    ConvShape shape;
    shape.padTop = window.padTop;
    shape.padBottom = window.padBottom;
    shape.rowsX = isForward() ? window.rowsIn : window.rowsOut;
    shape.rowsY = isForward() ? window.rowsOut : window.rowsIn;
    shape.channels = isForward() ? m_p.channels : channels;
    shape.outChannels = isForward() ? channels : m_p.outChannels;
    return shape;
}

std::shared_ptr<CpuPackedConv> WindowedConv::pack(Stream& stream, const Tensor& weight,
                                                  bool ownMemory)
{
    auto packed = std::make_shared<CpuPackedConv>();
    packed->problem = m_p;
    packed->isNarrow = m_isNarrow;
    for (const bool last : {false, true}) {
        const Index channels = sliceChannels(last ? m_slices - 1 : 0);
        const auto plan = m_plans.find(m_pass, shapeOf(windowOf(0), channels), {}, nullptr);
        if (!plan)
            return nullptr;
        (last ? packed->lastLayout : packed->layout) = plan->layout(1);
        packed->sliceBytes = std::max(packed->sliceBytes, plan->layout(1).get_size());
    }
    if (ownMemory && !findPlans(*packed)) // the plain weights may be gone once these are used
        return nullptr;
    packed->sliceBytes = (packed->sliceBytes + 255) / 256 * 256;
    const std::size_t bytes = packed->sliceBytes * static_cast<std::size_t>(m_slices);
    if (ownMemory) {
        packed->memory = Tensor::empty(weight.device(), {static_cast<Index>(bytes)}, DType::U8);
        packed->data = static_cast<std::byte*>(packed->memory.data());
    } else {
        packed->owned = m_dense.workspace(stream, bytes);
        packed->data = static_cast<std::byte*>(packed->owned.get());
    }

    std::shared_ptr<void> copy;
    const float* plain = asFloats(m_dense, stream, weight, copy);
    const Index taps = m_p.taps();
    const Index outStride = taps * m_p.channels;
    const Index inStride = isNhwc() ? 1 : taps;
    const Index channelStride = isForward() ? outStride : inStride;
    std::shared_ptr<const Plan> reorders[2];
    std::size_t scratchBytes = 0;
    for (const bool last : {false, true}) {
        const Index channels = sliceChannels(last ? m_slices - 1 : 0);
        reorders[last] = m_plans.findReorder(
            isForward() ? channels : m_p.outChannels, isForward() ? m_p.channels : channels,
            last ? packed->lastLayout : packed->layout, false, false);
        scratchBytes = std::max(scratchBytes, reorders[last]->scratchBytes());
    }
    const SlotMemory memory(m_dense, stream, m_slices, scratchBytes, 0);
    m_dense.forPieces(m_slices, [&](Index slice, int slot) {
        void* const pointers[] = {
            const_cast<float*>(plain + slice * m_sliceChannels * channelStride),
            packed->data + static_cast<std::size_t>(slice) * packed->sliceBytes};
        reorders[slice == m_slices - 1]->run(pointers, memory.scratch(slot));
    });
    return packed;
}

bool WindowedConv::chooseTarget(const Tensor& result)
{
    const Tensor* residual = m_options.residual;
    const bool isNarrow = m_isNarrow && result.dtype() == DType::BF16;
    const bool isDirect =
        !isForward() || (m_options.activation == Activation::None && !m_options.preActivation);
    if (!isNhwc() || m_slices > 1 || !(result.dtype() == DType::F32 || (isNarrow && isDirect))) {
        m_target = Target::Slot;
    } else if (isDirect) {
        m_target = Target::Result;
        m_extras.narrowResult = isNarrow;
        m_extras.bias = isForward() && m_options.bias;
        m_extras.narrowBias = m_extras.bias && m_options.bias->dtype() == DType::BF16;
        m_extras.sum = isForward() && residual && residual->data() == result.data();
        m_extras.addend = isForward() && residual && !m_extras.sum;
    } else if (m_options.preActivation) {
        m_target = Target::PreActivation;
    } else {
        m_target =
            residual && residual->data() == result.data() ? Target::Slot : Target::ResultThenFinish;
    }
    return true;
}

bool WindowedConv::findPlans(const CpuPackedConv& packed)
{
    m_found.assign(static_cast<std::size_t>(m_windows * 2), nullptr);
    for (Index window = 0; window < m_windows; ++window) {
        for (const bool last : {false, true}) {
            if (!last && m_slices == 1)
                continue;
            const Index channels = sliceChannels(last ? m_slices - 1 : 0);
            auto plan = m_plans.find(m_pass, shapeOf(windowOf(window), channels), m_extras,
                                     last ? &packed.lastLayout : &packed.layout);
            if (!plan)
                return false;
            m_scratchBytes = std::max(m_scratchBytes, plan->scratchBytes());
            m_found[static_cast<std::size_t>(window * 2 + (last ? 1 : 0))] = std::move(plan);
        }
    }
    return true;
}

/// Not every processor has a convolution that takes these weights and adds what is to be added; it
/// is then added afterwards.
bool WindowedConv::findPlansOrFinish(const CpuPackedConv& packed)
{
    if (findPlans(packed))
        return true;
    if (!m_extras.bias && !m_extras.sum && !m_extras.addend && !m_extras.narrowResult)
        return false;
    m_target = m_extras.sum || m_extras.narrowResult ? Target::Slot : Target::ResultThenFinish;
    m_extras = {};
    return findPlans(packed);
}

void WindowedConv::finish(Stream& stream, Index image, const ConvWindow& window, Index slice,
                          float* product, float* spare, const Tensor& result) const
{
    const Index channels = sliceChannels(slice), firstChannel = slice * m_sliceChannels;
    const Index pixels = window.rowsOut * resultWidth(),
                firstPixel = window.firstOut * resultWidth();
    const Index imagePixels = resultHeight() * resultWidth();
    const bool isInPlace = m_target != Target::Slot;
    TileFinish tile;
    tile.product = product;
    tile.productStride = isInPlace ? resultChannels() : channels;
    tile.rows = pixels;
    tile.columns = channels;
    tile.type = result.dtype();
    Index first = image * imagePixels * resultChannels();
    if (isNhwc()) {
        first += firstPixel * resultChannels() + firstChannel;
        tile.yStride = resultChannels();
    } else {
        first += firstChannel * imagePixels + firstPixel;
        tile.yStride = imagePixels;
        copyTile(stream, {product, channels, DType::F32, pixels, channels, spare, pixels, true});
        tile.product = spare;
        tile.productStride = pixels;
        tile.rows = channels;
        tile.columns = pixels;
        tile.biasPerRow = true;
    }
    tile.residualStride = tile.preActivationStride = tile.yStride;
    tile.y = at(result, first);
    if (isForward()) {
        if (m_options.bias) {
            tile.bias = at(*m_options.bias, firstChannel);
            tile.biasType = m_options.bias->dtype();
        }
        tile.residual = m_options.residual ? at(*m_options.residual, first) : nullptr;
        tile.preActivation =
            m_options.preActivation ? at(*m_options.preActivation, first) : nullptr;
        tile.activation = m_options.activation;
    }
    finishTile(stream, tile);
}

void WindowedConv::runPiece(Stream& stream, Index piece, int slot, const SlotMemory& memory,
                            const std::byte* operand, const CpuPackedConv& packed,
                            const Tensor& result) const
{
    // Slice by slice, so that its weights stay in cache.
    const Index windowIndex = piece % m_windows, image = piece / m_windows % m_p.images;
    const Index slice = piece / m_windows / m_p.images;
    const ConvWindow window = windowOf(windowIndex);
    const Index operandAt =
        (image * operandHeight() + window.firstIn) * operandWidth() * operandChannels();
    const Index resultAt =
        (image * resultHeight() + window.firstOut) * resultWidth() * resultChannels();
    float* tile = memory.tile(slot);
    void* product = tile;
    if (m_target == Target::Result || m_target == Target::ResultThenFinish)
        product = at(result, resultAt);
    else if (m_target == Target::PreActivation)
        product = at(*m_options.preActivation, resultAt);

    std::array<void*, Plan::kMostArguments> pointers = {
        const_cast<std::byte*>(operand + operandAt * operandBytes()),
        packed.data + static_cast<std::size_t>(slice) * packed.sliceBytes, product};
    std::size_t count = 3;
    if (m_extras.bias)
        pointers[count++] = m_options.bias->data();
    if (m_extras.addend)
        pointers[count++] = at(*m_options.residual, resultAt);
    planOf(windowIndex, slice)
        .run(std::span<void* const>(pointers.data(), count), memory.scratch(slot));
    if (m_target != Target::Result)
        finish(stream, image, window, slice, static_cast<float*>(product),
               tile + m_windowRows * resultWidth() * m_sliceChannels, result);
}

bool WindowedConv::run(Stream& stream, const Tensor& operand, const Tensor& weight,
                       const Tensor& result)
{
    chooseTarget(result);
    std::shared_ptr<const CpuPackedConv> packed;
    if (m_options.packed && isForward())
        packed = std::static_pointer_cast<const CpuPackedConv>(
            std::shared_ptr<const PackedWeight>(std::shared_ptr<void>(), m_options.packed));
    else
        packed = pack(stream, weight, false);
    if (!packed || !findPlansOrFinish(*packed))
        return false;
    std::shared_ptr<void> copy;
    const void* images =
        m_isNarrow ? operand.data()
                   : asNhwcFloats(m_dense, stream, operand, m_p, operandHeight() * operandWidth(),
                                  operandChannels(), copy);
    const std::size_t tileElements =
        m_target == Target::Slot
            ? static_cast<std::size_t>(m_windowRows * resultWidth() * m_sliceChannels) *
                  (isNhwc() ? 1 : 2)
            : 0;
    const Index pieces = m_p.images * m_windows * m_slices;
    const SlotMemory memory(m_dense, stream, pieces, m_scratchBytes, tileElements * sizeof(float));
    const Index tasks = std::min(pieces, m_dense.piecesOf(m_p.flops()));
    m_dense.forPieces(tasks, [&](Index task, int slot) {
        for (Index piece = task * pieces / tasks; piece < (task + 1) * pieces / tasks; ++piece)
            runPiece(stream, piece, slot, memory, static_cast<const std::byte*>(images), *packed,
                     result);
    });
    return true;
}

/// By windows, in BF16 where that is fast; false where oneDNN has nothing fast.
bool runWindowed(CpuDenseMath& dense, Stream& stream, ConvPass pass, const ConvProblem& p,
                 const Tensor& operand, const Tensor& weight, const Tensor& result,
                 const Conv2dOptions& options)
{
    const auto* packed =
        pass == ConvPass::Forward ? dynamic_cast<const CpuPackedConv*>(options.packed) : nullptr;
    for (const bool isNarrow : {true, false}) {
        if ((isNarrow && !canBeNarrow(dense, p)) || (packed && packed->isNarrow != isNarrow))
            continue;
        if (WindowedConv(dense, pass, p, options, isNarrow).run(stream, operand, weight, result))
            return true;
    }
    return false;
}

void checkPacked(const ConvProblem& p, const Conv2dOptions& options)
{
    if (!options.packed)
        return;
    bool fits = false;
    if (p.isPointwise() && p.layout == ImageLayout::Nhwc) {
        const auto* packed = dynamic_cast<const CpuPackedLinear*>(options.packed);
        fits = packed && packed->columns() == p.outChannels && packed->depth() == p.channels;
    } else if (const auto* packed = dynamic_cast<const CpuPackedConv*>(options.packed)) {
        const ConvProblem& q = packed->problem;
        fits = q.images == p.images && q.channels == p.channels && q.height == p.height &&
               q.width == p.width && q.outChannels == p.outChannels &&
               q.kernelHeight == p.kernelHeight && q.kernelWidth == p.kernelWidth &&
               q.stride == p.stride && q.padding == p.padding && q.layout == p.layout &&
               q.type == p.type;
    }
    if (!fits)
        throw ContractError(fmt::format("conv2d: the weights were packed for other images than "
                                        "{} of {} × {} with {} channels, or other options",
                                        p.images, p.height, p.width, p.channels));
}

} // namespace

void CpuDenseMath::conv2d(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y,
                          const Conv2dOptions& options)
{
    const ConvProblem p = describeConv(stream, "conv2d", x, w, y, options);
    expects(w.dtype() == x.dtype(), "conv2d: images and weights differ in type");
    expectResultType("conv2d", "y", x.dtype(), y.dtype());
    checkConvExtras(p, y, options);
    checkPacked(p, options);
    if (y.size() == 0)
        return;
    if (p.isPointwise() || p.channels == 0 || !ConvPlans::serves(p) ||
        !runWindowed(*this, stream, ConvPass::Forward, p, x, w, y, options))
        unfoldedConv(*this, stream, p, x, w, y, options);
}

void CpuDenseMath::conv2dBackwardData(Stream& stream, const Tensor& gradY, const Tensor& w,
                                      const Tensor& gradX, const Conv2dOptions& options)
{
    const ConvProblem p = describeConv(stream, "conv2dBackwardData", gradX, w, gradY, options);
    expects(w.dtype() == gradY.dtype(), "conv2dBackwardData: gradY and weights differ in type");
    expectResultType("conv2dBackwardData", "gradX", gradY.dtype(), gradX.dtype());
    if (gradX.size() == 0)
        return;
    ConvProblem operands = p;
    operands.type = gradY.dtype();
    if (p.isPointwise() || p.outChannels == 0 || !ConvPlans::serves(operands) ||
        !runWindowed(*this, stream, ConvPass::BackwardData, operands, gradY, w, gradX, options))
        unfoldedConvBackwardData(*this, stream, operands, gradY, w, gradX);
}

std::shared_ptr<const PackedWeight> CpuDenseMath::packConv2d(Stream& stream, const Tensor& weight,
                                                             const Shape& inputShape,
                                                             const Conv2dOptions& options)
{
    const Shape yShape = conv2dShape(inputShape, weight.shape(), options);
    const auto like = [&](const Shape& shape) {
        return Tensor::wrap(weight.device(), nullptr, shape, weight.dtype());
    };
    const ConvProblem p =
        describeConv(stream, "packConv2d", like(inputShape), weight, like(yShape), options);
    if (p.isPointwise() && p.layout == ImageLayout::Nhwc)
        return packLinear(stream, weight.reshaped({p.outChannels, p.channels}),
                          p.images * p.pixels());
    if (p.isPointwise() || p.weights() == 0 || elementCount(yShape) == 0 || !ConvPlans::serves(p))
        return nullptr;
    for (const bool isNarrow : {true, false}) {
        if (isNarrow && !canBeNarrow(*this, p))
            continue;
        if (auto packed = WindowedConv(*this, ConvPass::Forward, p, options, isNarrow)
                              .pack(stream, weight, true))
            return packed;
    }
    return nullptr;
}

} // namespace vergence
