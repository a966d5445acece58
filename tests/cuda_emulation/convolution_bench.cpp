#include "tests/cuda_emulation/convolution_bench.h"

namespace vergence::test {

namespace {

struct PassNames {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};
constexpr PassNames kPassNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

cudnnDataType_t sumType(cudnnDataType_t type)
{
    return type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

} // namespace

Part tensorPart(std::int64_t name, const Extents& extents, const Extents& strides,
                cudnnDataType_t type, std::int64_t alignment, bool isVirtual)
{
    auto part = std::make_shared<Described>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    part->set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    part->set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, extents);
    part->set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    part->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name);
    part->set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
    part->set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, isVirtual);
    part->finalize();
    return part;
}

Part convolutionPart(const ConvolutionCase& c)
{
    auto part = std::make_shared<Described>(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const Extents padding(2, c.padding), stride(2, c.stride), dilation(2, c.dilation);
    part->set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
    part->set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, sumType(c.type));
    part->set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, c.mode);
    part->set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, padding);
    part->set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, padding);
    part->set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, dilation);
    part->set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, stride);
    part->finalize();
    return part;
}

Part operationPart(const ConvolutionCase& c, const Described& x, const Described& w,
                   const Described& y, const Described& convolution)
{
    const PassNames& names = kPassNames[static_cast<int>(c.pass)];
    auto part = std::make_shared<Described>(names.operation);
    part->set(names.x, x);
    part->set(names.w, w);
    part->set(names.y, y);
    part->set(names.convolution, convolution);
    part->set(names.alpha, CUDNN_TYPE_FLOAT, c.alpha);
    part->set(names.beta, CUDNN_TYPE_FLOAT, c.beta);
    part->finalize();
    return part;
}

Part pointwisePart(cudnnPointwiseMode_t mode, const Described& x, const Described* b,
                   const Described& y, cudnnDataType_t precision)
{
    Described function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
    function.finalize();
    auto part = std::make_shared<Described>(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    part->set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
    part->set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b)
        part->set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    part->set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    part->finalize();
    return part;
}

Part graphPart(cudnnHandle_t handle, const std::vector<const Described*>& operations)
{
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const Described* operation : operations)
        raw.push_back(operation->raw());
    auto part = std::make_shared<Described>(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    part->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    part->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw);
    part->finalize();
    return part;
}

ConvolutionParts partsOf(cudnnHandle_t handle, const ConvolutionCase& c)
{
    ConvolutionParts made;
    const auto tensor = [&](std::int64_t name, const Extents& extents, cudnnDataType_t type,
                            bool isVirtual = false) {
        made.parts.push_back(
            tensorPart(name, extents, c.strides(extents), type, c.alignment, isVirtual));
        return made.parts.back();
    };
    const Part x = tensor(kX, c.x(), c.typeOf(ConvolutionPass::BackwardData));
    const Part w = tensor(kW, c.w(), c.typeOf(ConvolutionPass::BackwardFilter));
    const Part y = tensor(kY, c.y(), c.typeOf(ConvolutionPass::Forward));
    std::int64_t nextVirtual = 100;
    const auto between = [&](bool isLast) {
        return isLast ? y : tensor(nextVirtual++, c.y(), CUDNN_DATA_FLOAT, true);
    };
    std::vector<const Described*> operations;
    const auto add = [&](const Part& part) {
        made.parts.push_back(part);
        operations.push_back(part.get());
    };
    Part current = between(!c.hasBias && !c.hasResidual);
    add(operationPart(c, *x, *w, *current, *convolutionPart(c)));
    if (c.hasBias) {
        const Part sum = between(!c.hasResidual), bias = tensor(kBias, c.bias(), c.resultType);
        add(pointwisePart(CUDNN_POINTWISE_ADD, *current, bias.get(), *sum));
        current = sum;
    }
    if (c.hasResidual) {
        const Part residual = tensor(kResidual, c.y(), c.resultType);
        add(pointwisePart(CUDNN_POINTWISE_ADD, *current, residual.get(), *y));
    }
    made.graph = graphPart(handle, operations);
    return made;
}

std::vector<Part> configurations(const Described& graph, cudnnBackendHeurMode_t mode)
{
    Described heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    heuristic.finalize();
    std::int64_t possible = 0, count = 0;
    cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &possible, nullptr);
    std::vector<Part> found;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < possible; ++i) {
        found.push_back(std::make_shared<Described>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
        raw.push_back(found.back()->raw());
    }
    cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, possible, &count, raw.data());
    found.resize(static_cast<std::size_t>(count));
    return found;
}

std::vector<Part> allConfigurations(const Described& graph)
{
    auto found = configurations(graph, CUDNN_HEUR_MODE_A);
    for (Part& part : configurations(graph, CUDNN_HEUR_MODE_FALLBACK))
        found.push_back(std::move(part));
    return found;
}

Part engineOf(const Described& configuration)
{
    auto engine = std::make_shared<Described>(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine->raw();
    cudnnBackendGetAttribute(configuration.raw(), CUDNN_ATTR_ENGINECFG_ENGINE,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, nullptr, &raw);
    return engine;
}

std::vector<cudnnBackendNumericalNote_t> notesOf(const Described& configuration)
{
    return engineOf(configuration)
        ->get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                           CUDNN_TYPE_NUMERICAL_NOTE,
                                           CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
}

bool hasNote(const Described& configuration, cudnnBackendNumericalNote_t note)
{
    const auto notes = notesOf(configuration);
    return std::find(notes.begin(), notes.end(), note) != notes.end();
}

Part planPart(cudnnHandle_t handle, const Described& configuration)
{
    auto plan = std::make_shared<Described>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    plan->finalize();
    return plan;
}

std::int64_t workspaceOf(const Described& plan)
{
    const auto sizes =
        plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
    return sizes.empty() ? -1 : sizes.front();
}

Part packPart(const std::vector<std::int64_t>& names, const std::vector<void*>& addresses,
              void* workspace)
{
    auto pack = std::make_shared<Described>(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack->set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, names);
    pack->set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses);
    pack->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack->finalize();
    return pack;
}

} // namespace vergence::test
