#include <algorithm>

#include "core/compute/dense/cpu_conv.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

Index ceilDiv(Index a, Index b)
{
    return (a + b - 1) / b;
}

/// Pixels that one partial sum of gradW covers at least: fewer, and adding the parts would take
/// longer than making them.
constexpr Index kLeastPixels = 1024;

/// The derivative with respect to the weights: partial sums over groups of images or of rows, which
/// depend on the shape alone, and slices of output channels.
class WeightGradient {
public:
    WeightGradient(CpuDenseMath& dense, const ConvProblem& problem)
        : m_dense(dense),
          m_p(problem),
          m_plans(dense, m_p)
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
    void runPiece(Stream& stream, Index piece, int slot, const SlotMemory& memory, const float* x,
                  const float* gradY, float* target) const;
    void addParts(Stream& stream, const float* parts, const Tensor& gradW, bool accumulate) const;
    Index partPixels() const { return m_partImages * m_windowRows * m_p.outWidth; }

    CpuDenseMath& m_dense;
    const ConvProblem& m_p;
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
    constexpr Index kMostParts = 16, kSlicePieces = 8, kLeastChannels = 32;
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
        m_packedBytes = std::max(m_packedBytes, (layout.get_size() + 255) / 256 * 256);
    }
    return true;
}

void WeightGradient::runPiece(Stream& stream, Index piece, int slot, const SlotMemory& memory,
                              const float* x, const float* gradY, float* target) const
{
    const Index slice = piece % m_slices, index = piece / m_slices;
    const bool isLast = slice == m_slices - 1;
    const Part part = partOf(index);
    const Index channels = sliceChannels(slice), firstChannel = slice * m_sliceChannels;
    const Index firstPixel = part.image * m_p.outPixels() + part.window.firstOut * m_p.outWidth;
    const Index pixels = part.images * part.window.rowsOut * m_p.outWidth;
    float* packed = memory.tile(slot);
    const float* y = gradY + firstPixel * m_p.outChannels;
    if (m_slices > 1) {
        float* narrow = packed + m_packedBytes / sizeof(float);
        copyTile(stream, {y + firstChannel, m_p.outChannels, DType::F32, pixels, channels, narrow,
                          channels, false});
        y = narrow;
    }
    const float* image =
        x + (part.image * m_p.height + part.window.firstIn) * m_p.width * m_p.channels;
    void* const pointers[] = {const_cast<float*>(image), packed, const_cast<float*>(y)};
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
    const float* images =
        asNhwcFloats(m_dense, stream, x, m_p, m_p.pixels(), m_p.channels, copies[0]);
    const float* gradients =
        asNhwcFloats(m_dense, stream, gradY, m_p, m_p.outPixels(), m_p.outChannels, copies[1]);
    float* target = static_cast<float*>(gradW.data());
    if (!isDirect) {
        copies[2] = m_dense.workspace(stream, static_cast<std::size_t>(m_parts * m_p.weights()) *
                                                  sizeof(float));
        target = static_cast<float*>(copies[2].get());
    }
    const std::size_t narrowBytes =
        m_slices > 1 ? static_cast<std::size_t>(partPixels() * m_sliceChannels) * sizeof(float) : 0;
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
        !WeightGradient(*this, p).run(stream, x, gradY, gradW, accumulate))
        unfoldedConvBackwardWeight(*this, stream, p, x, gradY, gradW, accumulate);
}

} // namespace vergence
