#include "tests/support/cuda_emulation/convolutions/operations.h"

#include <algorithm>

namespace vergence::emulation::convolutions {

namespace {

using Use = AttributeRule::Use;

constexpr std::int64_t kMostSpatial = CUDNN_DIM_MAX - 2;

/// Names of the attributes of a pass.
struct PassNames {
    cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};
constexpr std::array<PassNames, 3> kPassNames = {
    {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}}};

const PassNames& namesOf(Pass pass)
{
    return kPassNames[static_cast<std::size_t>(pass)];
}

MeaningPointer interpretConvolution(const Descriptor& d)
{
    auto made = std::make_shared<Convolution>();
    const auto spatial = d.one<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
    const auto mode = d.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE);
    made->sumType = d.one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
    made->isFlipped = mode == CUDNN_CONVOLUTION;
    made->before = d.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    made->after = d.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    made->dilations = d.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
    made->strides = d.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    expectNumberType(made->sumType, "a convolution's sums");
    demand(mode == CUDNN_CONVOLUTION || mode == CUDNN_CROSS_CORRELATION,
           "the mode of a convolution is none");
    demand(spatial >= 1 && spatial <= kMostSpatial,
           "a convolution has not " + std::to_string(spatial) + " spatial dimensions");
    for (const auto* vector : {&made->before, &made->after, &made->dilations, &made->strides})
        demand(static_cast<std::int64_t>(vector->size()) == spatial,
               "paddings, dilations and strides need an element for each spatial dimension");
    for (std::size_t i = 0; i < made->strides.size(); ++i) {
        demand(made->before[i] >= 0 && made->after[i] >= 0, "a padding is negative");
        demand(made->dilations[i] >= 1 && made->strides[i] >= 1,
               "a dilation or a stride is below 1");
    }
    return made;
}

MeaningPointer interpretPointwise(const Descriptor& d)
{
    auto made = std::make_shared<Pointwise>();
    made->mode = d.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    made->precision = d.one<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC);
    made->swishBeta = d.number(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1);
    made->lowerClip = d.number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
    made->upperClip = d.number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 0);
    made->hasUpperClip = d.has(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP);
    made->slope = d.number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
    expectNumberType(made->precision, "a pointwise operation's arithmetic");
    constexpr cudnnPointwiseMode_t kModes[] = {CUDNN_POINTWISE_ADD,      CUDNN_POINTWISE_SUB,
                                               CUDNN_POINTWISE_MUL,      CUDNN_POINTWISE_IDENTITY,
                                               CUDNN_POINTWISE_RELU_FWD, CUDNN_POINTWISE_SWISH_FWD};
    demand(made->mode >= 0 && made->mode <= CUDNN_POINTWISE_BINARY_SELECT,
           "the mode of a pointwise operation is none");
    demand(std::ranges::find(kModes, made->mode) != std::end(kModes), CUDNN_STATUS_NOT_SUPPORTED,
           "this pointwise mode is not emulated");
    return made;
}

/// Images, filters and results that belong together.
void checkShapes(const ConvolutionOperation& o)
{
    const auto &x = o.x->extents, &w = o.w->extents, &y = o.y->extents;
    const Convolution& c = *o.convolution;
    const std::size_t dimensions = c.strides.size() + 2;
    for (const auto* extents : {&x, &w, &y})
        demand(extents->size() == dimensions, "a tensor has not the dimensions of the convolution");
    demand(y[0] == x[0], "x and y differ in images");
    demand(y[1] == w[0], "the channels of y are not the filters of w");
    demand(x[1] % w[1] == 0, "the channels of x are no multiple of those of w");
    for (std::size_t d = 2; d < dimensions; ++d) {
        const std::size_t i = d - 2;
        const std::int64_t window = (w[d] - 1) * c.dilations[i] + 1;
        const std::int64_t room = x[d] + c.before[i] + c.after[i] - window;
        demand(room >= 0, "a window is larger than the padded image");
        demand(y[d] == room / c.strides[i] + 1, "dimension " + std::to_string(d) +
                                                    " of y should be " +
                                                    std::to_string(room / c.strides[i] + 1));
    }
}

template <Pass pass>
MeaningPointer interpretConvolutionOperation(const Descriptor& d)
{
    const PassNames& names = namesOf(pass);
    auto made = std::make_shared<ConvolutionOperation>();
    made->pass = pass;
    made->x = d.meant<Tensor>(names.x);
    made->w = d.meant<Tensor>(names.w);
    made->y = d.meant<Tensor>(names.y);
    made->convolution = d.meant<Convolution>(names.convolution);
    made->alpha = d.number(names.alpha, 1);
    made->beta = d.number(names.beta, 0);
    checkShapes(*made);
    demand(made->x->name != made->w->name && made->x->name != made->y->name &&
               made->w->name != made->y->name,
           "two tensors of a convolution have the same unique id");
    demand(made->beta == 0 || !made->output()->isVirtual, "a convolution adds to a virtual tensor");
    return made;
}

/// Dimensions of an input are those of y, or 1.
void checkBroadcast(const Tensor& input, const Tensor& y, const char* what)
{
    demand(input.extents.size() == y.extents.size(),
           std::string(what) + " has not as many dimensions as y");
    for (std::size_t d = 0; d < y.extents.size(); ++d)
        demand(input.extents[d] == y.extents[d] || input.extents[d] == 1,
               std::string("dimension ") + std::to_string(d) + " of " + what +
                   " is neither that of y nor 1");
}

MeaningPointer interpretPointwiseOperation(const Descriptor& d)
{
    auto made = std::make_shared<PointwiseOperation>();
    made->pointwise = d.meant<Pointwise>(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    made->x = d.meant<Tensor>(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    made->b = d.meant<Tensor>(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    made->y = d.meant<Tensor>(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    made->alpha1 = d.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
    made->alpha2 = d.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
    demand(!made->pointwise->takesTwo() || made->b, "a pointwise operation of two tensors has one");
    demand(made->pointwise->takesTwo() || !made->b, "a pointwise operation of one tensor has two");
    checkBroadcast(*made->x, *made->y, "x");
    if (made->b)
        checkBroadcast(*made->b, *made->y, "b");
    for (std::size_t i = 0; i < made->y->extents.size(); ++i)
        demand(made->y->extents[i] ==
                   std::max(made->x->extents[i], made->b ? made->b->extents[i] : 1),
               "y is larger than x and b");
    for (const TensorPointer& input : made->inputs())
        demand(input->name != made->y->name,
               "y of a pointwise operation has the unique id of an input");
    return made;
}

AttributeRule tensorRule(cudnnBackendAttributeName_t name, const char* text,
                         Use use = AttributeRule::Required)
{
    return {name, text, CUDNN_TYPE_BACKEND_DESCRIPTOR, use, 1, {CUDNN_BACKEND_TENSOR_DESCRIPTOR}};
}

template <Pass pass>
Kind kindOfPass(cudnnBackendDescriptorType_t type, const char* name)
{
    const PassNames& names = namesOf(pass);
    return {type,
            name,
            {tensorRule(names.x, "x"),
             tensorRule(names.w, "w"),
             tensorRule(names.y, "y"),
             {names.convolution,
              "the convolution",
              CUDNN_TYPE_BACKEND_DESCRIPTOR,
              AttributeRule::Required,
              1,
              {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR}},
             {names.alpha, "alpha", CUDNN_TYPE_FLOAT, AttributeRule::Required, 1},
             {names.beta, "beta", CUDNN_TYPE_FLOAT, AttributeRule::Required, 1}},
            interpretConvolutionOperation<pass>};
}

} // namespace

const Kind kConvolutionKind = {
    CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
    "a convolution",
    {{CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, "the number of spatial dimensions", CUDNN_TYPE_INT64,
      AttributeRule::Required, 1},
     {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, "the type of sums", CUDNN_TYPE_DATA_TYPE,
      AttributeRule::Required, 1},
     {CUDNN_ATTR_CONVOLUTION_CONV_MODE, "the mode", CUDNN_TYPE_CONVOLUTION_MODE,
      AttributeRule::Required, 1},
     {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, "the padding before", CUDNN_TYPE_INT64,
      AttributeRule::Required, kMostSpatial},
     {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, "the padding after", CUDNN_TYPE_INT64,
      AttributeRule::Required, kMostSpatial},
     {CUDNN_ATTR_CONVOLUTION_DILATIONS, "the dilations", CUDNN_TYPE_INT64, AttributeRule::Required,
      kMostSpatial},
     {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, "the strides", CUDNN_TYPE_INT64,
      AttributeRule::Required, kMostSpatial}},
    interpretConvolution};

const Kind kPointwiseKind = {
    CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
    "a pointwise function",
    {{CUDNN_ATTR_POINTWISE_MODE, "the mode", CUDNN_TYPE_POINTWISE_MODE, AttributeRule::Required, 1},
     {CUDNN_ATTR_POINTWISE_MATH_PREC, "the precision", CUDNN_TYPE_DATA_TYPE,
      AttributeRule::Required, 1},
     {CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, "the lower clip", CUDNN_TYPE_FLOAT,
      AttributeRule::Optional, 1},
     {CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, "the upper clip", CUDNN_TYPE_FLOAT,
      AttributeRule::Optional, 1},
     {CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, "the slope", CUDNN_TYPE_FLOAT,
      AttributeRule::Optional, 1},
     {CUDNN_ATTR_POINTWISE_SWISH_BETA, "beta of swish", CUDNN_TYPE_FLOAT, AttributeRule::Optional,
      1}},
    interpretPointwise};

const Kind kForwardKind = kindOfPass<Pass::Forward>(
    CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, "a forward operation");
const Kind kBackwardDataKind = kindOfPass<Pass::BackwardData>(
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, "a backward data operation");
const Kind kBackwardFilterKind = kindOfPass<Pass::BackwardFilter>(
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, "a backward filter operation");

const Kind kPointwiseOperationKind = {
    CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
    "a pointwise operation",
    {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
      "the function",
      CUDNN_TYPE_BACKEND_DESCRIPTOR,
      AttributeRule::Required,
      1,
      {CUDNN_BACKEND_POINTWISE_DESCRIPTOR}},
     tensorRule(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, "x"),
     tensorRule(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, "b", AttributeRule::Optional),
     tensorRule(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, "y"),
     {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, "alpha1", CUDNN_TYPE_FLOAT, AttributeRule::Optional,
      1},
     {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, "alpha2", CUDNN_TYPE_FLOAT, AttributeRule::Optional,
      1}},
    interpretPointwiseOperation};

bool Pointwise::takesTwo() const
{
    return mode == CUDNN_POINTWISE_ADD || mode == CUDNN_POINTWISE_SUB ||
           mode == CUDNN_POINTWISE_MUL;
}

std::vector<TensorPointer> ConvolutionOperation::inputs() const
{
    switch (pass) {
    case Pass::Forward:
        return {x, w};
    case Pass::BackwardData:
        return {y, w};
    default:
        return {y, x};
    }
}

TensorPointer ConvolutionOperation::output() const
{
    switch (pass) {
    case Pass::Forward:
        return y;
    case Pass::BackwardData:
        return x;
    default:
        return w;
    }
}

std::vector<TensorPointer> PointwiseOperation::inputs() const
{
    return b ? std::vector{x, b} : std::vector{x};
}

} // namespace vergence::emulation::convolutions
