#include "core/compute/dense/cpu_conv.h"

#include <algorithm>
#include <cstring>

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
    WindowedConv(CpuDenseMath& dense, ConvPass pass, const ConvProblem& problem,
                 const Conv2dOptions& options, ConvKind kind)
        : m_dense(dense),
          m_pass(pass),
          m_p(problem),
          m_options(options),
          m_kind(kind),
          m_plans(dense, m_p, kind)
    {
        chooseTiles();
    }

    /// False where oneDNN has nothing fast for this problem; nothing was done then.
    bool run(Stream& stream, const Tensor& operand, const Tensor& weight, const Tensor& result);
    /// The weights in oneDNN's order, in memory of their own; null where it has nothing fast.
    std::shared_ptr<CpuPackedConv> pack(Stream& stream, const Tensor& weight)
    {
        return fitted([&](CpuPackedConv& packed) { return findPlans(packed); },
                      [&](CpuPackedConv& packed) { fill(stream, packed, weight, true); });
    }

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
        return static_cast<Index>(sizeOf(m_kind.isNarrow ? DType::BF16 : DType::F32));
    }
    /// Windows begin at multiples of it: whole strides, so that every window of a derivative sees
    /// some row, or the tiles of a Winograd convolution.
    Index rowUnit() const { return m_kind.isWinograd ? 4 : m_p.stride; }

    /// The order of weights that oneDNN wants for the first window, without memory; null where it
    /// has nothing fast.
    std::shared_ptr<CpuPackedConv> orders() const;
    /// Such an order that all windows take (`find`), of as many windows as there is one for, filled
    /// by `fill`; or null. Fewer windows rather than another algorithm: that rounds alike.
    template <class Find, class Fill>
    std::shared_ptr<CpuPackedConv> fitted(const Find& find, const Fill& fill)
    {
        for (;; setWindows(m_windows / 2)) {
            auto packed = orders();
            if (packed && find(*packed)) {
                fill(*packed);
                return packed;
            }
            if (m_windows == 1 || m_kind.isWinograd)
                return nullptr;
        }
    }
    void fill(Stream& stream, CpuPackedConv& packed, const Tensor& weight, bool ownMemory);
    void chooseTiles();
    void cut(Index windows, Index slices);
    void setWindows(Index windows);
    void chooseWinogradTiles();
    /// oneDNN's Winograd convolution wants alike windows: zeros above and below are entered.
    bool hasOwnZeros() const { return m_kind.isWinograd && m_windows > 1; }
    Index rowOfWindow(Index index) const
    {
        const Index units = ceilDiv(resultHeight(), rowUnit());
        return std::min(index * units / m_windows * rowUnit(), resultHeight());
    }
    ConvWindow windowOf(Index index) const;
    ConvShape shapeOf(const ConvWindow& window, Index channels) const;
    Index sliceChannels(Index slice) const
    {
        return std::min(m_sliceChannels, resultChannels() - slice * m_sliceChannels);
    }
    /// The weights as [Cout, Cin, kh, kw].
    const float* asPlanes(Stream& stream, const float* weights,
                          std::shared_ptr<void>& memory) const;
    bool chooseTarget(const Tensor& result);
    bool findPlans(const CpuPackedConv& packed);
    bool findPlansOrFinish(const CpuPackedConv& packed);
    /// What is done for a piece. Where the convolution has layouts of images of its own, these are
    /// copied before and after.
    struct Steps {
        std::shared_ptr<const Plan> enter, convolve, leave;
    };
    const Steps& stepsOf(Index window, Index slice) const
    {
        return m_found[static_cast<std::size_t>(window * 2 + (slice == m_slices - 1 ? 1 : 0))];
    }
    void addReorders(Steps& steps, const ConvWindow& window, Index channels);
    std::size_t resultTileBytes() const
    {
        const Index copies = m_target != Target::Slot ? 0 : isNhwc() ? 1 : 2;
        return padded(
            static_cast<std::size_t>(copies * m_windowRows * resultWidth() * m_sliceChannels) *
            sizeof(float));
    }
    bool isInPlace() const { return m_target != Target::Slot; }
    /// From one pixel to the next where a piece's product is put, in numbers.
    Index productStride(Index channels) const { return isInPlace() ? resultChannels() : channels; }
    void runPiece(Stream& stream, Index piece, int slot, const SlotMemory& memory,
                  const std::byte* operand, const CpuPackedConv& packed,
                  const Tensor& result) const;
    void finish(Stream& stream, Index image, const ConvWindow& window, Index slice, float* product,
                float* spare, const Tensor& result) const;

    CpuDenseMath& m_dense;
    ConvPass m_pass;
    const ConvProblem& m_p;
    const Conv2dOptions& m_options;
    ConvKind m_kind;
    ConvPlans m_plans;
    Index m_windowRows = 0, m_windows = 1; ///< most rows of a window; windows of an image
    Index m_sliceChannels = 0, m_slices = 0;
    ConvPlans::Extras m_extras;
    enum class Target { Result, ResultThenFinish, PreActivation, Slot } m_target = Target::Slot;
    std::vector<Steps> m_found; ///< [window][inner or last slice]
    std::size_t m_scratchBytes = 0;
    std::size_t m_enteredBytes = 0, m_leavingBytes = 0; ///< images in oneDNN's own layouts
};

void WindowedConv::chooseTiles()
{
    if (m_kind.isWinograd) {
        chooseWinogradTiles();
        return;
    }
    constexpr Index kLeastPixels = 64, kLeastChannels = 64;
    const Index wanted = ceilDiv(m_dense.piecesOf(m_p.flops()), m_p.images);
    const Index pixels = resultHeight() * resultWidth();
    const Index mostWindows =
        std::clamp<Index>(pixels / kLeastPixels, 1, ceilDiv(resultHeight(), rowUnit()));
    const Index mostSlices = std::max<Index>(1, resultChannels() / kLeastChannels);
    // Every window reads its slice's weights, every slice the image: the heavier is cut first.
    const bool isHeavy = m_p.weights() > operandHeight() * operandWidth() * operandChannels();
    const Index first = std::min(wanted, isHeavy ? mostSlices : mostWindows);
    const Index second = std::clamp<Index>(wanted / first, 1, isHeavy ? mostWindows : mostSlices);
    cut(isHeavy ? second : first, isHeavy ? first : second);
}

/// By the shape alone: oneDNN takes other tiles for other pieces, which round differently.
void WindowedConv::chooseWinogradTiles()
{
    constexpr double kWorthIt = 1e7; // of cutting
    constexpr Index kWindowPixels = 1024, kFewPixels = 256, kManyChannels = 128, kMost = 16;
    const Index pixels = resultHeight() * resultWidth();
    // Low windows get small tiles, whose transformed weights are less than half as large.
    const bool isHeavy = m_p.weights() > operandHeight() * operandWidth() * operandChannels();
    if (m_p.flops() < kWorthIt * static_cast<double>(m_p.images))
        cut(1, 1);
    else if (pixels < kFewPixels && resultChannels() >= kManyChannels)
        cut(1, 2);
    else
        cut(std::min(std::clamp<Index>(pixels / kWindowPixels, isHeavy ? 4 : 2, kMost),
                     ceilDiv(resultHeight(), rowUnit())),
            1);
}

void WindowedConv::cut(Index windows, Index slices)
{
    setWindows(windows);
    m_sliceChannels =
        slices > 1 ? ceilDiv(ceilDiv(resultChannels(), slices), 16) * 16 : resultChannels();
    m_slices = ceilDiv(resultChannels(), m_sliceChannels);
}

void WindowedConv::setWindows(Index windows)
{
    m_windows = windows;
    m_windowRows = ceilDiv(ceilDiv(resultHeight(), rowUnit()), m_windows) * rowUnit();
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
    if (hasOwnZeros()) {
        shape.rowsX += window.padTop + window.padBottom;
        shape.padTop = shape.padBottom = 0;
    }
    shape.rowsY = isForward() ? window.rowsOut : window.rowsIn;
    shape.channels = isForward() ? m_p.channels : channels;
    shape.outChannels = isForward() ? channels : m_p.outChannels;
    return shape;
}

std::shared_ptr<CpuPackedConv> WindowedConv::orders() const
{
    auto packed = std::make_shared<CpuPackedConv>();
    packed->problem = m_p;
    packed->kind = m_kind;
    packed->windows = m_windows;
    for (const bool last : {false, true}) {
        const Index channels = sliceChannels(last ? m_slices - 1 : 0);
        const auto plan = m_plans.find(m_pass, shapeOf(windowOf(0), channels), {}, nullptr);
        if (!plan)
            return nullptr;
        (last ? packed->lastLayout : packed->layout) = plan->layout(1);
        packed->sliceBytes = std::max(packed->sliceBytes, plan->layout(1).get_size());
    }
    return packed;
}

void WindowedConv::fill(Stream& stream, CpuPackedConv& packed, const Tensor& weight, bool ownMemory)
{
    packed.sliceBytes = padded(packed.sliceBytes);
    const std::size_t bytes = packed.sliceBytes * static_cast<std::size_t>(m_slices);
    packed.allBytes = bytes;
    if (ownMemory) {
        packed.memory = Tensor::empty(weight.device(), {static_cast<Index>(bytes)}, DType::U8);
        packed.data = static_cast<std::byte*>(packed.memory.data());
    } else {
        packed.owned = m_dense.workspace(stream, bytes);
        packed.data = static_cast<std::byte*>(packed.owned.get());
    }

    std::shared_ptr<void> copies[2];
    const float* plain = asFloats(m_dense, stream, weight, copies[0]);
    ConvProblem source = m_p;
    if (m_kind.isWinograd && isNhwc()) { // oneDNN transforms no others than these
        plain = asPlanes(stream, plain, copies[1]);
        source.layout = ImageLayout::Nchw;
    }
    const ConvPlans plans(m_dense, source, m_kind);
    const Index taps = m_p.taps();
    const Index outStride = taps * m_p.channels;
    const Index inStride = source.layout == ImageLayout::Nhwc ? 1 : taps;
    const Index channelStride = isForward() ? outStride : inStride;
    std::shared_ptr<const Plan> reorders[2];
    std::size_t scratchBytes = 0;
    for (const bool last : {false, true}) {
        const Index channels = sliceChannels(last ? m_slices - 1 : 0);
        reorders[last] = plans.findReorder(isForward() ? channels : m_p.outChannels,
                                           isForward() ? m_p.channels : channels,
                                           last ? packed.lastLayout : packed.layout, false, false);
        scratchBytes = std::max(scratchBytes, reorders[last]->scratchBytes());
    }
    const SlotMemory memory(m_dense, stream, m_slices, scratchBytes, 0);
    m_dense.forPieces(m_slices, [&](Index slice, int slot) {
        void* const pointers[] = {
            const_cast<float*>(plain + slice * m_sliceChannels * channelStride),
            packed.data + static_cast<std::size_t>(slice) * packed.sliceBytes};
        reorders[slice == m_slices - 1]->run(pointers, memory.scratch(slot));
    });
}

const float* WindowedConv::asPlanes(Stream& stream, const float* weights,
                                    std::shared_ptr<void>& memory) const
{
    memory = m_dense.workspace(stream, static_cast<std::size_t>(m_p.weights()) * sizeof(float));
    const dnnl::memory::desc planes(
        {m_p.outChannels, m_p.channels, m_p.kernelHeight, m_p.kernelWidth},
        dnnl::memory::data_type::f32, dnnl::memory::format_tag::oihw);
    const auto plan = m_plans.findReorder(m_p.outChannels, m_p.channels, planes, false, false);
    const SlotMemory scratch(m_dense, stream, 1, plan->scratchBytes(), 0);
    void* const pointers[] = {const_cast<float*>(weights), memory.get()};
    const OnThisThread single;
    plan->run(pointers, scratch.scratch(0));
    return static_cast<const float*>(memory.get());
}

bool WindowedConv::chooseTarget(const Tensor& result)
{
    const Tensor* residual = m_options.residual;
    const bool isNarrow = m_kind.isNarrow && result.dtype() == DType::BF16;
    const bool isDirect =
        !isForward() || (m_options.activation == Activation::None && !m_options.preActivation &&
                         !(m_kind.isWinograd && residual));
    // A direct convolution writes all channels of its pixels.
    const bool isSliced = m_slices > 1 && !m_kind.isWinograd;
    if (!isNhwc() || isSliced || !(result.dtype() == DType::F32 || (isNarrow && isDirect))) {
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
    m_found.assign(static_cast<std::size_t>(m_windows * 2), {});
    for (Index window = 0; window < m_windows; ++window) {
        for (const bool last : {false, true}) {
            if (!last && m_slices == 1)
                continue;
            const Index channels = sliceChannels(last ? m_slices - 1 : 0);
            Steps& steps = m_found[static_cast<std::size_t>(window * 2 + (last ? 1 : 0))];
            steps.convolve = m_plans.find(m_pass, shapeOf(windowOf(window), channels), m_extras,
                                          last ? &packed.lastLayout : &packed.layout);
            if (!steps.convolve)
                return false;
            m_scratchBytes = std::max(m_scratchBytes, steps.convolve->scratchBytes());
            if (m_kind.isWinograd)
                addReorders(steps, windowOf(window), channels);
        }
    }
    return true;
}

void WindowedConv::addReorders(Steps& steps, const ConvWindow& window, Index channels)
{
    const auto &operand = steps.convolve->layout(0), &result = steps.convolve->layout(2);
    const Index above = hasOwnZeros() ? window.padTop : 0;
    const auto rows = operand.submemory_desc({1, operandChannels(), window.rowsIn, operandWidth()},
                                             {0, 0, above, 0});
    steps.enter = m_plans.findImageReorder(rows, operandChannels(), false);
    steps.leave = m_plans.findImageReorder(result, productStride(channels), true);
    m_scratchBytes =
        std::max({m_scratchBytes, steps.enter->scratchBytes(), steps.leave->scratchBytes()});
    m_enteredBytes = std::max(m_enteredBytes, padded(operand.get_size()));
    m_leavingBytes = std::max(m_leavingBytes, padded(result.get_size()));
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
    TileFinish tile;
    tile.product = product;
    tile.productStride = productStride(channels);
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
        (image * resultHeight() + window.firstOut) * resultWidth() * resultChannels() +
        slice * m_sliceChannels;
    float* tile = memory.tile(slot);
    void* product = tile;
    if (m_target == Target::Result || m_target == Target::ResultThenFinish)
        product = at(result, resultAt);
    else if (m_target == Target::PreActivation)
        product = at(*m_options.preActivation, resultAt);

    const Steps& steps = stepsOf(windowIndex, slice);
    std::array<void*, Plan::kMostArguments> pointers = {
        const_cast<std::byte*>(operand + operandAt * operandBytes()),
        packed.data + static_cast<std::size_t>(slice) * packed.sliceBytes, product};
    if (steps.enter) {
        std::byte* entered = reinterpret_cast<std::byte*>(tile) + resultTileBytes();
        if (hasOwnZeros() && window.padTop + window.padBottom > 0)
            std::memset(entered, 0, m_enteredBytes);
        void* const images[] = {pointers[0], entered};
        steps.enter->run(images, memory.scratch(slot));
        pointers[0] = entered;
        pointers[2] = entered + m_enteredBytes;
    }
    std::size_t count = 3;
    if (m_extras.bias)
        pointers[count++] = at(*m_options.bias, slice * m_sliceChannels);
    if (m_extras.addend)
        pointers[count++] = at(*m_options.residual, resultAt);
    steps.convolve->run(std::span<void* const>(pointers.data(), count), memory.scratch(slot));
    if (steps.leave) {
        void* const images[] = {pointers[2], product};
        steps.leave->run(images, memory.scratch(slot));
    }
    if (m_target != Target::Result)
        finish(stream, image, window, slice, static_cast<float*>(product),
               tile + m_windowRows * resultWidth() * m_sliceChannels, result);
}

bool WindowedConv::run(Stream& stream, const Tensor& operand, const Tensor& weight,
                       const Tensor& result)
{
    const auto findAll = [&](const CpuPackedConv& packed) {
        chooseTarget(result);
        return findPlansOrFinish(packed);
    };
    std::shared_ptr<const CpuPackedConv> packed;
    if (m_options.packed && isForward()) {
        packed = std::static_pointer_cast<const CpuPackedConv>(
            std::shared_ptr<const PackedWeight>(std::shared_ptr<void>(), m_options.packed));
        setWindows(packed->windows);
        if (!findAll(*packed))
            return false;
    } else {
        packed = fitted(findAll, [&](CpuPackedConv& made) { fill(stream, made, weight, false); });
        if (!packed)
            return false;
    }
    std::shared_ptr<void> copy;
    const void* images =
        m_kind.isNarrow ? operand.data()
                        : asNhwcFloats(m_dense, stream, operand, m_p,
                                       operandHeight() * operandWidth(), operandChannels(), copy);
    const Index pieces = m_p.images * m_windows * m_slices;
    const SlotMemory memory(m_dense, stream, pieces, m_scratchBytes,
                            resultTileBytes() + m_enteredBytes + m_leavingBytes);
    const Index tasks = std::min(pieces, m_dense.piecesOf(m_p.flops()));
    m_dense.forPieces(tasks, [&](Index task, int slot) {
        for (Index piece = task * pieces / tasks; piece < (task + 1) * pieces / tasks; ++piece)
            runPiece(stream, piece, slot, memory, static_cast<const std::byte*>(images), *packed,
                     result);
    });
    return true;
}

/// By windows, in BF16 where that is fast, with packed weights as these are; false where oneDNN has
/// nothing fast.
bool runWindowed(CpuDenseMath& dense, Stream& stream, ConvPass pass, const ConvProblem& p,
                 const Tensor& operand, const Tensor& weight, const Tensor& result,
                 const Conv2dOptions& options)
{
    const auto* packed =
        pass == ConvPass::Forward ? dynamic_cast<const CpuPackedConv*>(options.packed) : nullptr;
    if (packed)
        return WindowedConv(dense, pass, p, options, packed->kind)
            .run(stream, operand, weight, result);
    for (const bool isNarrow : {true, false}) {
        if (isNarrow && !canBeNarrow(dense, p))
            continue;
        if (WindowedConv(dense, pass, p, options, {.isNarrow = isNarrow})
                .run(stream, operand, weight, result))
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
    if (p.isPointwise() && options.algorithm != ConvAlgorithm::Direct)
        return nullptr;
    if (p.isPointwise() && p.layout == ImageLayout::Nhwc)
        return packLinear(stream, weight.reshaped({p.outChannels, p.channels}),
                          p.images * p.pixels());
    if (p.isPointwise() || p.weights() == 0 || elementCount(yShape) == 0 || !ConvPlans::serves(p))
        return nullptr;
    const auto packedAs = [&](ConvKind kind) {
        return WindowedConv(*this, ConvPass::Forward, p, options, kind).pack(stream, weight);
    };
    if (options.algorithm == ConvAlgorithm::Winograd)
        return packedAs({.isWinograd = true});
    if (canBeNarrow(*this, p)) {
        if (auto packed = packedAs({.isNarrow = true}))
            return packed;
    }
    return packedAs({});
}

} // namespace vergence
