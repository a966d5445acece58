#include "tests/support/cuda_emulation/convolutions/engines.h"

#include <algorithm>

namespace vergence::emulation::convolutions {

namespace {

std::optional<Refusal> refusal(cudnnStatus_t status, const char* why)
{
    return Refusal{status, why, false};
}

bool isBackwardFilter(const ConvolutionOperation& c)
{
    return c.pass == Pass::BackwardFilter;
}

/// Whether all that is read and written has one type, as the compiled engines want.
bool hasOneType(const Graph& graph)
{
    const cudnnDataType_t type = graph.result()->type;
    return std::ranges::all_of(graph.tensors, [&](const auto& named) {
        return named.second->isVirtual || named.second->type == type;
    });
}

bool isPlain(const Graph& graph)
{
    return graph.operations.size() == 1;
}

/// Whether the pointwise work is the sum with a number per channel, for which there are compiled
/// engines.
bool addsBiasOnly(const Graph& graph)
{
    const auto work = graph.pointwise();
    if (work.size() != 1 || work[0]->pointwise->mode != CUDNN_POINTWISE_ADD)
        return false;
    const Tensor& y = *graph.result();
    return work[0]->b->type == y.type &&
           work[0]->b->extents == std::vector<std::int64_t>{1, y.extents[1], 1, 1};
}

/// Whether all tensors of more than one pixel are laid out alike. NHWC where `onlyNhwc`.
bool hasOneLayout(const Graph& graph, bool onlyNhwc)
{
    bool hasNchw = false, hasNhwc = false;
    for (const auto& [name, tensor] : graph.tensors) {
        const Layout layout = tensor->layout();
        if (layout == Layout::Other)
            return false;
        hasNchw = hasNchw || layout == Layout::Nchw;
        hasNhwc = hasNhwc || layout == Layout::Nhwc;
    }
    return !hasNchw || (!onlyNhwc && !hasNhwc);
}

/// What no engine does.
std::optional<Refusal> commonRefusal(const Graph& graph)
{
    const auto c = graph.convolution();
    if (!c || (c->pass != Pass::Forward && graph.operations.size() > 1))
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
                       "the graph is not a convolution with pointwise work on its result");
    if (c->convolution->strides.size() != 2)
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "images have not two dimensions");
    if (c->groups() != 1)
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "groups are not emulated");
    const auto operands = c->inputs();
    const cudnnDataType_t type = operands[0]->type;
    const bool isDouble = type == CUDNN_DATA_DOUBLE;
    if (operands[1]->type != type ||
        c->convolution->sumType != (isDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT))
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "no engine has these types");
    for (const auto& work : graph.pointwise()) {
        if (work->pointwise->precision != c->convolution->sumType)
            return refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
                           "pointwise work has another type than the sums");
    }
    return std::nullopt;
}

std::optional<Refusal> compiledRefusal(const Engine& engine, const Graph& graph)
{
    const cudnnDataType_t type = graph.convolution()->inputs()[0]->type;
    const bool usesTensorCores = engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    if (!isPlain(graph) && !addsBiasOnly(graph))
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "the engine does not fuse this");
    if (!hasOneType(graph))
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the tensors are of several types");
    if (!hasOneLayout(graph, false))
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT,
                       "the tensors are neither all NCHW nor all NHWC");
    if (usesTensorCores && type == CUDNN_DATA_DOUBLE)
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the engine has no F64");
    if (engine.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) && type != CUDNN_DATA_FLOAT)
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the engine is for F32 alone");
    if (engine.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
        graph.convolution()->pass == Pass::Forward)
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "the engine is for derivatives");
    return std::nullopt;
}

std::optional<Refusal> fusingRefusal(const Engine& engine, const Graph& graph)
{
    const auto c = graph.convolution();
    if (!hasOneLayout(graph, !isPlain(graph)))
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "the tensors are not all NHWC");
    if (c->alpha != 1 || c->beta != 0)
        return refusal(CUDNN_STATUS_NOT_SUPPORTED, "the engine has no alpha and beta");
    if (c->inputs()[0]->type == CUDNN_DATA_DOUBLE)
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the engine has no F64");
    if (isBackwardFilter(*c) && !engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "the engine has no such pass");
    return std::nullopt;
}

} // namespace

const std::vector<Engine>& engines()
{
    using enum Engine::Use;
    using enum Summation::Order;
    constexpr auto kTensorCore = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    static const std::vector<Engine> all = {
        {"strict", Precompiled, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, {Ascending, 1}},
        {"offsets", Precompiled, {}, {Ascending, 2}},
        {"direct", Precompiled, {}, {Descending, 1}},
        {"atomic", Precompiled, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {Shuffled, 4}},
        {"tensor cores", Precompiled, {kTensorCore}, {Ascending, 1}, 1, 16},
        {"tensor cores, split", Precompiled, {kTensorCore}, {Ascending, 4}, 1, 16},
        {"tensor cores, down-converting",
         Precompiled,
         {kTensorCore, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
         {Ascending, 1},
         1,
         16},
        {"fusing, wide", Fusing, {kTensorCore}, {Descending, 2}, 16},
        {"fusing, narrow", Fusing, {kTensorCore}, {Ascending, 3}, 4},
        {"fusing, plain", Fusing, {}, {Descending, 3}}};
    return all;
}

bool Engine::has(cudnnBackendNumericalNote_t note) const
{
    return std::ranges::find(notes, note) != notes.end();
}

Operands Engine::operands(const Graph& graph) const
{
    if (graph.convolution()->inputs()[0]->type != CUDNN_DATA_FLOAT ||
        !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
        return Operands::AsTheyAre;
    return has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ? Operands::Halves : Operands::Tf32;
}

std::vector<cudnnBackendNumericalNote_t> Engine::notesFor(const Graph& graph) const
{
    auto noted = notes;
    if (has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) && has16Bits(graph.result()->type))
        noted.insert(noted.begin(), CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
    return noted;
}

std::vector<cudnnBackendBehaviorNote_t> Engine::behavior() const
{
    if (use == Fusing)
        return {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION,
                CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API};
    return {};
}

std::int64_t Engine::workspaceBytes(const Graph& graph) const
{
    const auto c = graph.convolution();
    if (this == &engines()[kOffsetsEngine])
        return 16 + 4 * c->w->elements() / c->w->extents[0]; // where each tap lies
    if (this == &engines()[kSplitTensorCoreEngine])
        return 16 + 4 * summation.parts * c->output()->elements();
    return 0;
}

std::optional<Refusal> Engine::refusalOf(const Graph& graph) const
{
    if (const auto common = commonRefusal(graph))
        return common;
    const auto own = use == Fusing ? fusingRefusal(*this, graph) : compiledRefusal(*this, graph);
    if (own)
        return own;
    const auto c = graph.convolution();
    const auto size = static_cast<std::int64_t>(bytesOf(c->inputs()[0]->type));
    const bool isWide = channelBytes >= 16; // filters are counted as well
    if (c->w->extents[1] * size % channelBytes != 0 ||
        (isWide && c->w->extents[0] * size % channelBytes != 0))
        return refusal(CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
                       "the channels are not of the multiple that the engine needs");
    for (const auto& [id, tensor] : graph.tensors) {
        // F32 has tensor core engines with narrow loads.
        const bool isNarrow = has16Bits(tensor->type) && tensor->alignment < alignment;
        if (!tensor->isVirtual && isNarrow)
            return refusal(CUDNN_STATUS_NOT_SUPPORTED,
                           "the addresses are not aligned as the engine needs");
    }
    return std::nullopt;
}

std::vector<EngineIndex> preferences(const Graph& graph, cudnnBackendHeurMode_t mode)
{
    const auto c = graph.convolution();
    if (!c)
        return {};
    const bool isFallback = mode == CUDNN_HEUR_MODE_FALLBACK;
    if (!isPlain(graph) && !addsBiasOnly(graph)) {
        if (isFallback)
            return {kWideFusingEngine, kNarrowFusingEngine, kPlainFusingEngine};
        const bool isNarrow = engines()[kNarrowFusingEngine].refusalOf(graph).has_value();
        return isNarrow ? std::vector{kPlainFusingEngine}
                        : std::vector{kNarrowFusingEngine, kWideFusingEngine};
    }
    if (isFallback && c->pass != Pass::Forward)
        return {kOffsetsEngine, kAtomicEngine, kStrictEngine};
    if (isFallback)
        return {kOffsetsEngine, kDirectEngine, kStrictEngine, kNarrowFusingEngine};
    if (has16Bits(graph.result()->type))
        return {kTensorCoreEngine, kSplitTensorCoreEngine};
    return {kTensorCoreEngine, kSplitTensorCoreEngine, kAtomicEngine,
            kOffsetsEngine,    kDirectEngine,          kStrictEngine};
}

} // namespace vergence::emulation::convolutions
