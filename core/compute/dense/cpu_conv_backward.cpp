#include <algorithm>
#include <cstring>

#include "core/compute/dense/cpu_conv.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

/// Pixels that one partial sum of gradW covers at least: fewer, and adding the parts would take
/// longer than making them.
constexpr Index kLeastPixels = 1024;

/// The derivative with respect to the weights: partial sums over groups of images or of rows, which
/// depend on the shape alone, and slices of output channels.
class WeightGradient {
public:
    /// `isNarrow`: BF16 operands are multiplied as such, see canBeNarrow(); otherwise in F32.
    WeightGradient(CpuDenseMath& dense, const ConvProblem& problem, bool isNarrow)
        : m_dense(dense),
          m_p(problem),
          m_isNarrow(isNarrow),
          m_plans(dense, m_p, {.isNarrow = isNarrow})
    {
        chooseTiles();
    }

    /// False where oneDNN has nothing fast for this problem; nothing was done then.
    bool run(Stream& stream, const Tensor& x, const Tensor& gradY, const Tensor& gradW,
             bool accumulate);

private:
    struct Part {
        Index image = 0, images = 1;
        ConvWindow window;
    };

    void chooseTiles();
    Part partOf(Index index) const;
    ConvShape shapeOf(const Part& part, Index channels) const;
    Index sliceChannels(Index slice) const
    {
        return std::min(m_sliceChannels, m_p.outChannels - slice * m_sliceChannels);
    }
    bool findPlans(bool accumulate);
    void runPiece(Stream& stream, Index piece, int slot, const SlotMemory& memory,
                  const std::byte* x, const std::byte* gradY, float* target) const;
    /// Some neighbouring channels of [pixels, Cout], dense in themselves.
    void copyChannels(Stream& stream, const std::byte* from, Index pixels, Index channels,
                      std::byte* to) const;
    std::size_t operandBytes() const { return m_isNarrow ? sizeof(BFloat16) : sizeof(float); }
    void addParts(Stream& stream, const float* parts, const Tensor& gradW, bool accumulate) const;
    Index partPixels() const { return m_partImages * m_windowRows * m_p.outWidth; }

    CpuDenseMath& m_dense;
    const ConvProblem& m_p;
    bool m_isNarrow;
    ConvPlans m_plans;
    Index m_partImages = 1;                ///< images of a part
    Index m_windowRows = 0, m_windows = 1; ///< of y in a part, where an image has several
    Index m_parts = 1;
    Index m_sliceChannels = 0, m_slices = 1;
    std::vector<std::shared_ptr<const Plan>> m_found; ///< [part][inner or last slice]
    std::shared_ptr<const Plan> m_toPlain[2];
    std::size_t m_scratchBytes = 0, m_packedBytes = 0;
};

void WeightGradient::chooseTiles()
{
    constexpr Index kMostParts = 16;
    // Slices of BF16 are copied while they are multiplied in half the time: fewer, larger ones.
    const Index kSlicePieces = m_isNarrow ? 4 : 8, kLeastChannels = m_isNarrow ? 64 : 32;
    const Index pixels = m_p.images * m_p.outPixels();
    const Index wanted = std::clamp<Index>(pixels / kLeastPixels, 1, kMostParts);
    if (m_p.images >= wanted) {
        m_partImages = ceilDiv(m_p.images, wanted);
        m_windowRows = m_p.outHeight;
        m_parts = ceilDiv(m_p.images, m_partImages);
    } else {
        m_windowRows = ceilDiv(m_p.outHeight, ceilDiv(wanted, m_p.images));
        m_windows = ceilDiv(m_p.outHeight, m_windowRows);
        m_parts = m_p.images * m_windows;
    }
    const Index slices =
        std::clamp<Index>(std::min(ceilDiv(kSlicePieces, m_parts), m_dense.piecesOf(m_p.flops())),
                          1, std::max<Index>(1, m_p.outChannels / kLeastChannels));
    m_sliceChannels =
        slices > 1 ? ceilDiv(ceilDiv(m_p.outChannels, slices), 16) * 16 : m_p.outChannels;
    m_slices = ceilDiv(m_p.outChannels, m_sliceChannels);
}

WeightGradient::Part WeightGradient::partOf(Index index) const
{
    Part part;
    const Index window = index % m_windows;
    part.image = index / m_windows * m_partImages;
    part.images = std::min(m_partImages, m_p.images - part.image);
    const Index first = window * m_windowRows;
    part.window = forwardWindow(m_p, first, std::min(m_windowRows, m_p.outHeight - first));
    return part;
}

ConvShape WeightGradient::shapeOf(const Part& part, Index channels) const
{
    const ConvWindow& w = part.window;
    // Several images lie one after another only with all their rows, also those that no kernel
    // reaches.
    const Index rowsX = m_windows == 1 ? m_p.height : w.rowsIn;
    return {part.images, rowsX, w.rowsOut, m_p.channels, channels, w.padTop, w.padBottom};
}

bool WeightGradient::findPlans(bool accumulate)
{
    m_found.assign(static_cast<std::size_t>(m_parts * 2), nullptr);
    for (const bool last : {true, false}) {
        if (!last && m_slices == 1)
            continue;
        const Index channels = sliceChannels(last ? m_slices - 1 : 0);
        dnnl::memory::desc layout;
        for (Index part = 0; part < m_parts; ++part) {
            auto plan = m_plans.find(ConvPass::BackwardWeight, shapeOf(partOf(part), channels), {},
                                     part == 0 ? nullptr : &layout);
            if (!plan)
                return false;
            if (part == 0)
                layout = plan->layout(1);
            m_scratchBytes = std::max(m_scratchBytes, plan->scratchBytes());
            m_found[static_cast<std::size_t>(part * 2 + (last ? 1 : 0))] = std::move(plan);
        }
        m_toPlain[last] = m_plans.findReorder(channels, m_p.channels, layout, true, accumulate);
        m_scratchBytes = std::max(m_scratchBytes, m_toPlain[last]->scratchBytes());
        m_packedBytes = std::max(m_packedBytes, padded(layout.get_size()));
    }
    return true;
}

void WeightGradient::copyChannels(Stream& stream, const std::byte* from, Index pixels,
                                  Index channels, std::byte* to) const
{
    if (!m_isNarrow) {
        copyTile(stream, {from, m_p.outChannels, DType::F32, pixels, channels,
                          reinterpret_cast<float*>(to), channels, false});
        return;
    }
    const auto run = static_cast<std::size_t>(channels) * sizeof(BFloat16);
    for (Index pixel = 0; pixel < pixels; ++pixel)
        std::memcpy(to + static_cast<std::size_t>(pixel) * run,
                    from + static_cast<std::size_t>(pixel * m_p.outChannels) * sizeof(BFloat16),
                    run);
}

void WeightGradient::runPiece(Stream& stream, Index piece, int slot, const SlotMemory& memory,
                              const std::byte* x, const std::byte* gradY, float* target) const
{
    const auto bytes = static_cast<Index>(operandBytes());
    const Index slice = piece % m_slices, index = piece / m_slices;
    const bool isLast = slice == m_slices - 1;
    const Part part = partOf(index);
    const Index channels = sliceChannels(slice), firstChannel = slice * m_sliceChannels;
    const Index firstPixel = part.image * m_p.outPixels() + part.window.firstOut * m_p.outWidth;
    const Index pixels = part.images * part.window.rowsOut * m_p.outWidth;
    float* packed = memory.tile(slot);
    const std::byte* y = gradY + firstPixel * m_p.outChannels * bytes;
    if (m_slices > 1) {
        auto* slices = reinterpret_cast<std::byte*>(packed) + m_packedBytes;
        copyChannels(stream, y + firstChannel * bytes, pixels, channels, slices);
        y = slices;
    }
    const std::byte* image =
        x + (part.image * m_p.height + part.window.firstIn) * m_p.width * m_p.channels * bytes;
    void* const pointers[] = {const_cast<std::byte*>(image), packed, const_cast<std::byte*>(y)};
    m_found[static_cast<std::size_t>(index * 2 + (isLast ? 1 : 0))]->run(pointers,
                                                                         memory.scratch(slot));
    const Index row = m_p.taps() * m_p.channels;
    void* const plain[] = {packed, target + (index * m_p.outChannels + firstChannel) * row};
    m_toPlain[isLast]->run(plain, memory.scratch(slot));
}

void WeightGradient::addParts(Stream& stream, const float* parts, const Tensor& gradW,
                              bool accumulate) const
{
    const Index count = m_p.weights();
    constexpr Index kRun = 16384;
    m_dense.forPieces(ceilDiv(count, kRun), [&](Index run, int) {
        PartialSum sum;
        sum.partials = parts + run * kRun;
        sum.parts = m_parts;
        sum.stride = count;
        sum.count = std::min(kRun, count - run * kRun);
        sum.target = static_cast<std::byte*>(gradW.data()) +
                     run * kRun * static_cast<Index>(sizeOf(gradW.dtype()));
        sum.type = gradW.dtype();
        sum.accumulate = accumulate;
        sumPartials(stream, sum);
    });
}

bool WeightGradient::run(Stream& stream, const Tensor& x, const Tensor& gradY, const Tensor& gradW,
                         bool accumulate)
{
    const bool isDirect = m_parts == 1 && gradW.dtype() == DType::F32;
    if (!findPlans(isDirect && accumulate))
        return false;
    std::shared_ptr<void> copies[3];
    const auto operand = [&](const Tensor& tensor, Index pixels, Index channels,
                             std::shared_ptr<void>& copy) {
        const void* data = m_isNarrow
                               ? tensor.data()
                               : asNhwcFloats(m_dense, stream, tensor, m_p, pixels, channels, copy);
        return static_cast<const std::byte*>(data);
    };
    const std::byte* images = operand(x, m_p.pixels(), m_p.channels, copies[0]);
    const std::byte* gradients = operand(gradY, m_p.outPixels(), m_p.outChannels, copies[1]);
    float* target = static_cast<float*>(gradW.data());
    if (!isDirect) {
        copies[2] = m_dense.workspace(stream, static_cast<std::size_t>(m_parts * m_p.weights()) *
                                                  sizeof(float));
        target = static_cast<float*>(copies[2].get());
    }
    const std::size_t narrowBytes =
        m_slices > 1 ? static_cast<std::size_t>(partPixels() * m_sliceChannels) * operandBytes()
                     : 0;
    const Index pieces = m_parts * m_slices;
    const SlotMemory memory(m_dense, stream, pieces, m_scratchBytes, m_packedBytes + narrowBytes);
    m_dense.forPieces(pieces, [&](Index piece, int slot) {
        runPiece(stream, piece, slot, memory, images, gradients, target);
    });
    if (!isDirect)
        addParts(stream, target, gradW, accumulate);
    return true;
}

} // namespace

void CpuDenseMath::conv2dBackwardWeight(Stream& stream, const Tensor& x, const Tensor& gradY,
                                        const Tensor& gradW, const Tensor* gradBias,
                                        bool accumulate, const Conv2dOptions& options)
{
    const ConvProblem p = describeConv(stream, "conv2dBackwardWeight", x, gradW, gradY, options);
    checkBackwardWeight(p, x, gradY, gradW, gradBias);
    if (gradBias && p.outChannels > 0)
        convBackwardBias(*this, stream, p, gradY, *gradBias, accumulate);
    if (gradW.size() == 0)
        return;
    if (gradY.size() == 0) {
        if (!accumulate)
            stream.fillBytes(gradW.data(), 0, gradW.bytes());
        return;
    }
    if (p.isPointwise() || !ConvPlans::serves(p) ||
        !((canBeNarrow(*this, p) &&
           WeightGradient(*this, p, true).run(stream, x, gradY, gradW, accumulate)) ||
          WeightGradient(*this, p, false).run(stream, x, gradY, gradW, accumulate)))
        unfoldedConvBackwardWeight(*this, stream, p, x, gradY, gradW, accumulate);
}

} // namespace vergence
