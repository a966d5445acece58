#include <cmath>
#include <memory>
#include <set>

#include <QTest>

#include "tests/cuda_emulation/product_bench.h"
#include "tests/cuda_emulation/wrong_products.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using emulation::settings;
using emulation::takeFindings;

namespace {

std::vector<double> wanted(const WholeNumbers& x, const std::function<double(double, int)>& f)
{
    return laidOut(x.bench.d, x.bench.batches, [&](int batch, int row, int column) {
        return f(x.sum(batch, row, column), row);
    });
}

double gelu(double x)
{
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

template <std::size_t N>
void addRows(const WrongCall (&calls)[N])
{
    QTest::addColumn<const WrongCall*>("wrong");
    for (const WrongCall& call : calls)
        QTest::addRow("%s", call.name) << &call;
}

} // namespace

Q_DECLARE_METATYPE(const WrongCall*)

/// The emulated cuBLASLt, by its functions alone.
class TestEmulatedProducts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { settings().devices = 2; }
    void init()
    {
        settings().capability = 90;
        cudaSetDevice(0);
    }
    void cleanup() { QCOMPARE(takeFindings().size(), std::size_t{0}); }

    void allTypesAndLayouts_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("resultType");
        QTest::addColumn<int>("batches");
        QTest::addColumn<bool>("turnsA");
        QTest::addColumn<bool>("turnsB");
        QTest::addColumn<int>("padding");
        const std::pair<int, int> types[] = {{CUDA_R_64F, CUDA_R_64F},   {CUDA_R_32F, CUDA_R_32F},
                                             {CUDA_R_16F, CUDA_R_16F},   {CUDA_R_16F, CUDA_R_32F},
                                             {CUDA_R_16BF, CUDA_R_16BF}, {CUDA_R_16BF, CUDA_R_32F}};
        for (const auto& [type, resultType] : types) {
            for (int i = 0; i < 16; ++i)
                QTest::addRow("%d to %d, %d", type, resultType, i)
                    << type << resultType << (i & 8 ? 3 : 1) << bool(i & 1) << bool(i & 2)
                    << (i & 4 ? 3 : 0);
        }
    }
    void allTypesAndLayouts()
    {
        QFETCH(int, type);
        QFETCH(int, resultType);
        QFETCH(int, batches);
        QFETCH(bool, turnsA);
        QFETCH(bool, turnsB);
        QFETCH(int, padding);
        ProductBench bench(16, 8, 24, static_cast<cudaDataType_t>(type),
                           static_cast<cudaDataType_t>(resultType), batches, turnsA, turnsB,
                           padding);
        const WholeNumbers x(bench);
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QVERIFY(bench.found.size() >= 5);
        for (int i = 0; i < static_cast<int>(bench.found.size()); ++i) {
            const WholeNumbers again(bench);
            QCOMPARE(bench.call(i), CUBLAS_STATUS_SUCCESS);
            QCOMPARE(again.d.numbers(), wanted(x, [](double sum, int) { return sum; }));
        }
    }

    void addsScaled()
    {
        ProductBench bench(7, 5, 9, CUDA_R_32F, CUDA_R_32F, 2, false, true, 1);
        const WholeNumbers x(bench);
        bench.wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t{4});
        bench.alpha = 0.5;
        bench.beta = 2;
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(bench.call(), CUBLAS_STATUS_SUCCESS);
        const auto inPlace = [](double sum, int) { return sum / 2 - 110; };
        QCOMPARE(x.d.numbers(), wanted(x, inPlace));
        // One column for all columns, and one matrix for all matrices.
        const DeviceNumbers addend(CUDA_R_32F, {9, 1, 2, 3, 4, 5, 6, 7});
        bench.placeC = addend.at(1);
        bench.set(bench.layouts[2], CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{0});
        bench.set(bench.layouts[2], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{0});
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(bench.call(), CUBLAS_STATUS_SUCCESS);
        const auto apart = [](double sum, int row) { return sum / 2 + 2 * (row + 1); };
        QCOMPARE(x.d.numbers(), wanted(x, apart));
    }

    void readsNoAddendWithoutBeta()
    {
        SmallProduct x; // C and the workspace are full of NaN
        const MatrixMemory nan(16 * 8 * 4);
        x.bench.placeC = nan.at();
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.numbers.d.numbers(), wanted(x.numbers, [](double sum, int) { return sum; }));
        x.bench.placeC = nullptr;
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
    }

    void interleavedBatches()
    {
        // Heads of attention: columns of 4 in rows of 12, three matrices side by side.
        ProductBench bench(4, 6, 5, CUDA_R_32F, CUDA_R_32F, 3);
        bench.d.stride = 12;
        bench.d.distance = 4;
        for (const std::size_t i : {2, 3}) {
            bench.set(bench.layouts[i], CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{12});
            bench.set(bench.layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                      std::int64_t{4});
        }
        const WholeNumbers x(bench);
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(bench.call(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.d.numbers(), wanted(x, [](double sum, int) { return sum; }));
        // One element short: of the columns beside, and of those two further on.
        for (const std::int64_t distance : {3, 23}) {
            bench.set(bench.layouts[3], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, distance);
            QCOMPARE(bench.ask(), CUBLAS_STATUS_INVALID_VALUE);
            QCOMPARE(takeFindings().size(), std::size_t{1});
        }
    }

    void biasAndActivation_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("resultType");
        QTest::addRow("F64") << int{CUDA_R_64F} << int{CUDA_R_64F};
        QTest::addRow("F32") << int{CUDA_R_32F} << int{CUDA_R_32F};
        QTest::addRow("F16") << int{CUDA_R_16F} << int{CUDA_R_16F};
        QTest::addRow("BF16") << int{CUDA_R_16BF} << int{CUDA_R_16BF};
        QTest::addRow("BF16 to F32") << int{CUDA_R_16BF} << int{CUDA_R_32F};
    }
    void biasAndActivation()
    {
        QFETCH(int, type);
        QFETCH(int, resultType);
        const auto result = static_cast<cudaDataType_t>(resultType);
        ProductBench bench(16, 8, 24, static_cast<cudaDataType_t>(type), result, 2);
        const DeviceNumbers bias(
            result, laidOut({result, 16, 1, 16, 0}, 1, [](int, int row, int) { return row - 8; }));
        const std::pair<cublasLtEpilogue_t, std::function<double(double, int)>> epilogues[] = {
            {CUBLASLT_EPILOGUE_BIAS, [](double x, int row) { return x + row - 8; }},
            {CUBLASLT_EPILOGUE_RELU, [](double x, int) { return std::max(x, 0.0); }},
            {CUBLASLT_EPILOGUE_RELU_BIAS,
             [](double x, int row) { return std::max(x + row - 8, 0.0); }},
            {CUBLASLT_EPILOGUE_GELU, [](double x, int) { return gelu(x); }},
            {CUBLASLT_EPILOGUE_GELU_BIAS, [](double x, int row) { return gelu(x + row - 8); }}};
        for (const auto& [epilogue, function] : epilogues) {
            const WholeNumbers x(bench);
            bench.setBias(epilogue, bias.at());
            QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
            QCOMPARE(bench.call(1), CUBLAS_STATUS_SUCCESS);
            const double rounding = result == CUDA_R_16F    ? 0x1p-11
                                    : result == CUDA_R_16BF ? 0x1p-8
                                                            : 1e-6;
            VERGENCE_AGREES(difference(x.d.numbers(), wanted(x, function), 1e-6, rounding));
        }
    }

    void activationsAndTheirGradients()
    {
        SmallProduct x;
        const auto stateOf = [](const SmallProduct& of, int row, int column) {
            return of.numbers.sum(0, row, column);
        };
        x.bench.setAux(CUBLASLT_EPILOGUE_RELU_AUX, x.aux.at(), 128);
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        const auto mask = x.aux.download();
        for (int column = 0; column < 8; ++column) {
            for (int row = 0; row < 16; ++row)
                QCOMPARE((mask[static_cast<std::size_t>(column * 16 + row / 8)] >> row % 8 &
                          std::byte{1}) == std::byte{1},
                         stateOf(x, row, column) > 0);
        }
        const auto masked = [](double sum, int) { return std::max(sum, 0.0); };
        QCOMPARE(x.numbers.d.numbers(), wanted(x.numbers, masked));
        x.bench.setAux(CUBLASLT_EPILOGUE_DRELU_BGRAD, x.aux.at(), 128);
        x.bench.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, x.bias.at());
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.numbers.d.numbers(), wanted(x.numbers, masked));
        for (int row = 0; row < 16; ++row) {
            double sum = 0;
            for (int column = 0; column < 8; ++column)
                sum += std::max(stateOf(x, row, column), 0.0);
            QCOMPARE(x.bias.numbers()[static_cast<std::size_t>(row)], sum);
        }
        x.bench.setAux(CUBLASLT_EPILOGUE_GELU_AUX, x.aux.at(), 16);
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        const auto kept = x.aux.download();
        for (std::size_t i = 0; i < 128; ++i)
            QCOMPARE(static_cast<double>(numberAt<float>(kept, i)),
                     stateOf(x, static_cast<int>(i % 16), static_cast<int>(i / 16)));
        x.bench.setAux(CUBLASLT_EPILOGUE_DGELU, x.aux.at(), 16);
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        const auto slope = [](double sum, int) {
            return sum * (gelu(sum + 1e-6) - gelu(sum - 1e-6)) / 2e-6;
        };
        VERGENCE_AGREES(difference(x.numbers.d.numbers(), wanted(x.numbers, slope), 1e-5, 1e-5));
    }

    void gradientsOfBiasesFromOperands()
    {
        for (const bool isOfA : {true, false}) {
            SmallProduct x;
            x.bench.setBias(isOfA ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB,
                            x.bias.at());
            QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
            QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
            for (int i = 0; i < (isOfA ? 16 : 8); ++i) {
                double sum = 0;
                for (int k = 0; k < 32; ++k)
                    sum += isOfA ? numberOfA(0, i, k) : numberOfB(0, k, i);
                QCOMPARE(x.bias.numbers()[static_cast<std::size_t>(i)], sum);
            }
            QCOMPARE(x.bias.numbers()[isOfA ? 16 : 8], 1.5);
        }
    }

    void operandsOfTf32()
    {
        const double u = 0x1p-10;
        const std::vector<double> given = {1 + u / 2, 1 + u / 2 + 0x1p-20, 1 + 1.5 * u, 3e38};
        for (const bool isFast : {false, true}) {
            for (const int capability : {75, 80}) {
                settings().capability = capability;
                ProductBench bench(4, 1, 1);
                if (isFast)
                    bench.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE,
                              std::int32_t{CUBLAS_COMPUTE_32F_FAST_TF32});
                const DeviceNumbers a(CUDA_R_32F, given), one(CUDA_R_32F, {1.0}),
                    d(CUDA_R_32F, given);
                bench.placeA = a.at();
                bench.placeB = one.at();
                bench.placeC = bench.placeD = d.at();
                QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
                QCOMPARE(bench.call(), CUBLAS_STATUS_SUCCESS);
                auto got = d.numbers();
                QVERIFY(std::abs(got.back() / 3e38 - 1) < u);
                got.pop_back();
                const bool isRounded = isFast && capability >= 80;
                const std::vector<double> want =
                    isRounded ? std::vector<double>{1, 1 + u, 1 + 2 * u}
                              : std::vector<double>{given[0], given[1], given[2]};
                QCOMPARE(got, want);
            }
        }
    }

    void numbersOf16Bits_data()
    {
        QTest::addColumn<int>("type");
        QTest::addRow("F16") << int{CUDA_R_16F};
        QTest::addRow("BF16") << int{CUDA_R_16BF};
    }
    /// Every number times one, in its own type and in F32; sums that lie between two numbers.
    void numbersOf16Bits()
    {
        QFETCH(int, type);
        const auto narrow = static_cast<cudaDataType_t>(type);
        std::vector<std::byte> all(2 * 65536);
        for (unsigned i = 0; i < 65536; ++i)
            put(all, i, static_cast<std::uint16_t>(i));
        const DeviceNumbers one(narrow, {1.0});
        const MatrixMemory a(all.size()), d(4 * 65536);
        a.upload(all);
        for (const cudaDataType_t result : {narrow, CUDA_R_32F}) {
            ProductBench bench(65536, 1, 1, narrow, result);
            bench.placeA = a.at();
            bench.placeB = one.at();
            bench.placeC = bench.placeD = d.at();
            QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
            QCOMPARE(bench.call(), CUBLAS_STATUS_SUCCESS);
            const auto got = d.download();
            for (std::size_t i = 0; i < 65536; ++i) {
                const double want = numberAt(narrow, all, i), is = numberAt(result, got, i);
                QVERIFY(is == want || (std::isnan(is) && std::isnan(want)));
            }
        }
        // a + 2⁻ⁿ a: all results of F16 and BF16 that round, overflow or get small.
        ProductBench bench(65536, 1, 1, narrow, narrow);
        const DeviceNumbers shifted(narrow, {narrow == CUDA_R_16F ? 1 + 0x1p-10 : 1 + 0x1p-7});
        bench.placeA = a.at();
        bench.placeB = shifted.at();
        bench.placeC = bench.placeD = d.at();
        bench.alpha = 0.75;
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(bench.call(), CUBLAS_STATUS_SUCCESS);
        const auto got = d.download();
        for (std::size_t i = 0; i < 65536; ++i) {
            std::vector<std::byte> want(2);
            const float factor = static_cast<float>(shifted.numbers()[0]);
            put(narrow, want, 0,
                static_cast<double>(0.75f *
                                    (static_cast<float>(numberAt(narrow, all, i)) * factor)));
            const double is = numberAt(narrow, got, i), wish = numberAt(narrow, want, 0);
            QVERIFY(is == wish || (std::isnan(is) && std::isnan(wish)));
        }
    }

    void algorithmsDiffer()
    {
        ProductBench bench(16, 8, 1000);
        const auto rough = [](int, int row, int column) {
            return std::sin(1.0 + 3 * row + 5 * column);
        };
        const DeviceNumbers a(CUDA_R_32F, laidOut(bench.a, 1, rough)),
            b(CUDA_R_32F, laidOut(bench.b, 1, rough)), d(CUDA_R_32F, laidOut(bench.d, 1, rough));
        bench.placeA = a.at();
        bench.placeB = b.at();
        bench.placeC = bench.placeD = d.at();
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        std::set<std::vector<double>> results;
        std::set<std::size_t> workspaces;
        for (int i = 0; i < static_cast<int>(bench.found.size()); ++i) {
            QCOMPARE(bench.found[static_cast<std::size_t>(i)].state, CUBLAS_STATUS_SUCCESS);
            QCOMPARE(bench.call(i), CUBLAS_STATUS_SUCCESS);
            const auto first = d.numbers();
            QCOMPARE(bench.call(i), CUBLAS_STATUS_SUCCESS);
            QCOMPARE(d.numbers(), first);
            results.insert(first);
            workspaces.insert(bench.found[static_cast<std::size_t>(i)].workspaceSize);
            VERGENCE_AGREES(difference(first, *results.begin(), 1e-3, 1e-4));
        }
        QCOMPARE(results.size(), bench.found.size());
        QVERIFY(workspaces.size() >= 3);
        QVERIFY(workspaces.contains(0));
    }

    void wishesAreGranted()
    {
        ProductBench bench(16, 8, 32);
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        const std::size_t all = bench.found.size();
        bench.wanted = 2;
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(bench.found.size(), std::size_t{2});
        bench.wanted = 8;
        bench.wish(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{6});
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(bench.found.size(), all - 1);
        bench.wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{8});
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(bench.found.size(), all - 2);
        bench.wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{0});
        QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(bench.found.size(), std::size_t{1});
        const WholeNumbers x(bench);
        bench.workspace = nullptr;
        bench.workspaceBytes = 0;
        QCOMPARE(bench.call(), CUBLAS_STATUS_SUCCESS);
        // Without an algorithm the library chooses itself.
        QCOMPARE(bench.callWith(nullptr), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.d.numbers(), wanted(x, [](double sum, int) { return sum; }));
    }

    void workspaceIsWrittenTo()
    {
        SmallProduct x;
        cudaMemset(x.bench.workspace, 0, x.bench.workspaceBytes);
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        const auto bytes = x.bench.memory.download();
        const auto used = static_cast<std::ptrdiff_t>(x.bench.found[0].workspaceSize);
        QVERIFY(std::all_of(bytes.begin(), bytes.begin() + used,
                            [](std::byte byte) { return byte == std::byte{0xff}; }));
    }

    void descriptorsAreReadWhenCalled()
    {
        cudaStream_t stream = nullptr;
        QCOMPARE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        std::vector<double> want;
        std::unique_ptr<WholeNumbers> x;
        {
            ProductBench bench(16, 8, 32);
            x = std::make_unique<WholeNumbers>(bench);
            bench.stream = stream;
            bench.workspace = nullptr;
            bench.workspaceBytes = 0;
            bench.wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{0});
            QCOMPARE(bench.ask(), CUBLAS_STATUS_SUCCESS);
            QCOMPARE(bench.call(), CUBLAS_STATUS_SUCCESS);
            want = wanted(*x, [](double sum, int) { return sum; });
        }
        QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
        QCOMPARE(x->d.numbers(), want);
        QCOMPARE(cudaStreamDestroy(stream), cudaSuccess);
    }

    void isReplayedInGraphs()
    {
        SmallProduct x;
        x.bench.beta = 1;
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(cudaStreamCreateWithFlags(&x.bench.stream, cudaStreamNonBlocking), cudaSuccess);
        QCOMPARE(cudaStreamBeginCapture(x.bench.stream, cudaStreamCaptureModeThreadLocal),
                 cudaSuccess);
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        QCOMPARE(cudaStreamEndCapture(x.bench.stream, &graph), cudaSuccess);
        QCOMPARE(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
        for (int i = 0; i < 3; ++i)
            QCOMPARE(cudaGraphLaunch(executable, x.bench.stream), cudaSuccess);
        QCOMPARE(cudaStreamSynchronize(x.bench.stream), cudaSuccess);
        QCOMPARE(x.numbers.d.numbers(),
                 wanted(x.numbers, [](double sum, int) { return 3 * sum - 55; }));
        cudaGraphExecDestroy(executable);
        cudaGraphDestroy(graph);
        cudaStreamDestroy(x.bench.stream);
    }

    void wrongQuestions_data() { addRows(kWrongQuestions); }
    void wrongQuestions()
    {
        QFETCH(const WrongCall*, wrong);
        {
            SmallProduct x;
            QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
            wrong->spoil(x);
            QCOMPARE(x.bench.ask(), wrong->status);
            QCOMPARE(x.bench.found.size(), std::size_t{0});
            QCOMPARE(!takeFindings().empty(), wrong->isFinding);
            cudaSetDevice(0);
        }
        takeFindings(); // of what was destroyed twice
    }

    void wrongCalls_data() { addRows(kWrongCalls); }
    void wrongCalls()
    {
        QFETCH(const WrongCall*, wrong);
        {
            SmallProduct x;
            QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
            wrong->spoil(x);
            QCOMPARE(x.bench.call(), wrong->status);
            QCOMPARE(!takeFindings().empty(), wrong->isFinding);
            QCOMPARE(x.numbers.d.numbers(),
                     laidOut(x.bench.d, 1, [](int, int, int) { return -55; }));
        }
        takeFindings(); // of what was destroyed twice
    }

    void wrongEpilogues_data() { addRows(kWrongEpilogues); }
    void wrongEpilogues()
    {
        QFETCH(const WrongCall*, wrong);
        SmallProduct x;
        x.bench.setAux(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, x.aux.at(), 16);
        x.bench.setBias(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, x.bias.at());
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        wrong->spoil(x);
        QCOMPARE(x.bench.call(), wrong->status);
        QCOMPARE(!takeFindings().empty(), wrong->isFinding);
    }

    /// The library cannot see it when it is called; the device can.
    void memoryThatIsNotLive()
    {
        SmallProduct x;
        QCOMPARE(x.bench.ask(), CUBLAS_STATUS_SUCCESS);
        alignas(256) static float onHost[16 * 32];
        const MatrixMemory tooShort(16 * 32 * 4 - 1);
        auto freed = std::make_unique<MatrixMemory>(16 * 32 * 4);
        const void* const gone = freed->at();
        freed.reset();
        const void* const places[] = {onHost, tooShort.at(), gone};
        for (const void* place : places) {
            x.bench.placeA = place;
            QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
            cudaDeviceSynchronize();
            QCOMPARE(takeFindings().size(), std::size_t{1});
        }
        x.bench.placeA = x.numbers.a.at();
        x.bench.workspaceBytes += 1;
        QCOMPARE(x.bench.call(), CUBLAS_STATUS_SUCCESS);
        cudaDeviceSynchronize();
        QCOMPARE(takeFindings().size(), std::size_t{1});
    }

    void attributes()
    {
        ProductBench bench(16, 8, 32);
        const auto refuses = [](cublasStatus_t status) {
            return status == CUBLAS_STATUS_INVALID_VALUE && takeFindings().size() == 1;
        };
        QVERIFY(refuses(bench.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int64_t{1})));
        QVERIFY(refuses(bench.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, std::int32_t{0})));
        QVERIFY(
            refuses(bench.set(static_cast<cublasLtMatmulDescAttributes_t>(9), std::int32_t{0})));
        QVERIFY(refuses(cublasLtMatmulDescSetAttribute(bench.operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                       nullptr, 4)));
        QVERIFY(refuses(
            bench.set(bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int64_t{1})));
        QVERIFY(refuses(bench.wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint32_t{1})));
        QVERIFY(refuses(cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F)));
        std::size_t written = 0;
        std::int64_t stride = 0;
        QCOMPARE(cublasLtMatrixLayoutGetAttribute(bench.layouts[1], CUBLASLT_MATRIX_LAYOUT_LD,
                                                  &stride, sizeof(stride), &written),
                 CUBLAS_STATUS_SUCCESS);
        QCOMPARE(stride, std::int64_t{32});
        QCOMPARE(written, std::size_t{8});
        QVERIFY(refuses(cublasLtMatrixLayoutGetAttribute(
            bench.layouts[1], CUBLASLT_MATRIX_LAYOUT_LD, &stride, 4, &written)));
        std::int32_t type = 0;
        QCOMPARE(cublasLtMatmulDescGetAttribute(bench.operation,
                                                CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type,
                                                sizeof(type), nullptr),
                 CUBLAS_STATUS_SUCCESS);
        QCOMPARE(type, -1);
    }

    void destroyedTwice()
    {
        cublasLtMatrixLayout_t layout = nullptr;
        QCOMPARE(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
        const cublasLtMatrixLayout_t kept = layout;
        QCOMPARE(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
        QVERIFY(layout != kept);
        QCOMPARE(cublasLtMatrixLayoutDestroy(kept), CUBLAS_STATUS_INVALID_VALUE);
        QCOMPARE(takeFindings().size(), std::size_t{1});
        QCOMPARE(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(cublasLtMatrixLayoutDestroy(nullptr), CUBLAS_STATUS_SUCCESS);
        QCOMPARE(cublasLtDestroy(nullptr), CUBLAS_STATUS_INVALID_VALUE);
        QCOMPARE(takeFindings().size(), std::size_t{1});
    }
};

VERGENCE_TEST(TestEmulatedProducts)
#include "tst_emulated_products.moc"
