#pragma once

#include <cstddef>

#include <oneapi/dnnl/dnnl.hpp>

/// What oneDNN 2 and oneDNN 3 say differently; everything else speaks what both understand.
namespace vergence::onednn {

/// One convolution; its derivatives are described by the same tensors.
struct Convolution {
    dnnl::algorithm algorithm;
    dnnl::memory::desc x, w, y;
    dnnl::memory::desc bias; ///< empty: none
    dnnl::memory::dims strides, before, after;
};

// All throw dnnl::error where oneDNN has no such operation.

dnnl::convolution_forward::primitive_desc forward(const Convolution& wanted, dnnl::prop_kind kind,
                                                  const dnnl::primitive_attr& attributes = {});
/// `hint` is the forward convolution that the derivative belongs to.
dnnl::convolution_backward_data::primitive_desc
backwardData(const Convolution& wanted, const dnnl::primitive_attr& attributes,
             const dnnl::convolution_forward::primitive_desc& hint);
dnnl::convolution_backward_weights::primitive_desc
backwardWeights(const Convolution& wanted, const dnnl::primitive_attr& attributes,
                const dnnl::convolution_forward::primitive_desc& hint);

/// y = a · b + bias; `bias` may be empty.
dnnl::matmul::primitive_desc product(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                     const dnnl::memory::desc& bias, const dnnl::memory::desc& y,
                                     const dnnl::primitive_attr& attributes);

/// y = `scale` · product + `kept` · y before all later post-operations, of which `post` has none
/// yet. Where `kept` is not 0, `scale` must not be.
void scaleAndAdd(dnnl::primitive_attr& attributes, dnnl::post_ops& post, float scale, float kept);

dnnl::memory::dims extents(const dnnl::memory::desc& layout);

/// Equal for equal layouts; for keys.
std::size_t layoutNumber(const dnnl::memory::desc& layout);

} // namespace vergence::onednn
