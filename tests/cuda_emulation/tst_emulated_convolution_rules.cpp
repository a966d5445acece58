#include <functional>

#include <QTest>

#include "tests/cuda_emulation/convolution_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

using Notes = std::vector<cudnnBackendNumericalNote_t>;
using Statement = std::function<cudnnStatus_t(cudnnHandle_t)>;

constexpr auto kTensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto kConvolution = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
constexpr auto kInt64 = CUDNN_TYPE_INT64;

/// One attribute of a tensor that is right otherwise, or one that is missing.
struct TensorChange {
    Extents extents = {2, 8, 4, 4}, strides = {128, 1, 32, 8};
    std::int64_t alignment = 16;
    int type = CUDNN_DATA_FLOAT;
    int missing = -1;
};

cudnnStatus_t tensorWith(const TensorChange& change)
{
    Described tensor(kTensor);
    const auto wants = [&](int name) { return name != change.missing; };
    if (wants(CUDNN_ATTR_TENSOR_DATA_TYPE))
        tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, change.type);
    if (wants(CUDNN_ATTR_TENSOR_DIMENSIONS))
        tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, kInt64, change.extents);
    if (wants(CUDNN_ATTR_TENSOR_STRIDES))
        tensor.set(CUDNN_ATTR_TENSOR_STRIDES, kInt64, change.strides);
    if (wants(CUDNN_ATTR_TENSOR_UNIQUE_ID))
        tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64, std::int64_t{1});
    if (wants(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT))
        tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kInt64, change.alignment);
    return tensor.finalize();
}

/// A convolution with one attribute set again, or never where `values` is empty.
cudnnStatus_t convolutionWith(cudnnBackendAttributeName_t name, const Extents& values)
{
    Described convolution(kConvolution);
    const auto set = [&](cudnnBackendAttributeName_t each, const Extents& right) {
        const Extents& chosen = each == name ? values : right;
        if (!chosen.empty())
            convolution.set(each, kInt64, chosen);
    };
    set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
    set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {1, 1});
    set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {1, 1});
    set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1});
    set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1, 1});
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                    CUDNN_CROSS_CORRELATION);
    return convolution.finalize();
}

Part packed(std::int64_t name, const Extents& extents, bool isVirtual = false)
{
    return tensorPart(name, extents, ConvolutionCase{}.strides(extents), CUDNN_DATA_FLOAT, 16,
                      isVirtual);
}

cudnnStatus_t operationWith(const Extents& x, const Extents& w, const Extents& y,
                            std::int64_t yName = kY)
{
    const ConvolutionCase c;
    return operationPart(c, *packed(kX, x), *packed(kW, w), *packed(yName, y), *convolutionPart(c))
        ->status();
}

cudnnStatus_t sumWith(const Part& x, const Part& b, const Part& y,
                      cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD)
{
    return pointwisePart(mode, *x, b.get(), *y)->status();
}

/// A right convolution whose result goes on to `sum`.
struct TwoOperations {
    ConvolutionCase c;
    Part x = packed(kX, c.x()), w = packed(kW, c.w()), between = packed(100, c.y(), true),
         y = packed(kY, c.y()), bias = packed(kBias, c.bias());
    Part convolution = operationPart(c, *x, *w, *between, *convolutionPart(c));
    Part sum = pointwisePart(CUDNN_POINTWISE_ADD, *between, bias.get(), *y);
};

/// A plan that runs, and what one must give it.
struct Ready {
    explicit Ready(cudnnHandle_t handle)
        : parts(partsOf(handle, {})),
          plan(planPart(handle, *configurations(*parts.graph, CUDNN_HEUR_MODE_FALLBACK).front()))
    {
    }
    cudnnStatus_t execute(cudnnHandle_t handle, const std::vector<std::int64_t>& names,
                          const std::vector<void*>& addresses, void* scratch)
    {
        return cudnnBackendExecute(handle, plan->raw(), packPart(names, addresses, scratch)->raw());
    }

    ConvolutionParts parts;
    Part plan;
    DeviceBytes memory{65536};
    void *x = memory.at(), *w = memory.at(16384), *y = memory.at(32768),
         *workspace = memory.at(49152);
};

cudnnStatus_t setOf(cudnnBackendDescriptorType_t kind, cudnnBackendAttributeName_t name,
                    cudnnBackendAttributeType_t type, std::int64_t count, const void* elements)
{
    return cudnnBackendSetAttribute(Described(kind).raw(), name, type, count, elements);
}

struct WrongCall {
    const char* name;
    cudnnStatus_t status;
    Statement statement;
};

const std::int64_t kOne = 1;

std::vector<WrongCall> wrongAttributes()
{
    constexpr auto kBad = CUDNN_STATUS_BAD_PARAM;
    return {
        {"type of an attribute", CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
         [](auto) {
             return setOf(kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT32, 1, &kOne);
         }},
        {"attribute of another kind", kBad,
         [](auto) { return setOf(kTensor, CUDNN_ATTR_CONVOLUTION_DILATIONS, kInt64, 1, &kOne); }},
        {"two elements for one", kBad,
         [](auto) {
             const std::int64_t two[] = {1, 2};
             return setOf(kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64, 2, two);
         }},
        {"no elements", kBad,
         [](auto) { return setOf(kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64, 0, &kOne); }},
        {"elements from nowhere", CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
         [](auto) { return setOf(kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64, 1, nullptr); }},
        {"nine dimensions", kBad,
         [](auto) {
             const Extents nine(9, 1);
             return setOf(kTensor, CUDNN_ATTR_TENSOR_DIMENSIONS, kInt64, 9, nine.data());
         }},
        {"read-only attribute", kBad,
         [](auto) {
             return setOf(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                          CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, kInt64, 1, &kOne);
         }},
        {"set after finalize", kBad,
         [](auto) {
             return packed(1, {1, 1, 1, 1})->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64, kOne);
         }},
        {"finalized twice", kBad,
         [](auto) {
             return packed(1, {1, 1, 1, 1})->finalize();
         }},
        {"get before finalize", CUDNN_STATUS_NOT_INITIALIZED,
         [](auto) {
             const Described tensor(kTensor);
             std::int64_t count = 0, name = 0;
             return cudnnBackendGetAttribute(tensor.raw(), CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64, 1,
                                             &count, &name);
         }},
        {"descriptor of another kind", CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
         [](auto) {
             return Described(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
                 .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *convolutionPart({}));
         }},
        {"descriptor that is not finalized", CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
         [](auto) {
             return Described(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
                 .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, Described(kTensor));
         }},
        {"descriptor that was destroyed", kBad,
         [](auto) {
             Described tensor(kTensor);
             const auto raw = tensor.raw();
             tensor.destroy();
             return cudnnBackendFinalize(raw);
         }},
        {"null descriptor", CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
         [](auto) { return cudnnBackendFinalize(nullptr); }},
        {"null handle", CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
         [](auto) { return cudnnSetStream(nullptr, nullptr); }},
        {"handle that was destroyed", kBad,
         [](auto) {
             cudnnHandle_t handle = nullptr;
             cudnnCreate(&handle);
             cudnnDestroy(handle);
             return cudnnDestroy(handle);
         }},
        {"stream that was destroyed", kBad,
         [](cudnnHandle_t handle) {
             const cudaStream_t stream = StreamHandle().release();
             cudaStreamDestroy(stream);
             return cudnnSetStream(handle, stream);
         }},
    };
}

std::vector<WrongCall> wrongParts()
{
    constexpr auto kBad = CUDNN_STATUS_BAD_PARAM;
    std::vector<WrongCall> calls = {
        {"dimension 0", kBad,
         [](auto) {
             return tensorWith({.extents = {2, 0, 4, 4}});
         }},
        {"stride -1", kBad,
         [](auto) {
             return tensorWith({.strides = {128, -1, 32, 8}});
         }},
        {"three strides", kBad,
         [](auto) {
             return tensorWith({.strides = {128, 1, 32}});
         }},
        {"alignment 24", kBad, [](auto) { return tensorWith({.alignment = 24}); }},
        {"alignment of half an element", kBad, [](auto) { return tensorWith({.alignment = 2}); }},
        {"type that is none", kBad, [](auto) { return tensorWith({.type = 999}); }},
        {"type that is not emulated", CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
         [](auto) { return tensorWith({.type = CUDNN_DATA_INT8}); }},
        {"one padding", kBad,
         [](auto) { return convolutionWith(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {1}); }},
        {"negative padding", kBad,
         [](auto) {
             return convolutionWith(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {-1, 1});
         }},
        {"stride 0", kBad,
         [](auto) {
             return convolutionWith(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {0, 1});
         }},
        {"no dilations", kBad,
         [](auto) { return convolutionWith(CUDNN_ATTR_CONVOLUTION_DILATIONS, {}); }},
        {"y too small", kBad,
         [](auto) {
             return operationWith({2, 8, 6, 6}, {4, 8, 3, 3}, {2, 4, 5, 6});
         }},
        {"y with other channels", kBad,
         [](auto) {
             return operationWith({2, 8, 6, 6}, {4, 8, 3, 3}, {2, 5, 6, 6});
         }},
        {"y with other images", kBad,
         [](auto) {
             return operationWith({2, 8, 6, 6}, {4, 8, 3, 3}, {1, 4, 6, 6});
         }},
        {"w with other channels", kBad,
         [](auto) {
             return operationWith({2, 8, 6, 6}, {4, 7, 3, 3}, {2, 4, 6, 6});
         }},
        {"window larger than the image", kBad,
         [](auto) {
             return operationWith({2, 8, 2, 2}, {4, 8, 7, 7}, {2, 4, 1, 1});
         }},
        {"x and y with one id", kBad,
         [](auto) {
             return operationWith({2, 8, 6, 6}, {4, 8, 3, 3}, {2, 4, 6, 6}, kX);
         }},
        {"sum of one tensor", kBad,
         [](auto) {
             return sumWith(packed(1, {2, 4, 6, 6}), nullptr, packed(2, {2, 4, 6, 6}));
         }},
        {"ReLU of two tensors", kBad,
         [](auto) {
             return sumWith(packed(1, {2, 4, 6, 6}), packed(3, {1, 4, 1, 1}),
                            packed(2, {2, 4, 6, 6}), CUDNN_POINTWISE_RELU_FWD);
         }},
        {"bias of other channels", kBad,
         [](auto) {
             return sumWith(packed(1, {2, 4, 6, 6}), packed(3, {1, 3, 1, 1}),
                            packed(2, {2, 4, 6, 6}));
         }},
    };
    for (const auto name :
         {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES,
          CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT})
        calls.push_back({"tensor without an attribute", kBad,
                         [name](auto) { return tensorWith({.missing = name}); }});
    return calls;
}

std::vector<WrongCall> wrongGraphs()
{
    constexpr auto kBad = CUDNN_STATUS_BAD_PARAM;
    return {
        {"graph without a handle", kBad,
         [](auto) {
             const TwoOperations two;
             Described graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
             graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, *two.convolution);
             return graph.finalize();
         }},
        {"virtual tensor that nobody reads", kBad,
         [](cudnnHandle_t handle) {
             const TwoOperations two;
             return graphPart(handle, {two.convolution.get()})->status();
         }},
        {"virtual tensor that nobody writes", kBad,
         [](cudnnHandle_t handle) {
             const TwoOperations two;
             return graphPart(handle, {two.sum.get()})->status();
         }},
        {"two tensors with one id", kBad,
         [](cudnnHandle_t handle) {
             const TwoOperations two;
             const Part sum = pointwisePart(CUDNN_POINTWISE_ADD, *two.between,
                                            packed(kX, two.c.bias()).get(), *two.y);
             return graphPart(handle, {two.convolution.get(), sum.get()})->status();
         }},
        {"tensor that is written twice", kBad,
         [](cudnnHandle_t handle) {
             const TwoOperations two;
             return graphPart(handle, {two.convolution.get(), two.convolution.get(), two.sum.get()})
                 ->status();
         }},
        {"operations that wait for each other", kBad,
         [](cudnnHandle_t handle) {
             const TwoOperations two;
             const Part a = packed(200, two.c.y(), true), b = packed(201, two.c.y(), true);
             const Part there = pointwisePart(CUDNN_POINTWISE_ADD, *a, two.bias.get(), *b),
                        back = pointwisePart(CUDNN_POINTWISE_ADD, *b, two.bias.get(), *a);
             return graphPart(handle, {there.get(), back.get()})->status();
         }},
        {"engine that is none", CUDNN_STATUS_NOT_SUPPORTED,
         [](cudnnHandle_t handle) {
             Described engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
             engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *partsOf(handle, {}).graph);
             engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, kInt64, std::int64_t{9999});
             return engine.finalize();
         }},
        {"engine that does not fuse", CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
         [](cudnnHandle_t handle) {
             ConvolutionCase c;
             c.hasResidual = true;
             Described engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
             engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *partsOf(handle, c).graph);
             engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, kInt64, std::int64_t{0});
             engine.finalize();
             Described configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
             configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
             return configuration.finalize();
         }},
        {"heuristic without a mode", kBad,
         [](cudnnHandle_t handle) {
             Described heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
             heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *partsOf(handle, {}).graph);
             return heuristic.finalize();
         }},
        {"plan without a configuration", kBad,
         [](cudnnHandle_t handle) {
             Described plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
             plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
             return plan.finalize();
         }},
        {"addresses fewer than ids", kBad,
         [](auto) {
             return packPart({1, 2}, {nullptr}, nullptr)->status();
         }},
        {"id twice", CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES,
         [](auto) {
             return packPart({1, 1}, {nullptr, nullptr}, nullptr)->status();
         }},
    };
}

std::vector<WrongCall> wrongExecutions()
{
    constexpr auto kBad = CUDNN_STATUS_BAD_PARAM;
    return {
        {"tensor left out", kBad,
         [](cudnnHandle_t handle) {
             Ready r(handle);
             return r.execute(handle, {kX, kW}, {r.x, r.w}, r.workspace);
         }},
        {"null tensor", CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
         [](cudnnHandle_t handle) {
             Ready r(handle);
             return r.execute(handle, {kX, kW, kY}, {r.x, nullptr, r.y}, r.workspace);
         }},
        {"misaligned tensor", CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
         [](cudnnHandle_t handle) {
             Ready r(handle);
             return r.execute(handle, {kX, kW, kY}, {r.x, r.memory.at(16392), r.y}, r.workspace);
         }},
        {"workspace left out", CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
         [](cudnnHandle_t handle) {
             Ready r(handle);
             return r.execute(handle, {kX, kW, kY}, {r.x, r.w, r.y}, nullptr);
         }},
        {"pack that is not finalized", CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
         [](cudnnHandle_t handle) {
             const Ready r(handle);
             return cudnnBackendExecute(handle, r.plan->raw(),
                                        Described(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR).raw());
         }},
        {"graph in place of a plan", CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
         [](cudnnHandle_t handle) {
             const Ready r(handle);
             return cudnnBackendExecute(handle, r.parts.graph->raw(),
                                        packPart({1}, {r.x}, nullptr)->raw());
         }},
        {"plan that was destroyed", kBad,
         [](cudnnHandle_t handle) {
             const Ready r(handle);
             const auto raw = r.plan->raw();
             r.plan->destroy();
             return cudnnBackendExecute(handle, raw, packPart({1}, {r.x}, nullptr)->raw());
         }},
    };
}

} // namespace

/// libcudnn over the emulated device: what it refuses, and what it has for whom.
class TestEmulatedConvolutionRules : public QObject {
    Q_OBJECT
private:
    RuntimeBench m_bench;
    cudnnHandle_t m_handle = nullptr;

private Q_SLOTS:
    void init()
    {
        m_bench.begin();
        VERGENCE_EXPECT_DONE(cudnnCreate(&m_handle));
    }
    void cleanup()
    {
        cudnnDestroy(m_handle);
        QVERIFY(m_bench.endsWell());
    }

    void wrongCallsAreRefused_data()
    {
        QTest::addColumn<Statement>("statement");
        QTest::addColumn<int>("status");
        for (const auto& calls :
             {wrongAttributes(), wrongParts(), wrongGraphs(), wrongExecutions()}) {
            for (const WrongCall& call : calls)
                QTest::addRow("%s", call.name) << call.statement << int{call.status};
        }
    }
    void wrongCallsAreRefused()
    {
        QFETCH(const Statement, statement);
        QFETCH(const int, status);
        emulation::takeFindings();
        QCOMPARE(int{statement(m_handle)}, status);
        // That something cannot be done is an answer; the rest are mistakes.
        const bool isMistake = status < CUDNN_STATUS_NOT_SUPPORTED;
        QCOMPARE(!emulation::takeFindings().empty(), isMistake);
    }
    void refusalsHaveSentences()
    {
        std::array<char, 256> sentence{};
        tensorWith({.extents = {2, 0, 4, 4}});
        cudnnGetLastErrorString(sentence.data(), sentence.size());
        QCOMPARE(sentence.data(), "a dimension is below 1");
        cudnnGetLastErrorString(sentence.data(), sentence.size());
        QCOMPARE(sentence.data(), "");
        emulation::takeFindings();
    }
    void failuresCanBeInjected()
    {
        emulation::settings().failure = "cudnnBackendExecute:1:5000";
        Ready r(m_handle);
        const auto execute = [&] {
            return r.execute(m_handle, {kX, kW, kY}, {r.x, r.w, r.y}, r.workspace);
        };
        QCOMPARE(execute(), CUDNN_STATUS_EXECUTION_FAILED);
        QCOMPARE(execute(), CUDNN_STATUS_SUCCESS);
        emulation::finishAll();
    }
    void whatWasSetIsReadBack()
    {
        const Part tensor = packed(7, {2, 8, 4, 3});
        QCOMPARE(tensor->get<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, kInt64, 8),
                 (Extents{2, 8, 4, 3}));
        std::int64_t count = 0;
        VERGENCE_EXPECT_DONE(cudnnBackendGetAttribute(tensor->raw(), CUDNN_ATTR_TENSOR_STRIDES,
                                                      kInt64, 0, &count, nullptr));
        QCOMPARE(count, 4);
    }

    void enginesNoteWhatTheyDo_data()
    {
        QTest::addColumn<ConvolutionCase>("problem");
        QTest::addColumn<int>("tensorCores");
        QTest::addColumn<int>("others");
        ConvolutionCase c;
        const auto add = [&](const char* name, int tensorCores, int others) {
            QTest::addRow("%s", name) << c << tensorCores << others;
        };
        add("F32 alone", 3, 6);
        c.hasBias = true;
        add("F32 and bias", 3, 6);
        c.hasResidual = true;
        add("F32, bias and residual", 4, 1);
        c.channels = 6;
        add("F32, fused, channels of no multiple", 2, 1);
        c.isNhwc = false;
        add("F32, fused, NCHW", 0, 0);
        c.hasResidual = false;
        add("F32 and bias, NCHW", 2, 6);
        c = {};
        c.type = c.resultType = CUDNN_DATA_HALF;
        add("F16 alone", 3, 3);
        c.alignment = 8;
        add("F16, narrow", 1, 3);
        c.alignment = 16;
        c.hasResidual = true;
        c.filters = 8;
        add("F16, fused", 4, 1);
        c.channels = 3;
        add("F16, fused, three channels", 0, 2);
        c = {};
        c.type = CUDNN_DATA_HALF;
        add("F16 to F32", 1, 0);
        c.isNhwc = false;
        add("F16 to F32, NCHW", 1, 0);
        c.hasBias = true;
        add("F16 to F32 and bias, NCHW", 0, 0);
        c = {};
        c.type = CUDNN_DATA_HALF;
        c.pass = ConvolutionPass::BackwardFilter;
        add("F16 to F32, filter", 0, 0);
        c.type = c.resultType = CUDNN_DATA_DOUBLE;
        add("F64, filter", 0, 7);
        c.type = CUDNN_DATA_FLOAT;
        add("F32 to F64", 0, 0);
    }
    void enginesNoteWhatTheyDo()
    {
        QFETCH(const ConvolutionCase, problem);
        QFETCH(const int, tensorCores);
        QFETCH(const int, others);
        const ConvolutionParts parts = partsOf(m_handle, problem);
        int withThem = 0, without = 0;
        for (const Part& configuration : allConfigurations(*parts.graph))
            (hasNote(*configuration, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ? withThem : without) += 1;
        QCOMPARE(withThem, tensorCores);
        QCOMPARE(without, others);
    }
    void fusingEnginesAreCompiledAtRunTime()
    {
        ConvolutionCase c;
        for (const bool isFused : {false, true}) {
            c.hasResidual = isFused;
            const ConvolutionParts parts = partsOf(m_handle, c);
            for (const Part& configuration : configurations(*parts.graph, CUDNN_HEUR_MODE_A)) {
                const auto notes =
                    engineOf(*configuration)
                        ->get<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                          CUDNN_TYPE_BEHAVIOR_NOTE,
                                                          CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
                QCOMPARE(std::find(notes.begin(), notes.end(),
                                   CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != notes.end(),
                         isFused);
            }
        }
    }
    void atomicSumsOf16BitsAreReduced()
    {
        ConvolutionCase c;
        c.pass = ConvolutionPass::BackwardFilter;
        c.type = c.resultType = CUDNN_DATA_HALF;
        const ConvolutionParts parts = partsOf(m_handle, c);
        const auto all = configurations(*parts.graph, CUDNN_HEUR_MODE_FALLBACK);
        const Notes wanted = {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
                              CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
        QCOMPARE(std::count_if(all.begin(), all.end(),
                               [&](const Part& each) { return notesOf(*each) == wanted; }),
                 1);
    }
};

VERGENCE_TEST(TestEmulatedConvolutionRules)
#include "tst_emulated_convolution_rules.moc"
