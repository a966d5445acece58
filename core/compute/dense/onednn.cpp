#include "core/compute/dense/onednn.h"

#include <string_view>

#include "core/compute/dense/plan.h"

namespace vergence::onednn {

namespace {

#if DNNL_VERSION_MAJOR < 3

template <class Operation, class... Arguments>
typename Operation::primitive_desc described(const dnnl::primitive_attr& attributes,
                                             const Arguments&... arguments)
{
    return {typename Operation::desc(arguments...), attributes, cpuEngine()};
}

template <class Operation, class... Arguments>
typename Operation::primitive_desc derived(const dnnl::primitive_attr& attributes,
                                           const dnnl::convolution_forward::primitive_desc& hint,
                                           const Arguments&... arguments)
{
    return {typename Operation::desc(arguments...), attributes, cpuEngine(), hint};
}

#else

template <class Operation, class... Arguments>
typename Operation::primitive_desc described(const dnnl::primitive_attr& attributes,
                                             const Arguments&... arguments)
{
    return {cpuEngine(), arguments..., attributes};
}

template <class Operation, class... Arguments>
typename Operation::primitive_desc derived(const dnnl::primitive_attr& attributes,
                                           const dnnl::convolution_forward::primitive_desc& hint,
                                           const Arguments&... arguments)
{
    return {cpuEngine(), arguments..., hint, attributes};
}

#endif

} // namespace

dnnl::convolution_forward::primitive_desc forward(const Convolution& c, dnnl::prop_kind kind,
                                                  const dnnl::primitive_attr& attributes)
{
    using dnnl::convolution_forward;
    if (c.bias.is_zero())
        return described<convolution_forward>(attributes, kind, c.algorithm, c.x, c.w, c.y,
                                              c.strides, c.before, c.after);
    return described<convolution_forward>(attributes, kind, c.algorithm, c.x, c.w, c.bias, c.y,
                                          c.strides, c.before, c.after);
}

dnnl::convolution_backward_data::primitive_desc
backwardData(const Convolution& c, const dnnl::primitive_attr& attributes,
             const dnnl::convolution_forward::primitive_desc& hint)
{
    return derived<dnnl::convolution_backward_data>(attributes, hint, c.algorithm, c.x, c.w, c.y,
                                                    c.strides, c.before, c.after);
}

dnnl::convolution_backward_weights::primitive_desc
backwardWeights(const Convolution& c, const dnnl::primitive_attr& attributes,
                const dnnl::convolution_forward::primitive_desc& hint)
{
    return derived<dnnl::convolution_backward_weights>(attributes, hint, c.algorithm, c.x, c.w, c.y,
                                                       c.strides, c.before, c.after);
}

dnnl::matmul::primitive_desc product(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                     const dnnl::memory::desc& bias, const dnnl::memory::desc& y,
                                     const dnnl::primitive_attr& attributes)
{
    return bias.is_zero() ? described<dnnl::matmul>(attributes, a, b, y)
                          : described<dnnl::matmul>(attributes, a, b, bias, y);
}

void scaleAndAdd(dnnl::primitive_attr& attributes, dnnl::post_ops& post, float scale, float kept)
{
#if DNNL_VERSION_MAJOR < 3
    if (scale != 1)
        attributes.set_output_scales(0, {scale});
    if (kept != 0)
        post.append_sum(kept);
#else
    // A sum behind another operation reads what is not y in oneDNN 3.7 without AVX2.
    static_cast<void>(attributes);
    if (kept != 0)
        post.append_sum(kept / scale);
    if (scale != 1)
        post.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0);
#endif
}

dnnl::memory::dims extents(const dnnl::memory::desc& layout)
{
#if DNNL_VERSION_MAJOR < 3
    return layout.dims();
#else
    return layout.get_dims();
#endif
}

std::size_t layoutNumber(const dnnl::memory::desc& layout)
{
#if DNNL_VERSION_MAJOR < 3
    // The C structure is filled from zeros by oneDNN, so equal layouts have equal bytes.
    const std::string_view bytes(reinterpret_cast<const char*>(&layout.data), sizeof(layout.data));
    return std::hash<std::string_view>{}(bytes);
#else
    std::size_t number = static_cast<std::size_t>(layout.get_data_type());
    for (const auto& part : {layout.get_dims(), layout.get_padded_dims(), layout.get_strides(),
                             layout.get_inner_blks(), layout.get_inner_idxs()}) {
        number = number * 31 + part.size();
        for (const dnnl::memory::dim extent : part)
            number = (number ^ static_cast<std::size_t>(extent)) * 0x100000001b3;
    }
    return number;
#endif
}

} // namespace vergence::onednn
