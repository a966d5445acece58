#include <algorithm>

#include "core/compute/dense/cpu_conv.h"
#include "core/compute/dense/onednn.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;

/// Weights [Cout, Cin, kh, kw] as oneDNN counts them, lying in a larger dense array of `inner`
/// input channels per tap (Nhwc) or in all.
memory::desc plainWeights(const ConvProblem& p, Index outChannels, Index channels, Index inner)
{
    const memory::dims extents = {outChannels, channels, p.kernelHeight, p.kernelWidth};
    const Index taps = p.taps();
    if (p.layout == ImageLayout::Nhwc)
        return {extents, kF32, memory::dims{taps * inner, 1, p.kernelWidth * inner, inner}};
    return {extents, kF32, memory::dims{taps * inner, taps, p.kernelWidth, 1}};
}

std::shared_ptr<const Plan> makeReorder(const memory::desc& from, const memory::desc& to,
                                        bool accumulate)
{
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops post;
    if (accumulate)
        post.append_sum(1);
    attributes.set_post_ops(post);
    const dnnl::reorder::primitive_desc found(cpuEngine(), from, cpuEngine(), to, attributes);
    const Plan::Argument arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return std::make_shared<const Plan>(dnnl::reorder(found), arguments,
                                        found.scratchpad_desc().get_size());
}

enum KeyKind : std::int64_t { kConv = 2, kReorder = 3, kImageReorder = 4 };

} // namespace

ConvWindow forwardWindow(const ConvProblem& p, Index first, Index rows)
{
    ConvWindow window;
    window.firstOut = first;
    window.rowsOut = rows;
    const Index above = first * p.stride - p.padding;
    const Index below = (first + rows - 1) * p.stride - p.padding + p.kernelHeight;
    window.firstIn = std::max<Index>(0, above);
    window.rowsIn = std::min(p.height, below) - window.firstIn;
    window.padTop = window.firstIn - above;
    window.padBottom = std::max<Index>(0, below - p.height);
    return window;
}

ConvWindow backwardWindow(const ConvProblem& p, Index first, Index rows)
{
    ConvWindow window;
    window.firstOut = first;
    window.rowsOut = rows;
    const Index reach = first + p.padding - p.kernelHeight + 1;
    window.firstIn = reach > 0 ? ceilDiv(reach, p.stride) : 0;
    const Index last = std::min(p.outHeight, (first + rows - 1 + p.padding) / p.stride + 1);
    window.rowsIn = last - window.firstIn;
    window.padTop = first + p.padding - window.firstIn * p.stride;
    window.padBottom =
        std::max<Index>(0, (window.rowsIn - 1) * p.stride + p.kernelHeight - window.padTop - rows);
    return window;
}

bool canBeNarrow(const CpuDenseMath& dense, const ConvProblem& p)
{
    return p.type == DType::BF16 && p.layout == ImageLayout::Nhwc && dense.multipliesBf16();
}

bool ConvPlans::serves(const ConvProblem& p)
{
    const Index smallest = std::min(p.kernelHeight, p.kernelWidth);
    // oneDNN 2.6 computes few input channels wrongly with SSE4.1 alone.
    const bool isRight = dnnl::get_effective_cpu_isa() != dnnl::cpu_isa::sse41;
    return isRight && p.type != DType::F64 && p.padding < smallest && p.stride <= smallest;
}

std::shared_ptr<const Plan> ConvPlans::make(ConvPass pass, const ConvShape& s, Extras extras,
                                            const memory::desc* weights) const
{
    const OnThisThread single;
    const auto nhwc = memory::format_tag::nhwc;
    const auto images = m_isWinograd ? memory::format_tag::any : nhwc;
    const auto typeOf = [](bool isNarrow) { return isNarrow ? memory::data_type::bf16 : kF32; };
    const auto resultType = typeOf(extras.narrowResult);
    const auto xType = pass == ConvPass::BackwardData ? resultType : m_operandType;
    const auto yType = pass == ConvPass::Forward ? resultType : m_operandType;
    const memory::desc x({s.images, s.channels, s.rowsX, m_p.width}, xType, images);
    const memory::desc y({s.images, s.outChannels, s.rowsY, m_p.outWidth}, yType, images);
    const memory::dims kernels = {s.outChannels, s.channels, m_p.kernelHeight, m_p.kernelWidth};
    const auto wType = pass == ConvPass::BackwardWeight ? kF32 : m_operandType;
    const memory::desc w =
        weights ? *weights : memory::desc(kernels, wType, memory::format_tag::any);
    const memory::desc bias({s.outChannels}, typeOf(extras.narrowBias), memory::format_tag::a);
    const memory::dims strides = {m_p.stride, m_p.stride};
    const Index right = (m_p.outWidth - 1) * m_p.stride + m_p.kernelWidth - m_p.width - m_p.padding;
    const memory::dims before = {s.padTop, m_p.padding};
    const memory::dims after = {s.padBottom, std::max<Index>(0, right)};

    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    std::vector<Plan::Argument> arguments;
    const auto finish = [&](const auto& description, dnnl::primitive primitive) {
        return std::make_shared<const Plan>(std::move(primitive), arguments,
                                            description.scratchpad_desc().get_size());
    };
    const auto direct = dnnl::algorithm::convolution_direct;
    const auto algorithm = m_isWinograd ? dnnl::algorithm::convolution_winograd : direct;
    if (pass == ConvPass::Forward) {
        dnnl::post_ops post;
        if (extras.sum)
            post.append_sum(1);
        if (extras.addend)
            post.append_binary(dnnl::algorithm::binary_add, y);
        attributes.set_post_ops(post);
        const auto found = onednn::forward(
            {algorithm, x, w, y, extras.bias ? bias : memory::desc(), strides, before, after},
            dnnl::prop_kind::forward_inference, attributes);
        if (isReference(found.get()))
            return nullptr;
        arguments = {{DNNL_ARG_SRC, found.src_desc()},
                     {DNNL_ARG_WEIGHTS, found.weights_desc()},
                     {DNNL_ARG_DST, found.dst_desc()}};
        if (extras.bias)
            arguments.push_back({DNNL_ARG_BIAS, bias});
        if (extras.addend)
            arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, y});
        return finish(found, dnnl::convolution_forward(found));
    }
    // The forward convolution that the derivative belongs to, all in the operands' type.
    const memory::desc hintX({s.images, s.channels, s.rowsX, m_p.width}, m_operandType, nhwc);
    const memory::desc hintW(kernels, m_operandType, memory::format_tag::any);
    const memory::desc hintY({s.images, s.outChannels, s.rowsY, m_p.outWidth}, m_operandType, nhwc);
    const auto hint = onednn::forward({direct, hintX, hintW, hintY, {}, strides, before, after},
                                      dnnl::prop_kind::forward_training);
    const onednn::Convolution wanted{direct, x, w, y, {}, strides, before, after};
    if (pass == ConvPass::BackwardData) {
        const auto found = onednn::backwardData(wanted, attributes, hint);
        if (isReference(found.get()))
            return nullptr;
        arguments = {{DNNL_ARG_DIFF_DST, y},
                     {DNNL_ARG_WEIGHTS, found.weights_desc()},
                     {DNNL_ARG_DIFF_SRC, x}};
        return finish(found, dnnl::convolution_backward_data(found));
    }
    const auto found = onednn::backwardWeights(wanted, attributes, hint);
    if (isReference(found.get()))
        return nullptr;
    arguments = {{DNNL_ARG_SRC, x},
                 {DNNL_ARG_DIFF_WEIGHTS, found.diff_weights_desc()},
                 {DNNL_ARG_DIFF_DST, y}};
    return finish(found, dnnl::convolution_backward_weights(found));
}

std::shared_ptr<const Plan> ConvPlans::find(ConvPass pass, const ConvShape& s, Extras extras,
                                            const memory::desc* weights) const
{
    PlanKey key;
    key.values = {kConv | static_cast<std::int64_t>(pass) << 8 | std::int64_t{extras.bias} << 16 |
                      std::int64_t{extras.sum} << 17 | std::int64_t{extras.addend} << 18 |
                      std::int64_t{extras.narrowResult} << 19 |
                      std::int64_t{extras.narrowBias} << 20 | std::int64_t{m_isWinograd} << 21 |
                      static_cast<std::int64_t>(m_operandType) << 24,
                  s.images,
                  s.rowsX,
                  s.rowsY,
                  s.channels,
                  s.outChannels,
                  s.padTop,
                  s.padBottom,
                  m_p.width,
                  m_p.outWidth,
                  m_p.kernelHeight,
                  m_p.kernelWidth,
                  m_p.stride,
                  m_p.padding,
                  weights ? static_cast<std::int64_t>(onednn::layoutNumber(*weights)) : 0};
    return m_dense.plans().find(key, [&]() -> std::shared_ptr<const Plan> {
        try {
            return make(pass, s, extras, weights);
        } catch (const dnnl::error& error) {
            if (error.status == dnnl_unimplemented)
                return nullptr;
            throw;
        }
    });
}

std::shared_ptr<const Plan> ConvPlans::findReorder(Index outChannels, Index channels,
                                                   const memory::desc& packed, bool toPlain,
                                                   bool accumulate) const
{
    PlanKey key;
    key.values = {kReorder | std::int64_t{toPlain} << 8 | std::int64_t{accumulate} << 9 |
                      static_cast<std::int64_t>(m_p.layout) << 16,
                  outChannels,
                  channels,
                  m_p.channels,
                  m_p.kernelHeight,
                  m_p.kernelWidth,
                  static_cast<std::int64_t>(onednn::layoutNumber(packed))};
    return m_dense.plans().find(key, [&] {
        const OnThisThread single;
        const memory::desc plain = plainWeights(m_p, outChannels, channels, m_p.channels);
        return toPlain ? makeReorder(packed, plain, accumulate)
                       : makeReorder(plain, packed, accumulate);
    });
}

std::shared_ptr<const Plan> ConvPlans::findImageReorder(const memory::desc& layout,
                                                        Index pixelStride, bool toPlain) const
{
    PlanKey key;
    key.values = {kImageReorder | std::int64_t{toPlain} << 8, pixelStride,
                  static_cast<std::int64_t>(onednn::layoutNumber(layout))};
    return m_dense.plans().find(key, [&] {
        const OnThisThread single;
        const memory::dims extents = onednn::extents(layout);
        const Index row = extents[3] * pixelStride;
        const memory::desc plain(extents, kF32, {extents[2] * row, 1, row, pixelStride});
        return toPlain ? makeReorder(layout, plain, false) : makeReorder(plain, layout, false);
    });
}

const float* asNhwcFloats(CpuDenseMath& dense, Stream& stream, const Tensor& tensor,
                          const ConvProblem& p, Index pixels, Index channels,
                          std::shared_ptr<void>& memory)
{
    if (p.layout == ImageLayout::Nhwc && tensor.dtype() == DType::F32)
        return static_cast<const float*>(tensor.data());
    memory = dense.workspace(stream, static_cast<std::size_t>(tensor.size()) * sizeof(float));
    auto* target = static_cast<float*>(memory.get());
    if (p.layout == ImageLayout::Nhwc) {
        dense.widen(stream, tensor.data(), tensor.dtype(), p.images * pixels, channels, channels,
                    target);
        return target;
    }
    const Index atOnce = std::max<Index>(16, 16384 / channels / 16 * 16); // pixels
    const Index runs = ceilDiv(pixels, atOnce);
    dense.forPieces(p.images * runs, [&](Index piece, int) {
        const Index image = piece / runs, first = piece % runs * atOnce;
        TileCopy copy;
        copy.source =
            static_cast<const std::byte*>(tensor.data()) +
            (image * channels * pixels + first) * static_cast<Index>(sizeOf(tensor.dtype()));
        copy.sourceStride = pixels;
        copy.type = tensor.dtype();
        copy.rows = channels;
        copy.columns = std::min(atOnce, pixels - first);
        copy.target = target + (image * pixels + first) * channels;
        copy.targetStride = channels;
        copy.transpose = true;
        copyTile(stream, copy);
    });
    return target;
}

const float* asFloats(CpuDenseMath& dense, Stream& stream, const Tensor& tensor,
                      std::shared_ptr<void>& memory)
{
    if (tensor.dtype() == DType::F32)
        return static_cast<const float*>(tensor.data());
    memory = dense.workspace(stream, static_cast<std::size_t>(tensor.size()) * sizeof(float));
    auto* target = static_cast<float*>(memory.get());
    constexpr Index kRow = 4096;
    dense.widen(stream, tensor.data(), tensor.dtype(), tensor.size() / kRow, kRow, kRow, target);
    const Index done = tensor.size() / kRow * kRow;
    if (done < tensor.size())
        dense.widen(stream,
                    static_cast<const std::byte*>(tensor.data()) +
                        done * static_cast<Index>(sizeOf(tensor.dtype())),
                    tensor.dtype(), 1, tensor.size() - done, tensor.size() - done, target + done);
    return target;
}

} // namespace vergence
