#include <array>
#include <functional>
#include <numeric>

#include <QTest>

#include "core/compute/dense.h"
#include "core/compute/dense/plan_cache.h"
#include "tests/core/compute/dense/dense_fixture.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {

struct Setup {
    Index batch = 1, m = 1, n = 1, k = 1;
    bool transposeA = false, transposeB = false, sharedB = false;
    double alpha = 1, beta = 0;
    bool bias = false, floatBias = false, residual = false, residualIsY = false, pre = false;
    Activation activation = Activation::None;
    enum Memory { Dense, Misaligned, Window } memory = Dense;
    bool packed = false;
    double factor = 1; ///< of all operands
    DType type = DType::F32, resultType = DType::F32;
};

struct Outcome {
    std::vector<double> y, pre;
};

Outcome expected(const Setup& s)
{
    const auto a = numbers(s.batch * s.m * s.k, 1),
               b = numbers((s.sharedB ? 1 : s.batch) * s.n * s.k, 2);
    const auto bias = numbers(s.n, 3), residual = numbers(s.batch * s.m * s.n, 4);
    const auto before = numbers(s.batch * s.m * s.n, 5);
    Outcome out;
    for (Index i = 0; i < s.batch * s.m * s.n; ++i) {
        const Index column = i % s.n, row = i / s.n % s.m, batch = i / s.n / s.m;
        double sum = 0;
        for (Index k = 0; k < s.k; ++k) {
            const Index aAt = s.transposeA ? k * s.m + row : row * s.k + k;
            const Index bAt = s.transposeB ? column * s.k + k : k * s.n + column;
            sum += a[static_cast<std::size_t>(batch * s.m * s.k + aAt)] *
                   b[static_cast<std::size_t>((s.sharedB ? 0 : batch) * s.n * s.k + bAt)];
        }
        double value = s.alpha * sum;
        if (s.bias)
            value += bias[static_cast<std::size_t>(column)];
        out.pre.push_back(value);
        value = activated(s.activation, value);
        const auto at = static_cast<std::size_t>(i);
        if (s.residual)
            value += s.residualIsY ? before[at] : residual[at];
        if (s.beta != 0)
            value += s.beta * before[at];
        out.y.push_back(value);
    }
    return out;
}

Outcome computed(const std::shared_ptr<Device>& device, const Setup& s)
{
    const auto stream = device->createStream();
    const auto make = [&](const Shape& shape, DType type, std::uint64_t seed) {
        const auto values = numbers(elementCount(shape), seed, s.factor);
        if (s.memory == Setup::Misaligned)
            return misalignedTensor(*stream, device, type, shape, values);
        if (s.memory == Setup::Window && shape.size() >= 2)
            return windowTensor(*stream, device, type, shape, values);
        return tensorOf(*stream, device, type, shape, values);
    };
    const auto batched = [&](Index rows, Index columns, bool shared = false) {
        return s.batch == 1 || shared ? Shape{rows, columns} : Shape{s.batch, rows, columns};
    };
    const Tensor a = make(s.transposeA ? batched(s.k, s.m) : batched(s.m, s.k), s.type, 1);
    const Shape shapeB = s.transposeB ? batched(s.n, s.k, s.sharedB) : batched(s.k, s.n, s.sharedB);
    const Tensor b = s.packed ? tensorOf(*stream, device, s.type, shapeB,
                                         numbers(elementCount(shapeB), 2, s.factor)) // dense
                              : make(shapeB, s.type, 2);
    const Tensor y = make(batched(s.m, s.n), s.resultType, 5);
    const Tensor bias = make({s.n}, s.floatBias ? DType::F32 : s.resultType, 3);
    const Tensor residual = make(batched(s.m, s.n), s.resultType, 4);
    const Tensor pre = make(batched(s.m, s.n), s.resultType, 6);
    MatmulOptions options;
    options.transposeA = s.transposeA;
    options.transposeB = s.transposeB;
    options.alpha = s.alpha;
    options.beta = s.beta;
    options.bias = s.bias ? &bias : nullptr;
    options.residual = s.residual ? (s.residualIsY ? &y : &residual) : nullptr;
    options.preActivation = s.pre ? &pre : nullptr;
    options.activation = s.activation;
    std::shared_ptr<const PackedWeight> packed;
    if (s.packed)
        packed = device->dense().packLinear(*stream, b, s.m * s.batch);
    options.packedB = packed.get();
    device->dense().matmul(*stream, a, b, y, options);
    return {windowValues(*stream, y), s.pre ? windowValues(*stream, pre) : std::vector<double>{}};
}

QString check(const std::shared_ptr<Device>& device, const Setup& s)
{
    const Outcome want = expected(s), got = computed(device, s);
    // Sums of k products of numbers in [−1, 1) that cancel: the error follows √k · size.
    const double size = std::sqrt(static_cast<double>(s.k)) + 1;
    const double tolerance = toleranceOf(s.type, s.resultType, s.k) * size;
    std::string text = difference(got.y, want.y, tolerance, tolerance);
    if (text.empty() && s.pre)
        text = difference(got.pre, want.pre, tolerance, tolerance);
    return QString::fromStdString(text);
}

const std::vector<std::pair<std::string, DType>> kTypes = {
    {"F32", DType::F32}, {"F64", DType::F64}, {"F16", DType::F16}, {"BF16", DType::BF16}};

/// What is varied beside types, as (name, change).
std::vector<std::pair<std::string, Setup>> variants(Index m, Index n, Index k)
{
    std::vector<std::pair<std::string, Setup>> rows;
    const auto add = [&](const std::string& name, const std::function<void(Setup&)>& change) {
        Setup s;
        s.m = m;
        s.n = n;
        s.k = k;
        change(s);
        rows.emplace_back(name, s);
    };
    add("plain", [](Setup&) {});
    add("a transposed", [](Setup& s) { s.transposeA = true; });
    add("b transposed", [](Setup& s) { s.transposeB = true; });
    add("both transposed", [](Setup& s) { s.transposeA = s.transposeB = true; });
    add("added, scaled", [](Setup& s) { s.alpha = 0.25, s.beta = 1; });
    add("half of y, a transposed", [](Setup& s) { s.transposeA = true, s.beta = 0.5; });
    add("bias", [](Setup& s) { s.bias = true; });
    add("bias, scaled", [](Setup& s) { s.bias = true, s.alpha = 0.125; });
    add("F32 bias, residual", [](Setup& s) { s.bias = s.floatBias = s.residual = true; });
    add("residual in place", [](Setup& s) { s.bias = s.residual = s.residualIsY = true; });
    add("gelu", [](Setup& s) { s.bias = s.transposeB = true, s.activation = Activation::GeluErf; });
    add("tanh gelu, kept",
        [](Setup& s) { s.bias = s.pre = true, s.activation = Activation::GeluTanh; });
    add("quick gelu, residual",
        [](Setup& s) { s.residual = true, s.activation = Activation::QuickGelu; });
    add("silu, residual in place, kept", [](Setup& s) {
        s.bias = s.pre = s.residual = s.residualIsY = true, s.activation = Activation::Silu;
    });
    add("relu",
        [](Setup& s) { s.activation = Activation::Relu, s.residual = s.residualIsY = true; });
    add("batch", [](Setup& s) { s.batch = 3, s.transposeB = true, s.alpha = 0.5; });
    add("batch, a transposed", [](Setup& s) { s.batch = 3, s.transposeA = true, s.beta = 1; });
    add("batch, one b", [](Setup& s) { s.batch = 3, s.sharedB = s.bias = s.transposeB = true; });
    add("misaligned", [](Setup& s) { s.memory = Setup::Misaligned, s.bias = s.residual = true; });
    add("window", [](Setup& s) {
        s.memory = Setup::Window, s.bias = s.residual = s.pre = s.transposeB = true;
    });
    add("window, batch, beta",
        [](Setup& s) { s.memory = Setup::Window, s.batch = 2, s.transposeA = true, s.beta = 1; });
    add("window, batch, one b",
        [](Setup& s) { s.memory = Setup::Window, s.batch = 2, s.sharedB = true, s.bias = true; });
    add("packed", [](Setup& s) { s.packed = s.transposeB = s.bias = s.residual = true; });
    add("packed, window, kept", [](Setup& s) {
        s.memory = Setup::Window;
        s.packed = s.transposeB = s.pre = true, s.activation = Activation::Silu;
    });
    add("packed, gelu", [](Setup& s) {
        s.packed = s.transposeB = s.bias = true, s.activation = Activation::GeluErf;
    });
    return rows;
}

} // namespace

class TestMatmul : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void knownAnswer_data() { addDeviceRows(); }
    void knownAnswer()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        const Tensor a = tensorOf(*stream, device, DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
        const Tensor b = tensorOf(*stream, device, DType::F32, {3, 2}, {1, 0, 0, 1, 1, 1});
        const Tensor y = Tensor::empty(device, {2, 2});
        device->dense().matmul(*stream, a, b, y);
        QCOMPARE(valuesOf(*stream, y), (std::vector<double>{4, 5, 10, 11}));
    }

    void everyOptionInEveryType_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("type");
        forEachDevice([](const std::string& name, int device) {
            for (const auto& [typeName, type] : kTypes)
                QTest::addRow("%s, %s", name.c_str(), typeName.c_str())
                    << device << static_cast<int>(type);
        });
    }
    void everyOptionInEveryType()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, type);
        for (const Shape& extents : {Shape{5, 7, 3}, Shape{33, 65, 31}, Shape{130, 96, 257}}) {
            for (auto [name, setup] : variants(extents[0], extents[1], extents[2])) {
                setup.type = setup.resultType = static_cast<DType>(type);
                if (setup.type == DType::F64)
                    setup.floatBias = setup.packed = false;
                const QString text = check(device, setup);
                QVERIFY2(text.isEmpty(), qPrintable(QString("%1 of %2: %3")
                                                        .arg(name.c_str())
                                                        .arg(toString(extents).c_str())
                                                        .arg(text)));
                if (setup.type == DType::F32 || setup.type == DType::F64)
                    continue;
                setup.resultType = DType::F32;
                const QString wide = check(device, setup);
                QVERIFY2(wide.isEmpty(),
                         qPrintable(QString("%1 to F32: %2").arg(name.c_str(), wide)));
            }
        }
    }

    void everySize_data() { addDeviceRows(); }
    void everySize()
    {
        VERGENCE_ROW_DEVICE(device);
        const std::vector<Index> sizes = {0, 1, 31, 32, 33, 257};
        for (const Index m : sizes) {
            for (const Index n : sizes) {
                for (const Index k : sizes) {
                    Setup s;
                    s.m = m;
                    s.n = n;
                    s.k = k;
                    s.transposeA = (m + n) % 3 == 0;
                    s.transposeB = (n + k) % 2 == 0;
                    s.bias = m % 2;
                    s.beta = k % 2;
                    const QString text = check(device, s);
                    QVERIFY2(
                        text.isEmpty(),
                        qPrintable(QString("[%1, %2, %3]: %4").arg(m).arg(n).arg(k).arg(text)));
                }
            }
        }
    }

    void fewRowsAndLargeProducts_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("m");
        QTest::addColumn<int>("n");
        QTest::addColumn<int>("k");
        forEachDevice([](const std::string& name, int device) {
            for (const auto& e : {std::array{1, 1536, 200},
                                  {2, 701, 513},
                                  {3, 66, 1000},
                                  {4, 1003, 96},
                                  {257, 640, 160},
                                  {1300, 70, 40},
                                  {96, 2100, 130}})
                QTest::addRow("%s, %d, %d, %d", name.c_str(), e[0], e[1], e[2])
                    << device << e[0] << e[1] << e[2];
        });
    }
    void fewRowsAndLargeProducts()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, m);
        QFETCH(int, n);
        QFETCH(int, k);
        for (const DType type : {DType::F32, DType::BF16}) {
            Setup s;
            s.m = m;
            s.n = n;
            s.k = k;
            s.type = s.resultType = type;
            s.transposeB = s.bias = s.residual = true;
            QCOMPARE(check(device, s), QString());
            s.packed = true;
            QCOMPARE(check(device, s), QString());
            s.packed = s.transposeB = s.residual = false;
            s.activation = Activation::GeluErf;
            QCOMPARE(check(device, s), QString());
            s.transposeA = true;
            QCOMPARE(check(device, s), QString());
        }
    }

    void emptyDepthGivesBiasAndOldY_data() { addDeviceRows(); }
    void emptyDepthGivesBiasAndOldY()
    {
        VERGENCE_ROW_DEVICE(device);
        for (const auto& [name, type] : kTypes) {
            Setup s;
            s.m = 3;
            s.n = 5;
            s.k = 0;
            s.type = s.resultType = type;
            s.bias = true;
            s.beta = 2;
            QCOMPARE(check(device, s), QString());
        }
    }

    void permutedBatchesAreRead_data() { addDeviceRows(); }
    void permutedBatchesAreRead()
    {
        // Heads of a packed projection: [B, T, h, d] seen as [B, h, T, d].
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        constexpr Index B = 2, T = 9, H = 3, D = 8;
        const auto q = numbers(B * T * H * D, 1), k = numbers(B * T * H * D, 2);
        const Tensor all = tensorOf(*stream, device, DType::F32, {B, T, H, D}, q);
        const Tensor other = tensorOf(*stream, device, DType::F32, {B, T, H, D}, k);
        const Tensor y = Tensor::empty(device, {B, H, T, T});
        MatmulOptions options;
        options.transposeB = true;
        device->dense().matmul(*stream, all.permuted({0, 2, 1, 3}), other.permuted({0, 2, 1, 3}), y,
                               options);
        std::vector<double> want;
        const auto at = [](Index b, Index t, Index h, Index d) {
            return static_cast<std::size_t>(((b * T + t) * H + h) * D + d);
        };
        for (Index i = 0; i < B * H * T * T; ++i) {
            const Index column = i % T, row = i / T % T, h = i / T / T % H, b = i / T / T / H;
            double sum = 0;
            for (Index d = 0; d < D; ++d)
                sum += q[at(b, row, h, d)] * k[at(b, column, h, d)];
            want.push_back(sum);
        }
        VERGENCE_AGREES(difference(valuesOf(*stream, y), want, 1e-6, 1e-6));
    }

    void gradientsAreTheTransposedProducts_data() { addDeviceRows(); }
    void gradientsAreTheTransposedProducts()
    {
        // L = Σ c ⊙ (x Wᵀ): dL/dx = c W, dL/dW = cᵀ x.
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        constexpr Index M = 5, N = 4, K = 7;
        const auto c = numbers(M * N, 3), x0 = numbers(M * K, 1), w0 = numbers(N * K, 2);
        const auto loss = [&](const std::vector<double>& x, const std::vector<double>& w) {
            const Tensor y = Tensor::empty(device, {M, N}, DType::F64);
            MatmulOptions options;
            options.transposeB = true;
            device->dense().matmul(*stream, tensorOf(*stream, device, DType::F64, {M, K}, x),
                                   tensorOf(*stream, device, DType::F64, {N, K}, w), y, options);
            const auto values = valuesOf(*stream, y);
            return std::inner_product(values.begin(), values.end(), c.begin(), 0.0);
        };
        const Tensor g = tensorOf(*stream, device, DType::F64, {M, N}, c);
        const Tensor x = tensorOf(*stream, device, DType::F64, {M, K}, x0);
        const Tensor w = tensorOf(*stream, device, DType::F64, {N, K}, w0);
        const Tensor gradX = Tensor::empty(device, {M, K}, DType::F64);
        const Tensor gradW = Tensor::empty(device, {N, K}, DType::F64);
        device->dense().matmul(*stream, g, w, gradX);
        MatmulOptions options;
        options.transposeA = true;
        device->dense().matmul(*stream, g, x, gradW, options);
        VERGENCE_AGREES(gradientDifference([&](const auto& v) { return loss(v, w0); }, x0,
                                           valuesOf(*stream, gradX)));
        VERGENCE_AGREES(gradientDifference([&](const auto& v) { return loss(x0, v); }, w0,
                                           valuesOf(*stream, gradW)));
    }

    void resultsRepeatAndDoNotDependOnThreads()
    {
        for (const auto& [name, type] : kTypes) {
            for (const auto& e : {std::array<Index, 3>{257, 384, 128},
                                  {600, 130, 70},
                                  {64, 1000, 300},
                                  {300, 200, 1100},
                                  {1030, 256, 520}}) {
                for (const bool transposeA : {false, true}) {
                    Setup s;
                    s.m = e[0];
                    s.n = e[1];
                    s.k = e[2];
                    s.transposeA = transposeA;
                    s.type = type;
                    s.resultType = type == DType::F64 ? type : DType::F32;
                    s.factor = factorOfThreadTests();
                    const auto reference = computed(makeCpuDevice(1), s).y;
                    for (const int threads : {1, 2, 5})
                        QVERIFY2(computed(makeCpuDevice(threads), s).y == reference, name.c_str());
                    s.factor = 1 / 3.0;
                    const auto device = makeCpuDevice(2);
                    QVERIFY2(computed(device, s).y == computed(device, s).y, name.c_str());
                }
            }
        }
    }

    void packedAgreesWithPlain()
    {
        const auto device = makeCpuDevice(2);
        for (const DType type : {DType::F32, DType::BF16}) {
            for (const Index rows : {7, 60, 257}) {
                for (const auto memory : {Setup::Dense, Setup::Window}) {
                    Setup s;
                    s.m = rows;
                    s.n = 200;
                    s.k = 96;
                    s.type = type;
                    s.memory = memory;
                    s.transposeB = s.bias = true;
                    const auto plain = computed(device, s).y;
                    s.packed = true;
                    VERGENCE_AGREES(difference(computed(device, s).y, plain, 1e-5, 1e-6));
                }
            }
        }
    }

    void repeatedProductsAllocateNothing()
    {
        const auto device = makeCpuDevice(2);
        const auto stream = device->createStream();
        const Tensor a = Tensor::zeros(*stream, device, {300, 200}, DType::BF16);
        const Tensor b = Tensor::zeros(*stream, device, {100, 200}, DType::BF16);
        const Tensor y = Tensor::zeros(*stream, device, {300, 100}, DType::BF16);
        MatmulOptions options;
        options.transposeB = true;
        device->dense().matmul(*stream, a, b, y, options);
        const std::size_t used = device->memory().usedByUs;
        for (int i = 0; i < 5; ++i)
            device->dense().matmul(*stream, a, b, y, options);
        QCOMPARE(device->memory().usedByUs, used);
    }

    void rememberedPlansAreBounded()
    {
        PlanCache<int> cache(3);
        int made = 0;
        const auto find = [&](std::int64_t number) {
            PlanKey key;
            key.values[0] = number;
            cache.find(key, [&] {
                ++made;
                return std::make_shared<const int>(0);
            });
        };
        for (const int number : {1, 2, 3, 1, 4, 1, 3})
            find(number);
        QCOMPARE(made, 4); // 2 left for 4; 1 and 3 were used since
        QCOMPARE(cache.size(), std::size_t{3});
        find(2);
        QCOMPARE(made, 5);
    }

    void badOperandsAreNamed()
    {
        const auto device = makeCpuDevice(1), other = makeCpuDevice(1);
        const auto stream = device->createStream();
        DenseMath& dense = device->dense();
        const auto zeros = [&](const Shape& shape, DType type = DType::F32) {
            return Tensor::zeros(*stream, device, shape, type);
        };
        const Tensor a = zeros({2, 3}), b = zeros({3, 4}), y = zeros({2, 4});
        VERGENCE_THROWS(ContractError, "[2, 3] times [4, 3] does not give [2, 4]",
                        dense.matmul(*stream, a, zeros({4, 3}), y));
        VERGENCE_THROWS(ContractError, "does not give [2, 5]",
                        dense.matmul(*stream, a, b, zeros({2, 5})));
        VERGENCE_THROWS(ContractError, "a is F32 and b is F64",
                        dense.matmul(*stream, a, zeros({3, 4}, DType::F64), y));
        VERGENCE_THROWS(ContractError, "y is F64 but the operands are F32",
                        dense.matmul(*stream, a, b, zeros({2, 4}, DType::F64)));
        VERGENCE_THROWS(
            ContractError, "I32",
            dense.matmul(*stream, zeros({2, 3}, DType::I32), zeros({3, 4}, DType::I32), y));
        const Tensor bias = zeros({3});
        MatmulOptions options;
        options.bias = &bias;
        VERGENCE_THROWS(ContractError, "the bias is [3] but y [2, 4]",
                        dense.matmul(*stream, a, b, y, options));
        const Tensor residual = zeros({4, 2});
        options = {};
        options.residual = &residual;
        VERGENCE_THROWS(ContractError, "the residual is F32 [4, 2] but y is F32 [2, 4]",
                        dense.matmul(*stream, a, b, y, options));
        options = {};
        options.beta = 1;
        options.activation = Activation::Relu;
        VERGENCE_THROWS(ContractError, "beta must be 0", dense.matmul(*stream, a, b, y, options));
        VERGENCE_THROWS(ContractError, "not contiguous",
                        dense.matmul(*stream, zeros({3, 2}).permuted({1, 0}), b, y));
        VERGENCE_THROWS(ContractError, "belongs to",
                        dense.matmul(*stream, Tensor::zeros(*stream, other, {2, 3}), b, y));
        const auto packed = dense.packLinear(*stream, zeros({4, 5}), 2);
        options = {};
        options.transposeB = true;
        options.packedB = packed.get();
        VERGENCE_THROWS(ContractError, "packed weight is not the one of [4, 3]",
                        dense.matmul(*stream, a, zeros({4, 3}), y, options));
        // A packed copy has the type of its weight where BF16 is multiplied as such.
        const auto bf16 = dense.packLinear(*stream, zeros({64, 3}, DType::BF16), 2);
        const auto f32 = dense.packLinear(*stream, zeros({64, 3}), 2);
        if (bf16->bytes() != f32->bytes()) {
            options.packedB = bf16.get();
            VERGENCE_THROWS(ContractError, "packed weight is not the one of [64, 3]",
                            dense.matmul(*stream, a, zeros({64, 3}), zeros({2, 64}), options));
        }
    }
};

VERGENCE_TEST(TestMatmul)
#include "tst_matmul.moc"
