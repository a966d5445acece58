#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <QTest>

#include "tests/cuda_emulation/convolution_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

using Numbers = std::vector<double>; ///< in the order of dimensions, the last one fastest

std::size_t bytesOf(cudnnDataType_t type)
{
    return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

template <class T>
void put(unsigned char* to, T number)
{
    std::memcpy(to, &number, sizeof number);
}

template <class T>
T taken(const unsigned char* from)
{
    T number;
    std::memcpy(&number, from, sizeof number);
    return number;
}

void encode(cudnnDataType_t type, unsigned char* to, double number)
{
    switch (type) {
    case CUDNN_DATA_HALF:
        return put(to, __float2half(static_cast<float>(number)));
    case CUDNN_DATA_BFLOAT16:
        return put(to, __float2bfloat16(static_cast<float>(number)));
    case CUDNN_DATA_DOUBLE:
        return put(to, number);
    default:
        return put(to, static_cast<float>(number));
    }
}

double decode(cudnnDataType_t type, const unsigned char* from)
{
    switch (type) {
    case CUDNN_DATA_HALF:
        return __half2float(taken<__half>(from));
    case CUDNN_DATA_BFLOAT16:
        return __bfloat162float(taken<__nv_bfloat16>(from));
    case CUDNN_DATA_DOUBLE:
        return taken<double>(from);
    default:
        return taken<float>(from);
    }
}

/// A tensor in device memory.
class DeviceNumbers {
public:
    DeviceNumbers(cudnnDataType_t type, const Extents& extents, const Extents& strides,
                  const Numbers& numbers)
        : m_type(type),
          m_extents(extents),
          m_strides(strides),
          m_memory(bytes())
    {
        Bytes host(bytes(), 0xcc);
        for (std::size_t i = 0; i < numbers.size(); ++i)
            encode(m_type, host.data() + placeOf(i), numbers[i]);
        cudaMemcpy(m_memory.at(), host.data(), host.size(), cudaMemcpyHostToDevice);
        cudaDeviceSynchronize(); // small copies return early
    }
    void* at() const { return m_memory.at(); }
    Numbers read() const
    {
        const Bytes host = m_memory.read();
        Numbers numbers(count());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = decode(m_type, host.data() + placeOf(i));
        return numbers;
    }

private:
    std::size_t count() const
    {
        std::int64_t product = 1;
        for (const std::int64_t extent : m_extents)
            product *= extent;
        return static_cast<std::size_t>(product);
    }
    std::size_t bytes() const { return count() * bytesOf(m_type); }
    std::size_t placeOf(std::size_t index) const
    {
        std::int64_t place = 0, rest = static_cast<std::int64_t>(index);
        for (std::size_t d = m_extents.size(); d-- > 0; rest /= m_extents[d])
            place += rest % m_extents[d] * m_strides[d];
        return static_cast<std::size_t>(place) * bytesOf(m_type);
    }

    cudnnDataType_t m_type;
    Extents m_extents, m_strides;
    DeviceBytes m_memory;
};

Numbers wholeNumbers(const Extents& extents, unsigned seed)
{
    std::mt19937 random(seed);
    Numbers numbers(static_cast<std::size_t>(extents[0] * extents[1] * extents[2] * extents[3]));
    for (double& number : numbers)
        number = static_cast<int>(random() % 5) - 2;
    return numbers;
}

Numbers realNumbers(const Extents& extents, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> spread(-1, 1);
    Numbers numbers(static_cast<std::size_t>(extents[0] * extents[1] * extents[2] * extents[3]));
    for (double& number : numbers)
        number = spread(random);
    return numbers;
}

/// x, w and y of a case, of which the one that the pass writes is what was there before.
struct Operands {
    Numbers x, w, y, bias, residual;

    Numbers& written(ConvolutionPass pass)
    {
        return pass == ConvolutionPass::Forward ? y : pass == ConvolutionPass::BackwardData ? x : w;
    }
};

Operands operandsOf(const ConvolutionCase& c, Numbers (*numbers)(const Extents&, unsigned))
{
    return {numbers(c.x(), 1), numbers(c.w(), 2), numbers(c.y(), 3), numbers(c.bias(), 4),
            numbers(c.y(), 5)};
}

/// By the definition, in double.
Numbers expected(const ConvolutionCase& c, Operands o)
{
    Numbers& result = o.written(c.pass);
    for (double& number : result)
        number *= c.beta;
    const Extents x = c.x(), w = c.w(), y = c.y();
    for (std::int64_t i = 0; i < y[0] * y[1] * y[2] * y[3]; ++i) {
        const std::int64_t q = i % y[3], p = i / y[3] % y[2], k = i / y[3] / y[2] % y[1],
                           n = i / y[3] / y[2] / y[1];
        for (std::int64_t j = 0; j < w[1] * w[2] * w[3]; ++j) {
            const std::int64_t s = j % w[3], r = j / w[3] % w[2], channel = j / w[3] / w[2];
            const std::int64_t row = p * c.stride - c.padding + r * c.dilation,
                               column = q * c.stride - c.padding + s * c.dilation;
            if (row < 0 || row >= x[2] || column < 0 || column >= x[3])
                continue;
            const bool isFlipped = c.mode == CUDNN_CONVOLUTION;
            const std::int64_t tap =
                isFlipped ? (w[2] - 1 - r) * w[3] + w[3] - 1 - s : r * w[3] + s;
            double& atX = o.x.at(((n * x[1] + channel) * x[2] + row) * x[3] + column);
            double& atW = o.w.at((k * w[1] + channel) * w[2] * w[3] + tap);
            double& atY = o.y.at(i);
            if (c.pass == ConvolutionPass::Forward)
                atY += c.alpha * atX * atW;
            else if (c.pass == ConvolutionPass::BackwardData)
                atX += c.alpha * atY * atW;
            else
                atW += c.alpha * atX * atY;
        }
    }
    for (std::size_t i = 0; i < o.y.size(); ++i) {
        const auto channel = i / static_cast<std::size_t>(y[2] * y[3]) % o.bias.size();
        o.y[i] += (c.hasBias ? o.bias[channel] : 0) + (c.hasResidual ? o.residual[i] : 0);
    }
    return result;
}

/// A case in device memory.
struct OnDevice {
    OnDevice(const ConvolutionCase& problem, const Operands& o)
        : c(problem),
          x(c.typeOf(ConvolutionPass::BackwardData), c.x(), c.strides(c.x()), o.x),
          w(c.typeOf(ConvolutionPass::BackwardFilter), c.w(), c.strides(c.w()), o.w),
          y(c.typeOf(ConvolutionPass::Forward), c.y(), c.strides(c.y()), o.y),
          bias(c.resultType, c.bias(), c.strides(c.bias()), o.bias),
          residual(c.resultType, c.y(), c.strides(c.y()), o.residual)
    {
    }

    Part pack(void* workspace) const
    {
        std::vector<std::int64_t> names = {kY, kX, kW}; // any order
        std::vector<void*> addresses = {y.at(), x.at(), w.at()};
        if (c.hasBias) {
            names.push_back(kBias);
            addresses.push_back(bias.at());
        }
        if (c.hasResidual) {
            names.push_back(kResidual);
            addresses.push_back(residual.at());
        }
        return packPart(names, addresses, workspace);
    }
    Numbers result() const
    {
        return c.pass == ConvolutionPass::Forward        ? y.read()
               : c.pass == ConvolutionPass::BackwardData ? x.read()
                                                         : w.read();
    }

    ConvolutionCase c;
    DeviceNumbers x, w, y, bias, residual;
};

double largestDifference(const Numbers& a, const Numbers& b)
{
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, std::isnan(a[i]) ? INFINITY : std::abs(a[i] - b[i]));
    return largest;
}

bool usesTensorCores(const Described& configuration)
{
    return hasNote(configuration, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

} // namespace

/// libcudnn over the emulated device: what it computes, and how long things must live.
class TestEmulatedConvolutions : public QObject {
    Q_OBJECT
private:
    RuntimeBench m_bench;
    cudnnHandle_t m_handle = nullptr;

    /// Numbers that each engine makes of a case.
    Numbers run(const ConvolutionCase& c, const Described& configuration, const Operands& operands)
    {
        const OnDevice memory(c, operands);
        const Part plan = planPart(m_handle, configuration);
        const DeviceBytes workspace(static_cast<std::size_t>(workspaceOf(*plan)) + 1);
        if (cudnnBackendExecute(m_handle, plan->raw(), memory.pack(workspace.at())->raw()) !=
            CUDNN_STATUS_SUCCESS)
            return {};
        return memory.result();
    }

private Q_SLOTS:
    void init()
    {
        m_bench.begin();
        VERGENCE_EXPECT_DONE(cudnnCreate(&m_handle));
    }
    void cleanup()
    {
        emulation::finishAll();
        cudnnDestroy(m_handle);
        QVERIFY(m_bench.endsWell());
    }

    void allEnginesGiveWhatTheDefinitionSays_data()
    {
        QTest::addColumn<ConvolutionCase>("problem");
        const std::pair<const char*, cudnnDataType_t> types[] = {{"F32", CUDNN_DATA_FLOAT},
                                                                 {"F16", CUDNN_DATA_HALF},
                                                                 {"BF16", CUDNN_DATA_BFLOAT16},
                                                                 {"F64", CUDNN_DATA_DOUBLE}};
        for (const auto& [typeName, type] : types) {
            for (int pass = 0; pass < 3; ++pass) {
                for (const bool isNhwc : {false, true}) {
                    ConvolutionCase c;
                    c.type = c.resultType = type;
                    c.pass = static_cast<ConvolutionPass>(pass);
                    c.isNhwc = isNhwc;
                    const auto add = [&](const char* what) {
                        QTest::addRow("%s pass %d %s %s", typeName, pass, isNhwc ? "NHWC" : "NCHW",
                                      what)
                            << c;
                    };
                    add("plain");
                    c.stride = 2;
                    c.padding = 2;
                    c.height = 7;
                    add("strided");
                    c.dilation = 2;
                    c.stride = 1;
                    add("dilated");
                    c.dilation = 1;
                    c.mode = CUDNN_CONVOLUTION;
                    c.padding = 0;
                    add("flipped");
                    c.mode = CUDNN_CROSS_CORRELATION;
                    c.alpha = 2;
                    c.beta = -1;
                    add("scaled");
                    c.alpha = 1;
                    c.beta = 0;
                    c.channels = 3;
                    c.filters = 5;
                    c.taps = 1;
                    add("odd channels, one tap");
                }
            }
        }
    }
    void allEnginesGiveWhatTheDefinitionSays()
    {
        QFETCH(const ConvolutionCase, problem);
        const Operands operands = operandsOf(problem, wholeNumbers);
        const Numbers wanted = expected(problem, operands);
        const ConvolutionParts parts = partsOf(m_handle, problem);
        const auto all = allConfigurations(*parts.graph);
        QVERIFY(!all.empty());
        for (const Part& configuration : all)
            QCOMPARE(run(problem, *configuration, operands), wanted);
    }

    void sumsBehindConvolutionsAreFused_data()
    {
        QTest::addColumn<ConvolutionCase>("problem");
        for (const cudnnDataType_t type :
             {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
            for (int sums = 1; sums < 4; ++sums) {
                ConvolutionCase c;
                c.type = c.resultType = type;
                c.hasBias = sums & 1;
                c.hasResidual = sums & 2;
                QTest::addRow("type %d sums %d", int{type}, sums) << c;
            }
        }
        ConvolutionCase c;
        c.type = CUDNN_DATA_HALF;
        c.hasBias = c.hasResidual = true;
        QTest::addRow("F16 to F32") << c;
    }
    void sumsBehindConvolutionsAreFused()
    {
        QFETCH(const ConvolutionCase, problem);
        const Operands operands = operandsOf(problem, wholeNumbers);
        const Numbers wanted = expected(problem, operands);
        const ConvolutionParts parts = partsOf(m_handle, problem);
        const auto all = allConfigurations(*parts.graph);
        QVERIFY(all.size() >= 3);
        for (const Part& configuration : all)
            QCOMPARE(run(problem, *configuration, operands), wanted);
    }

    void pointwiseFunctions_data()
    {
        QTest::addColumn<int>("mode");
        QTest::addColumn<double>("of2");
        QTest::addColumn<double>("ofMinus2");
        QTest::addRow("relu") << int{CUDNN_POINTWISE_RELU_FWD} << 2.0 << 0.0;
        QTest::addRow("identity") << int{CUDNN_POINTWISE_IDENTITY} << 2.0 << -2.0;
        QTest::addRow("swish") << int{CUDNN_POINTWISE_SWISH_FWD} << 2 / (1 + std::exp(-2.0))
                               << -2 / (1 + std::exp(2.0));
    }
    void pointwiseFunctions()
    {
        QFETCH(const int, mode);
        QFETCH(const double, of2);
        QFETCH(const double, ofMinus2);
        ConvolutionCase c;
        c.images = c.height = c.width = c.filters = c.taps = 1;
        c.filters = 2;
        c.padding = 0;
        const Part x = tensorPart(kX, c.x(), c.strides(c.x()), c.type),
                   w = tensorPart(kW, c.w(), c.strides(c.w()), c.type),
                   y = tensorPart(kY, c.y(), c.strides(c.y()), c.type),
                   between = tensorPart(100, c.y(), c.strides(c.y()), c.type, 16, true);
        const Part convolution = operationPart(c, *x, *w, *between, *convolutionPart(c));
        const Part function =
            pointwisePart(static_cast<cudnnPointwiseMode_t>(mode), *between, nullptr, *y);
        // Operations may come in any order.
        const Part graph = graphPart(m_handle, {function.get(), convolution.get()});
        Operands operands = operandsOf(c, wholeNumbers);
        operands.x.assign(operands.x.size(), 0);
        operands.w.assign(operands.w.size(), 0);
        operands.x[0] = 1;
        operands.w[0] = 2;
        operands.w[8] = -2;
        for (const Part& configuration : allConfigurations(*graph)) {
            const Numbers result = run(c, *configuration, operands);
            QVERIFY(std::abs(result[0] - of2) < 1e-6);
            QVERIFY(std::abs(result[1] - ofMinus2) < 1e-6);
        }
    }

    void tensorCoresRoundF32Operands()
    {
        for (const bool isFused : {false, true}) {
            ConvolutionCase c;
            c.hasResidual = isFused;
            const Operands operands = operandsOf(c, realNumbers);
            const Numbers wanted = expected(c, operands);
            const ConvolutionParts parts = partsOf(m_handle, c);
            int rounding = 0, exact = 0;
            for (const Part& configuration : allConfigurations(*parts.graph)) {
                const double off = largestDifference(run(c, *configuration, operands), wanted);
                const bool rounds = usesTensorCores(*configuration);
                (rounds ? rounding : exact) += 1;
                QVERIFY2(rounds ? off > 1e-4 && off < 1e-2 : off < 1e-5,
                         qPrintable(QString::number(off)));
            }
            QVERIFY(rounding > 0 && exact > 0);
        }
    }
    void tf32HasTenBits()
    {
        ConvolutionCase c;
        c.images = c.height = c.width = c.filters = c.taps = 1;
        c.padding = 0;
        Operands operands = operandsOf(c, wholeNumbers);
        operands.x.assign(operands.x.size(), 0);
        operands.w.assign(operands.w.size(), 1);
        constexpr double kBit = 1.0 / 1024;
        for (const auto& [number, rounded] : {std::pair{1 + kBit / 4, 1.0},
                                              {1 + 3 * kBit / 4, 1 + kBit},
                                              {-1 - 3 * kBit / 4, -1 - kBit}}) {
            operands.x[0] = number;
            const ConvolutionParts parts = partsOf(m_handle, c);
            for (const Part& configuration : allConfigurations(*parts.graph))
                QCOMPARE(run(c, *configuration, operands).front(),
                         usesTensorCores(*configuration) ? rounded : number);
        }
    }
    void enginesAddInDifferentOrders()
    {
        ConvolutionCase c;
        c.channels = 32;
        const Operands operands = operandsOf(c, realNumbers);
        const ConvolutionParts parts = partsOf(m_handle, c);
        std::set<Numbers> results;
        std::set<std::int64_t> sizes;
        const auto all = configurations(*parts.graph, CUDNN_HEUR_MODE_A);
        for (const Part& configuration : all) {
            results.insert(run(c, *configuration, operands));
            sizes.insert(workspaceOf(*planPart(m_handle, *configuration)));
        }
        QCOMPARE(results.size(), all.size());
        QVERIFY(sizes.size() > 1);
    }
    void onlyNondeterministicEnginesDoNotRepeat()
    {
        for (const auto pass : {ConvolutionPass::BackwardData, ConvolutionPass::BackwardFilter}) {
            ConvolutionCase c;
            c.pass = pass;
            c.channels = c.filters = 16;
            const Operands operands = operandsOf(c, realNumbers);
            const ConvolutionParts parts = partsOf(m_handle, c);
            int changing = 0;
            for (const Part& configuration : configurations(*parts.graph, CUDNN_HEUR_MODE_A)) {
                const Numbers first = run(c, *configuration, operands);
                const bool repeats = run(c, *configuration, operands) == first;
                QCOMPARE(repeats, !hasNote(*configuration, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
                changing += repeats ? 0 : 1;
            }
            QCOMPARE(changing, 1);
        }
    }

    void workIsDoneWhenTheStreamIsWaitedFor()
    {
        const StreamHandle stream;
        VERGENCE_EXPECT_DONE(cudnnSetStream(m_handle, stream));
        const ConvolutionCase c;
        const Operands operands = operandsOf(c, wholeNumbers);
        const OnDevice memory(c, operands);
        ConvolutionParts parts = partsOf(m_handle, c);
        Part configuration = configurations(*parts.graph, CUDNN_HEUR_MODE_A).front();
        const Part plan = planPart(m_handle, *configuration);
        parts = {};
        configuration.reset(); // plans outlive what they were made from
        Part pack = memory.pack(nullptr);
        VERGENCE_EXPECT_DONE(cudnnBackendExecute(m_handle, plan->raw(), pack->raw()));
        pack.reset();
        VERGENCE_EXPECT_SUCCESS(cudaStreamSynchronize(stream));
        QCOMPARE(memory.result(), expected(c, operands));
    }
    void recordedWorkNeedsItsPlan()
    {
        const StreamHandle stream;
        VERGENCE_EXPECT_DONE(cudnnSetStream(m_handle, stream));
        const ConvolutionCase c;
        const Operands operands = operandsOf(c, wholeNumbers);
        const OnDevice memory(c, operands);
        const ConvolutionParts parts = partsOf(m_handle, c);
        const Part plan =
            planPart(m_handle, *configurations(*parts.graph, CUDNN_HEUR_MODE_A).front());
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t replay = nullptr;
        VERGENCE_EXPECT_SUCCESS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        VERGENCE_EXPECT_DONE(
            cudnnBackendExecute(m_handle, plan->raw(), memory.pack(nullptr)->raw()));
        VERGENCE_EXPECT_SUCCESS(cudaStreamEndCapture(stream, &graph));
        VERGENCE_EXPECT_SUCCESS(cudaGraphInstantiate(&replay, graph, 0));
        QCOMPARE(memory.result(), operands.y); // nothing was done yet
        VERGENCE_EXPECT_SUCCESS(cudaGraphLaunch(replay, stream));
        VERGENCE_EXPECT_SUCCESS(cudaStreamSynchronize(stream));
        QCOMPARE(memory.result(), expected(c, operands));
        QVERIFY(emulation::takeFindings().empty());
        plan->destroy();
        VERGENCE_EXPECT_SUCCESS(cudaGraphLaunch(replay, stream));
        cudaStreamSynchronize(stream);
        QVERIFY(tookFinding("stale-plan"));
        cudaGraphExecDestroy(replay);
        cudaGraphDestroy(graph);
    }
    void queuedWorkDoesNotNeedItsPlan()
    {
        const ConvolutionCase c;
        const Operands operands = operandsOf(c, wholeNumbers);
        const OnDevice memory(c, operands);
        const ConvolutionParts parts = partsOf(m_handle, c);
        const Part plan =
            planPart(m_handle, *configurations(*parts.graph, CUDNN_HEUR_MODE_A).front());
        VERGENCE_EXPECT_DONE(
            cudnnBackendExecute(m_handle, plan->raw(), memory.pack(nullptr)->raw()));
        plan->destroy();
        QCOMPARE(memory.result(), expected(c, operands));
    }

    void memoryThatEndsTooEarlyIsReported_data()
    {
        QTest::addColumn<bool>("isWorkspace");
        QTest::addRow("workspace") << true;
        QTest::addRow("result") << false;
    }
    void memoryThatEndsTooEarlyIsReported()
    {
        QFETCH(const bool, isWorkspace);
        const ConvolutionCase c;
        const OnDevice memory(c, operandsOf(c, wholeNumbers));
        const ConvolutionParts parts = partsOf(m_handle, c);
        const Part plan =
            planPart(m_handle, *configurations(*parts.graph, CUDNN_HEUR_MODE_FALLBACK).front());
        const auto needed = static_cast<std::size_t>(workspaceOf(*plan));
        QVERIFY(needed > 1);
        const DeviceBytes workspace(isWorkspace ? needed - 1 : needed), result(16);
        const Part pack = packPart({kX, kW, kY},
                                   {memory.x.at(), memory.w.at(),
                                    isWorkspace ? memory.y.at() : static_cast<void*>(result.at())},
                                   workspace.at());
        VERGENCE_EXPECT_DONE(cudnnBackendExecute(m_handle, plan->raw(), pack->raw()));
        emulation::finishAll();
        QVERIFY(!emulation::takeFindings().empty());
    }
    void workspaceKeepsNothing()
    {
        const ConvolutionCase c;
        const OnDevice memory(c, operandsOf(c, wholeNumbers));
        const ConvolutionParts parts = partsOf(m_handle, c);
        const Part plan =
            planPart(m_handle, *configurations(*parts.graph, CUDNN_HEUR_MODE_FALLBACK).front());
        const auto bytes = static_cast<std::size_t>(workspaceOf(*plan));
        const DeviceBytes workspace(bytes, 7);
        const Part pack = memory.pack(workspace.at());
        VERGENCE_EXPECT_DONE(cudnnBackendExecute(m_handle, plan->raw(), pack->raw()));
        QCOMPARE(workspace.read(), filled(bytes, 0xff));
    }
    void resultsMayLieOnTheResidualOnly()
    {
        ConvolutionCase c;
        c.hasResidual = true;
        c.filters = c.channels;
        const Operands operands = operandsOf(c, wholeNumbers);
        const OnDevice memory(c, operands);
        const ConvolutionParts parts = partsOf(m_handle, c);
        const Part plan =
            planPart(m_handle, *configurations(*parts.graph, CUDNN_HEUR_MODE_A).front());
        const auto execute = [&](void* y, void* residual) {
            const Part pack = packPart({kX, kW, kResidual, kY},
                                       {memory.x.at(), memory.w.at(), residual, y}, nullptr);
            const cudnnStatus_t status = cudnnBackendExecute(m_handle, plan->raw(), pack->raw());
            emulation::finishAll();
            return status;
        };
        VERGENCE_EXPECT_DONE(execute(memory.residual.at(), memory.residual.at()));
        QCOMPARE(memory.residual.read(), expected(c, operands));
        QVERIFY(emulation::takeFindings().empty());
        VERGENCE_EXPECT_DONE(execute(memory.x.at(), memory.residual.at()));
        QVERIFY(tookFinding("convolution"));
    }
};

VERGENCE_TEST(TestEmulatedConvolutions)
#include "tst_emulated_convolutions.moc"
