#include "tests/support/cuda_emulation/convolutions/tensors.h"

#include <algorithm>
#include <bit>

namespace vergence::emulation::convolutions {

namespace {

std::vector<std::int64_t> denseStrides(const std::vector<std::int64_t>& e, Layout layout)
{
    if (layout == Layout::Nhwc)
        return {e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]};
    return {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
}

/// Strides of dimensions of one element say nothing.
bool isDense(const Tensor& tensor, Layout layout)
{
    const auto dense = denseStrides(tensor.extents, layout);
    for (std::size_t d = 0; d < dense.size(); ++d) {
        if (tensor.extents[d] > 1 && tensor.strides[d] != dense[d])
            return false;
    }
    return true;
}

MeaningPointer interpretTensor(const Descriptor& d)
{
    auto tensor = std::make_shared<Tensor>();
    tensor->type = d.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    tensor->extents = d.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    tensor->strides = d.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    tensor->name = d.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    tensor->alignment = d.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    tensor->isVirtual = d.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
    expectNumberType(tensor->type, "a tensor");
    const auto isPositive = [](std::int64_t number) { return number >= 1; };
    demand(std::ranges::all_of(tensor->extents, isPositive), "a dimension is below 1");
    demand(std::ranges::all_of(tensor->strides, isPositive), "a stride is below 1");
    demand(tensor->extents.size() == tensor->strides.size(),
           "there are not as many strides as dimensions");
    demand(tensor->alignment > 0 && std::has_single_bit(std::uint64_t(tensor->alignment)),
           "an alignment is no power of two");
    demand(tensor->alignment % std::int64_t(bytesOf(tensor->type)) == 0,
           "an alignment is below the bytes of an element");
    return tensor;
}

} // namespace

const Kind kTensorKind = {
    CUDNN_BACKEND_TENSOR_DESCRIPTOR,
    "a tensor",
    {{CUDNN_ATTR_TENSOR_DATA_TYPE, "the type", CUDNN_TYPE_DATA_TYPE, AttributeRule::Required, 1},
     {CUDNN_ATTR_TENSOR_DIMENSIONS, "the dimensions", CUDNN_TYPE_INT64, AttributeRule::Required,
      CUDNN_DIM_MAX},
     {CUDNN_ATTR_TENSOR_STRIDES, "the strides", CUDNN_TYPE_INT64, AttributeRule::Required,
      CUDNN_DIM_MAX},
     {CUDNN_ATTR_TENSOR_UNIQUE_ID, "the unique id", CUDNN_TYPE_INT64, AttributeRule::Required, 1},
     {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, "the alignment", CUDNN_TYPE_INT64, AttributeRule::Required,
      1},
     {CUDNN_ATTR_TENSOR_IS_VIRTUAL, "whether it is virtual", CUDNN_TYPE_BOOLEAN,
      AttributeRule::Optional, 1}},
    interpretTensor};

std::int64_t Tensor::elements() const
{
    std::int64_t product = 1;
    for (const std::int64_t extent : extents)
        product *= extent;
    return product;
}

std::size_t Tensor::bytes() const
{
    std::int64_t last = 0;
    for (std::size_t d = 0; d < extents.size(); ++d)
        last += (extents[d] - 1) * strides[d];
    return static_cast<std::size_t>(last + 1) * bytesOf(type);
}

Layout Tensor::layout() const
{
    if (extents.size() != 4)
        return Layout::Other;
    const bool nchw = isDense(*this, Layout::Nchw), nhwc = isDense(*this, Layout::Nhwc);
    if (nchw && nhwc)
        return Layout::Either;
    return nchw ? Layout::Nchw : nhwc ? Layout::Nhwc : Layout::Other;
}

bool Tensor::isSameAs(const Tensor& other) const
{
    return type == other.type && extents == other.extents && strides == other.strides &&
           name == other.name && alignment == other.alignment && isVirtual == other.isVirtual;
}

std::size_t bytesOf(cudnnDataType_t type)
{
    return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

bool has16Bits(cudnnDataType_t type)
{
    return type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

void expectNumberType(cudnnDataType_t type, const char* what)
{
    demand(type >= CUDNN_DATA_FLOAT && type <= CUDNN_DATA_COMPLEX_FP64,
           std::string("the type of ") + what + " is none");
    demand(type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || has16Bits(type),
           CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
           std::string("the type of ") + what + " is not emulated");
}

} // namespace vergence::emulation::convolutions
