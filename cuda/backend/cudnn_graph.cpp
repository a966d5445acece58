#include "cuda/backend/cudnn_graph.h"

#include <algorithm>

namespace vergence {

namespace {

using Extents = std::array<std::int64_t, 4>; ///< N, C, H, W whatever the layout

cudnnDataType_t cudnnType(DType type)
{
    switch (type) {
    case DType::F16:
        return CUDNN_DATA_HALF;
    case DType::BF16:
        return CUDNN_DATA_BFLOAT16;
    case DType::F64:
        return CUDNN_DATA_DOUBLE;
    default:
        return CUDNN_DATA_FLOAT;
    }
}

/// Builds the descriptors of one graph. After a refusal every later step is void, and graph() is
/// null.
class GraphBuilder {
public:
    GraphBuilder(const Cudnn& library, const CudnnConvolution& c) : m_library(library), m_c(c) {}

    std::shared_ptr<CudnnDescriptor> graph();
    std::vector<std::shared_ptr<CudnnDescriptor>> parts() { return std::move(m_parts); }

private:
    using Descriptor = std::shared_ptr<CudnnDescriptor>;

    Descriptor make(cudnnBackendDescriptorType_t type)
    {
        m_parts.push_back(std::make_shared<CudnnDescriptor>(m_library, type));
        return m_parts.back();
    }
    Descriptor tensor(std::int64_t name, const Extents& extents, DType type, bool isVirtual);
    Descriptor convolution();
    void addConvolution(const Descriptor& x, const Descriptor& w, const Descriptor& y);
    void addSum(const Descriptor& a, const Descriptor& b, const Descriptor& sum);
    void finalize(const Descriptor& part) { m_isGood = part->finalize() && m_isGood; }

    const Cudnn& m_library;
    const CudnnConvolution& m_c;
    std::vector<Descriptor> m_parts;
    std::vector<cudnnBackendDescriptor_t> m_operations;
    bool m_isGood = true;
};

GraphBuilder::Descriptor GraphBuilder::tensor(std::int64_t name, const Extents& extents, DType type,
                                              bool isVirtual)
{
    const auto [n, c, h, w] = extents;
    const bool nhwc = m_c.problem.layout == ImageLayout::Nhwc;
    const Extents strides =
        nhwc ? Extents{h * w * c, 1, w * c, c} : Extents{c * h * w, h * w, w, 1};
    const auto made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made->set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cudnnType(type));
    made->set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, extents);
    made->set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    made->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name);
    made->set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kCudnnAlignment);
    if (isVirtual)
        made->set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    finalize(made);
    return made;
}

GraphBuilder::Descriptor GraphBuilder::convolution()
{
    using Pair = std::array<std::int64_t, 2>;
    const ConvProblem& p = m_c.problem;
    const Pair padding = {p.padding, p.padding}, stride = {p.stride, p.stride}, one = {1, 1};
    const auto made = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    made->set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
    made->set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    made->set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
              CUDNN_CROSS_CORRELATION);
    made->set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, padding);
    made->set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, padding);
    made->set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, one);
    made->set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, stride);
    finalize(made);
    return made;
}

void GraphBuilder::addConvolution(const Descriptor& x, const Descriptor& w, const Descriptor& y)
{
    struct Names {
        cudnnBackendDescriptorType_t operation;
        cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
    };
    static constexpr Names kNames[] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
    const Names& names = kNames[static_cast<int>(m_c.pass)];
    const auto made = make(names.operation);
    made->set(names.x, *x);
    made->set(names.w, *w);
    made->set(names.y, *y);
    made->set(names.convolution, *convolution());
    made->set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f);
    made->set(names.beta, CUDNN_TYPE_FLOAT, 0.0f);
    finalize(made);
    m_operations.push_back(made->get());
}

void GraphBuilder::addSum(const Descriptor& a, const Descriptor& b, const Descriptor& sum)
{
    const auto pointwise = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    pointwise->set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    pointwise->set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    finalize(pointwise);
    const auto made = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    made->set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, *pointwise);
    made->set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *a);
    made->set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    made->set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *sum);
    finalize(made);
    m_operations.push_back(made->get());
}

std::shared_ptr<CudnnDescriptor> GraphBuilder::graph()
{
    const ConvProblem& p = m_c.problem;
    const Extents xs = {p.images, p.channels, p.height, p.width};
    const Extents ws = {p.outChannels, p.channels, p.kernelHeight, p.kernelWidth};
    const Extents ys = {p.images, p.outChannels, p.outHeight, p.outWidth};
    const auto typeOf = [&](CudnnPass writes) {
        return m_c.pass == writes ? m_c.resultType : p.type;
    };
    const auto x = tensor(kTensorX, xs, typeOf(CudnnPass::BackwardData), false);
    const auto w = tensor(kTensorW, ws, typeOf(CudnnPass::BackwardWeight), false);
    const auto y = tensor(kTensorY, ys, typeOf(CudnnPass::Forward), false);
    // Sums on the way stay in registers, in F32.
    std::int64_t nextVirtual = 100;
    auto current = m_c.hasBias || m_c.hasResidual ? tensor(nextVirtual++, ys, DType::F32, true) : y;
    addConvolution(x, w, current);
    if (m_c.hasBias) {
        const auto bias = tensor(kTensorBias, {1, p.outChannels, 1, 1}, m_c.resultType, false);
        const auto sum = m_c.hasResidual ? tensor(nextVirtual++, ys, DType::F32, true) : y;
        addSum(current, bias, sum);
        current = sum;
    }
    if (m_c.hasResidual)
        addSum(current, tensor(kTensorResidual, ys, m_c.resultType, false), y);

    const auto made = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    made->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, m_operations);
    made->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, m_library.handle());
    finalize(made);
    return m_isGood ? made : nullptr;
}

/// The engine configurations of `graph` that one of cuDNN's heuristics names, best first.
std::vector<std::shared_ptr<CudnnDescriptor>>
configurations(const Cudnn& library, const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode)
{
    CudnnDescriptor heuristic(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    std::int64_t count = 0;
    if (!heuristic.finalize() ||
        library.get(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    0, &count, nullptr) != CUDNN_STATUS_SUCCESS)
        return {};
    std::vector<std::shared_ptr<CudnnDescriptor>> found;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < count; ++i) {
        found.push_back(
            std::make_shared<CudnnDescriptor>(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
        raw.push_back(found.back()->get());
    }
    std::int64_t returned = 0;
    if (library.get(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    count, &returned, raw.data()) != CUDNN_STATUS_SUCCESS)
        returned = 0;
    found.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(returned, 0, count)));
    return found;
}

/// What cuDNN says of a configuration of an engine.
class Configuration {
public:
    Configuration(const Cudnn& library, const CudnnDescriptor& descriptor)
        : m_library(library),
          m_descriptor(descriptor),
          m_engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR)
    {
        cudnnBackendDescriptor_t raw = m_engine.get();
        m_isKnown = ask(m_descriptor, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                        &raw) == 1;
    }

    /// Whether results repeat and have the precision that was asked for.
    bool isWanted(bool mayRound) const
    {
        std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
        const std::int64_t count =
            m_isKnown ? ask(m_engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                            CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes.data())
                      : -1;
        return count >= 0 && std::none_of(notes.begin(), notes.begin() + count,
                                          [&](auto note) { return isUnwanted(note, mayRound); });
    }

    /// See CudnnPlan::name.
    std::string name() const
    {
        std::int64_t index = -1;
        ask(m_engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
        std::string name = std::to_string(index);
        std::vector<std::unique_ptr<CudnnDescriptor>> knobs;
        std::vector<cudnnBackendDescriptor_t> raw;
        for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
            knobs.push_back(
                std::make_unique<CudnnDescriptor>(m_library, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
            raw.push_back(knobs.back()->get());
        }
        const std::int64_t count =
            ask(m_descriptor, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                CUDNN_KNOB_TYPE_COUNTS, raw.data());
        for (std::int64_t i = 0; i < count; ++i) {
            const CudnnDescriptor& knob = *knobs[static_cast<std::size_t>(i)];
            cudnnBackendKnobType_t type{};
            std::int64_t value = 0;
            ask(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
            ask(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
            name += ' ' + std::to_string(type) + '=' + std::to_string(value);
        }
        return name;
    }

private:
    /// How many elements came; negative where cuDNN does not say.
    std::int64_t ask(const CudnnDescriptor& of, cudnnBackendAttributeName_t what,
                     cudnnBackendAttributeType_t type, std::int64_t most, void* answer) const
    {
        std::int64_t count = 0;
        const cudnnStatus_t status = m_library.get(of.get(), what, type, most, &count, answer);
        return status == CUDNN_STATUS_SUCCESS ? std::clamp<std::int64_t>(count, 0, most) : -1;
    }
    static bool isUnwanted(cudnnBackendNumericalNote_t note, bool mayRound)
    {
        const bool rounds = note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                            note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
        return note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC ||
               note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION || (rounds && !mayRound);
    }

    const Cudnn& m_library;
    const CudnnDescriptor& m_descriptor;
    CudnnDescriptor m_engine;
    bool m_isKnown = false;
};

/// Null where cuDNN cannot run it in so much memory.
std::shared_ptr<CudnnPlan> planOf(const Cudnn& library, const CudnnDescriptor& configuration,
                                  std::int64_t workspaceBytes)
{
    auto made = std::make_shared<CudnnPlan>();
    made->plan =
        std::make_unique<CudnnDescriptor>(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    made->plan->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, library.handle());
    made->plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    std::int64_t count = 0;
    const bool isGood =
        made->plan->finalize() &&
        library.get(made->plan->get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                    1, &count, &made->workspaceBytes) == CUDNN_STATUS_SUCCESS;
    return isGood && made->workspaceBytes <= workspaceBytes ? made : nullptr;
}

} // namespace

std::vector<std::shared_ptr<CudnnPlan>>
cudnnPlans(const Cudnn& library, const CudnnConvolution& convolution, const CudnnWishes& wishes)
{
    GraphBuilder builder(library, convolution);
    const auto graph = builder.graph();
    if (!graph)
        return {};
    const auto parts = builder.parts();
    const bool mayRound = convolution.problem.type != DType::F32 || convolution.usesTf32;
    std::vector<std::shared_ptr<CudnnPlan>> plans;
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        for (const auto& descriptor : configurations(library, *graph, mode)) {
            if (plans.size() == wishes.most)
                return plans;
            const Configuration configuration(library, *descriptor);
            if (!configuration.isWanted(mayRound))
                continue;
            const std::string name = configuration.name();
            const bool isKnown = std::any_of(plans.begin(), plans.end(),
                                             [&](const auto& one) { return one->name == name; });
            if (isKnown || (!wishes.name.empty() && name != wishes.name))
                continue;
            if (auto made = planOf(library, *descriptor, wishes.workspaceBytes)) {
                made->parts = parts;
                made->parts.push_back(descriptor);
                made->name = name;
                plans.push_back(std::move(made));
            }
        }
    }
    return plans;
}

} // namespace vergence
