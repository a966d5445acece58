#include <limits>

#include "core/compute/ops/pointwise.h"
#include "tests/core/compute/ops/ops_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

struct ActivationCase {
    const char* name;
    Activation kind;
    double (*value)(double);
};

double none(double x)
{
    return x;
}
double geluErfExact(double x)
{
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
}
double geluTanhExact(double x)
{
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double quickGeluExact(double x)
{
    return x / (1 + std::exp(-1.702 * x));
}
double siluExact(double x)
{
    return x / (1 + std::exp(-x));
}
double reluExact(double x)
{
    return x > 0 ? x : 0;
}

const std::vector<ActivationCase> kActivations{{"none", Activation::None, none},
                                               {"geluErf", Activation::GeluErf, geluErfExact},
                                               {"geluTanh", Activation::GeluTanh, geluTanhExact},
                                               {"quickGelu", Activation::QuickGelu, quickGeluExact},
                                               {"silu", Activation::Silu, siluExact},
                                               {"relu", Activation::Relu, reluExact}};

Numbers columnSums(const Numbers& x, Index columns)
{
    Numbers sums(static_cast<std::size_t>(columns), 0);
    for (std::size_t i = 0; i < x.size(); ++i)
        sums[i % static_cast<std::size_t>(columns)] += x[i];
    return sums;
}

Numbers product(const Numbers& a, const Numbers& b)
{
    Numbers c(a.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        c[i] = a[i] * b[i];
    return c;
}

} // namespace

class TestPointwise : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void knownAnswers_data()
    {
        QTest::addColumn<int>("place");
        QTest::addColumn<int>("type");
        forEachPlace([](const std::string& name, int place) {
            QTest::addRow("%s, F32", name.c_str()) << place << 0;
            QTest::addRow("%s, F64", name.c_str()) << place << 1;
        });
    }
    void knownAnswers()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Tensor x = bench.tensor({4}, {-3, -1, 0.5, 2}), y = bench.result({4});
        activate(bench.stream(), Activation::GeluErf, x, y);
        VERGENCE_AGREES(difference(
            bench.numbers(y), Numbers{-0.00404969, -0.15865525, 0.34573123, 1.95449974}, 1e-6, 0));
        activate(bench.stream(), Activation::GeluTanh, x, y);
        VERGENCE_AGREES(difference(
            bench.numbers(y), Numbers{-0.00363739, -0.15880801, 0.34571401, 1.95459769}, 1e-6, 0));
        activate(bench.stream(), Activation::Silu, x, y);
        QVERIFY(std::abs(bench.numbers(y)[3] - 1.76159416) < 1e-6);

        const Tensor at = bench.tensor({2}, {1, 2}), one = bench.tensor({2}, {1, 1});
        const Tensor slope = bench.result({2});
        activateBackward(bench.stream(), Activation::GeluErf, at, one, slope, false);
        QVERIFY(std::abs(bench.numbers(slope)[0] - 1.08331547) < 1e-6);
        activateBackward(bench.stream(), Activation::Silu, at, one, slope, false);
        QVERIFY(std::abs(bench.numbers(slope)[0] - 0.92767051) < 1e-6);
    }

    /// They take some processors a hundred cycles each; in 32 bits the tails end at zero instead.
    void geluMakesNoDenormalNumbers()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        std::vector<float> at;
        for (int i = -2000; i <= 2000; ++i)
            at.push_back(0.01f * static_cast<float>(i));
        const auto made = [&] { return Tensor::empty(device, {static_cast<Index>(at.size())}); };
        const Tensor x = made(), one = made(), y = made(), slope = made();
        stream->copy(x.data(), at.data(), x.bytes());
        fill(*stream, one, 1);
        activate(*stream, Activation::GeluErf, x, y);
        activateBackward(*stream, Activation::GeluErf, x, one, slope, false);
        const auto values = y.toHost<float>(*stream), slopes = slope.toHost<float>(*stream);
        for (std::size_t i = 0; i < at.size(); ++i) {
            QVERIFY(std::fpclassify(values[i]) != FP_SUBNORMAL);
            QVERIFY(std::fpclassify(slopes[i]) != FP_SUBNORMAL);
            if (std::abs(at[i]) < 12.5f)
                continue;
            QCOMPARE(values[i], std::max(at[i], 0.0f));
            QCOMPARE(slopes[i], at[i] > 0 ? 1.0f : 0.0f);
        }
    }

    void geluOfInfinitiesAndNan()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        const std::vector<float> at{kInfinity, -kInfinity, std::nanf("")};
        const Tensor x = Tensor::fromHost<float>(*stream, device, {3}, at);
        activate(*stream, Activation::GeluErf, x, x);
        const auto values = x.toHost<float>(*stream);
        QCOMPARE(values[0], kInfinity);
        QCOMPARE(values[1], 0.0f);
        QVERIFY(std::isnan(values[2]));
    }

    void activationsOfEverySizeAndPlace_data() { addPlaceAndTypeRows(); }
    void activationsOfEverySizeAndPlace()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const ActivationCase& c : kActivations) {
            for (const int size : kSizes) {
                bench.misaligned = size % 2 == 1;
                const Numbers x = roundedTo(
                    kind.type, randomNumbers(size, 7u + static_cast<unsigned>(size), -6, 6));
                const Tensor in = bench.tensor({size}, x), out = bench.result({size});
                activate(bench.stream(), c.kind, in, out);
                VERGENCE_AGREES(difference(bench.numbers(out), mapped(x, c.value), kind.accuracy,
                                           kind.accuracy));
                activate(bench.stream(), c.kind, in, in); // in place
                QCOMPARE(bench.numbers(in), bench.numbers(out));
            }
        }
    }

    void activationGradients_data() { addPlaceAndTypeRows(); }
    void activationGradients()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const ActivationCase& c : kActivations) {
            Numbers x = roundedTo(kind.type, randomNumbers(257, 3, -4, 4));
            for (double& number : x) // away from the kink
                number += std::abs(number) < 0.01 ? 0.5 : 0;
            const Numbers g = roundedTo(kind.type, randomNumbers(257, 4));
            const Tensor in = bench.tensor({257}, x), grad = bench.tensor({257}, g);
            const Tensor out = bench.tensor({257}, Numbers(257, 1));
            activateBackward(bench.stream(), c.kind, in, grad, out, true);
            const Numbers got = mapped(bench.numbers(out), [](double v) { return v - 1; });
            // The sum with 1 and the rounding of both cost the type's accuracy.
            Numbers exact;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double step = 1e-5;
                exact.push_back(g[i] * (c.value(x[i] + step) - c.value(x[i] - step)) / (2 * step));
            }
            VERGENCE_AGREES(difference(got, exact, 4 * kind.accuracy + 1e-9, kind.accuracy));
            if (kind.type == DType::F64) {
                activateBackward(bench.stream(), c.kind, in, grad, out, false);
                const auto value = [&](const Numbers& v) { return dot(mapped(v, c.value), g); };
                VERGENCE_AGREES(gradientDifference(value, x, bench.numbers(out)));
            }
        }
    }

    void swigluOfWindows_data() { addPlaceAndTypeRows(); }
    void swigluOfWindows()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const int columns : {1, 31, 33}) {
            const Index rows = 5;
            const Numbers both = roundedTo(kind.type, randomNumbers(rows * 2 * columns, 11));
            const Numbers g = roundedTo(kind.type, randomNumbers(rows * columns, 12));
            const Tensor projection = bench.tensor({rows, 2 * columns}, both);
            const Tensor gate = projection.narrow(1, 0, columns);
            const Tensor up = projection.narrow(1, columns, columns);
            const Tensor y = bench.result({rows, columns});
            swiglu(bench.stream(), gate, up, y);
            const auto forward = [&](const Numbers& v) {
                Numbers result;
                for (Index r = 0; r < rows; ++r) {
                    for (Index c = 0; c < columns; ++c) {
                        const auto at = static_cast<std::size_t>(r * 2 * columns + c);
                        result.push_back(siluExact(v[at]) *
                                         v[at + static_cast<std::size_t>(columns)]);
                    }
                }
                return result;
            };
            VERGENCE_AGREES(
                difference(bench.numbers(y), forward(both), kind.accuracy, kind.accuracy));

            const Tensor grads = bench.result({rows, 2 * columns});
            swigluBackward(bench.stream(), gate, up, bench.tensor({rows, columns}, g),
                           grads.narrow(1, 0, columns), grads.narrow(1, columns, columns));
            const auto loss = [&](const Numbers& v) { return dot(forward(v), g); };
            VERGENCE_AGREES(gradientDifference(loss, both, bench.numbers(grads),
                                               kind.type == DType::F64 ? 1e-6 : 4 * kind.accuracy));
        }
    }

    void sumsProductsAndFills_data() { addPlaceAndTypeRows(); }
    void sumsProductsAndFills()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const int size : kSizes) {
            bench.misaligned = size == 33;
            const Numbers a = roundedTo(kind.type, randomNumbers(size, 1));
            const Numbers b = roundedTo(kind.type, randomNumbers(size, 2));
            const Tensor ta = bench.tensor({size}, a), tb = bench.tensor({size}, b);
            const Tensor y = bench.result({size});
            Numbers want(a.size());
            for (std::size_t i = 0; i < a.size(); ++i)
                want[i] = 0.5 * a[i] - 3 * b[i];
            addScaled(bench.stream(), 0.5, ta, -3, tb, y);
            VERGENCE_AGREES(difference(bench.numbers(y), want, kind.accuracy, kind.accuracy));
            multiply(bench.stream(), ta, tb, y);
            VERGENCE_AGREES(
                difference(bench.numbers(y), product(a, b), kind.accuracy, kind.accuracy));
            scale(bench.stream(), -2, ta, y);
            QCOMPARE(bench.numbers(y), mapped(a, [](double v) { return -2 * v; }));
            fill(bench.stream(), y, 0.25);
            QCOMPARE(bench.numbers(y), Numbers(a.size(), 0.25));
            addScaled(bench.stream(), 0.5, ta, -3, tb, tb); // in place
            VERGENCE_AGREES(difference(bench.numbers(tb), want, kind.accuracy, kind.accuracy));
        }
    }

    void columnSumsOfManyRows_data() { addPlaceAndTypeRows(); }
    void columnSumsOfManyRows()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        // Several chunks of rows, the last of them short; part of a tile of columns, and several.
        for (const auto& [rows, columns] :
             {std::pair<Index, Index>{1, 1}, {4500, 1}, {700, 33}, {129, 257}, {300, 1100}}) {
            bench.misaligned = columns % 2 == 1;
            const Numbers x = roundedTo(kind.type, randomNumbers(rows * columns, 1));
            const Tensor sums = bench.zeros({columns}, bench.sumType());
            addColumnSums(bench.stream(), bench.tensor({rows, columns}, x), sums);
            const double accuracy = kind.type == DType::F64 ? 1e-12 : 1e-6;
            VERGENCE_AGREES(difference(bench.numbers(sums), columnSums(x, columns),
                                       accuracy * static_cast<double>(rows), accuracy));
        }
    }

    void castsBetweenAllTypes_data() { addPlaceAndTypeRows(); }
    void castsBetweenAllTypes()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const DType other : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32,
                                  DType::I64, DType::U8, DType::U16}) {
            for (const int size : kSizes) {
                Numbers x = randomNumbers(size, 5, 0, 200);
                const bool isWhole = other == DType::I32 || other == DType::I64 ||
                                     other == DType::U8 || other == DType::U16;
                x = roundedTo(kind.type,
                              isWhole ? mapped(x, [](double v) { return std::rint(v); }) : x);
                const Tensor from = bench.tensor({size}, x);
                const Tensor to = bench.result({size}, other);
                cast(bench.stream(), from, to);
                QCOMPARE(bench.numbers(to), roundedTo(other, x));
                const Tensor back = bench.result({size});
                cast(bench.stream(), to, back);
                QCOMPARE(bench.numbers(back), roundedTo(kind.type, roundedTo(other, x)));
            }
        }
    }

    void castsRoundToNearestEven_data()
    {
        QTest::addColumn<int>("place");
        forEachPlace(
            [](const std::string& name, int place) { QTest::newRow(name.c_str()) << place; });
    }
    void castsRoundToNearestEven()
    {
        QFETCH(int, place);
        const auto device = placeOrSkip(place);
        if (!device)
            return;
        const Bench bench(device, DType::F64);
        const double half = 0x1.0p-11, tiny = 0x1.0p-40;
        // 1 + ½ unit ties to 1; a hair more, lost in float, must still round up.
        const Numbers x{1 + half,
                        1 + half + tiny,
                        1 + 3 * half,
                        65519.999,
                        65520,
                        -1e-9,
                        0.5,
                        1.5,
                        2.5,
                        -0.5,
                        3e9,
                        -3e9,
                        std::numeric_limits<double>::quiet_NaN()};
        const auto count = static_cast<Index>(x.size());
        const Tensor from = bench.tensor({count}, x);
        const Tensor half16 = bench.result({count}, DType::F16);
        cast(bench.stream(), from, half16);
        const Numbers halves = bench.numbers(half16);
        QCOMPARE(halves[0], 1.0);
        QCOMPARE(halves[1], 1 + 2 * half);
        QCOMPARE(halves[2], 1 + 4 * half);
        QCOMPARE(halves[3], 65504.0);
        QVERIFY(std::isinf(halves[4]));
        QCOMPARE(halves[5], 0.0);
        QVERIFY(std::isnan(halves.back()));
        const Tensor whole = bench.result({count}, DType::I32);
        cast(bench.stream(), from, whole);
        const Numbers integers = bench.numbers(whole);
        QCOMPARE(integers[6], 0.0);
        QCOMPARE(integers[7], 2.0);
        QCOMPARE(integers[8], 2.0);
        QCOMPARE(integers[9], 0.0);
        QCOMPARE(integers[10], 2147483647.0);
        QCOMPARE(integers[11], -2147483648.0);
        QCOMPARE(integers[12], 0.0);
    }

    void layerScaleAndItsGradients_data() { addPlaceAndTypeRows(); }
    void layerScaleAndItsGradients()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const Index columns : kSizes) {
            bench.misaligned = columns % 2 == 1;
            const Index rows = 37;
            const Numbers x = roundedTo(kind.type, randomNumbers(rows * columns, 1));
            const Numbers r = roundedTo(kind.type, randomNumbers(rows * columns, 2));
            const Numbers g = roundedTo(kind.type, randomNumbers(rows * columns, 3));
            const Numbers s = roundedTo(kind.type, randomNumbers(columns, 4));
            const Tensor tx = bench.tensor({rows, columns}, x);
            const Tensor ts = bench.tensor({columns}, s);
            const Tensor tr = bench.tensor({rows, columns}, r);
            const Tensor tg = bench.tensor({rows, columns}, g), y = bench.result({rows, columns});
            Numbers scaled(x.size()), scaledGrad(x.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                scaled[i] = s[i % s.size()] * x[i] + r[i];
                scaledGrad[i] = s[i % s.size()] * g[i] + 1;
            }
            layerScale(bench.stream(), tx, ts, &tr, y);
            VERGENCE_AGREES(difference(bench.numbers(y), scaled, 4 * kind.accuracy, kind.accuracy));
            fill(bench.stream(), y, 1);
            const Tensor gradScale = bench.zeros({columns}, bench.sumType());
            fill(bench.stream(), gradScale, 1);
            layerScaleBackward(bench.stream(), tx, ts, tg, y, true, &gradScale);
            VERGENCE_AGREES(
                difference(bench.numbers(y), scaledGrad, 4 * kind.accuracy, kind.accuracy));
            const Numbers sums =
                mapped(columnSums(product(x, g), columns), [](double v) { return v + 1; });
            // Sums are kept in F32 whatever the type.
            VERGENCE_AGREES(difference(bench.numbers(gradScale), sums, 2e-5, 2e-6));
        }
    }

    void filmAndItsGradients_data() { addPlaceAndTypeRows(); }
    void filmAndItsGradients()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const Index columns : kSizes) {
            bench.misaligned = columns % 2 == 1;
            const Index samples = 2, inner = 5;
            const Index count = samples * inner * columns;
            const Numbers x = roundedTo(kind.type, randomNumbers(count, 1));
            const Numbers g = roundedTo(kind.type, randomNumbers(count, 2));
            const Numbers gamma = roundedTo(kind.type, randomNumbers(samples * columns, 3));
            const Numbers beta = roundedTo(kind.type, randomNumbers(samples * columns, 4));
            const Shape shape{samples, inner, columns}, modulation{samples, columns};
            const Tensor tx = bench.tensor(shape, x), tGamma = bench.tensor(modulation, gamma);
            const Tensor y = bench.result(shape), gradX = bench.result(shape);
            const Tensor gradGamma = bench.result(modulation), gradBeta = bench.result(modulation);
            const auto forward = [&](const Numbers& vx, const Numbers& vGamma,
                                     const Numbers& vBeta) {
                Numbers result(vx.size());
                for (std::size_t i = 0; i < vx.size(); ++i) {
                    const std::size_t at = i / static_cast<std::size_t>(inner * columns) *
                                               static_cast<std::size_t>(columns) +
                                           i % static_cast<std::size_t>(columns);
                    result[i] = vGamma[at] * vx[i] + vBeta[at];
                }
                return result;
            };
            film(bench.stream(), tx, tGamma, bench.tensor(modulation, beta), y);
            VERGENCE_AGREES(difference(bench.numbers(y), forward(x, gamma, beta), 4 * kind.accuracy,
                                       kind.accuracy));
            filmBackward(bench.stream(), tx, tGamma, bench.tensor(shape, g), gradX, false,
                         gradGamma, gradBeta);
            const double relative = kind.type == DType::F64 ? 1e-6 : 4 * kind.accuracy;
            VERGENCE_AGREES(gradientDifference(
                [&](const Numbers& v) { return dot(forward(v, gamma, beta), g); }, x,
                bench.numbers(gradX), relative));
            VERGENCE_AGREES(
                gradientDifference([&](const Numbers& v) { return dot(forward(x, v, beta), g); },
                                   gamma, bench.numbers(gradGamma), relative));
            VERGENCE_AGREES(
                gradientDifference([&](const Numbers& v) { return dot(forward(x, gamma, v), g); },
                                   beta, bench.numbers(gradBeta), relative));
        }
    }

    void biasesAndColumnSums_data() { addPlaceAndTypeRows(); }
    void biasesAndColumnSums()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        std::vector<std::pair<Index, Index>> sizes{{0, 31}, {1, 31}, {33, 31}, {3000, 31}};
        for (const int columns : kSizes)
            sizes.push_back({5, columns});
        for (const auto& [rows, columns] : sizes) {
            bench.misaligned = columns % 2 == 1;
            const Numbers x = roundedTo(kind.type, randomNumbers(rows * columns, 1));
            const Numbers b = randomNumbers(columns, 2);
            const Tensor tx = bench.tensor({rows, columns}, x);
            const Tensor bias = bench.tensor({columns}, b, bench.sumType());
            const Numbers rounded = roundedTo(bench.sumType(), b);
            const Tensor sums = bench.zeros({columns}, bench.sumType());
            fill(bench.stream(), sums, 2);
            addColumnSums(bench.stream(), tx, sums);
            const Numbers want = mapped(columnSums(x, columns), [](double v) { return v + 2; });
            VERGENCE_AGREES(difference(bench.numbers(sums), want, 2e-4, 2e-6));
            addBias(bench.stream(), tx, bias, tx); // in place
            Numbers moved(x.size());
            for (std::size_t i = 0; i < x.size(); ++i)
                moved[i] = x[i] + rounded[i % rounded.size()];
            VERGENCE_AGREES(difference(bench.numbers(tx), moved, kind.accuracy, kind.accuracy));
        }
    }

    void sumsDoNotDependOnThreads()
    {
        const Numbers x = randomNumbers(2056 * 48, 9);
        std::vector<Numbers> results;
        for (const int threads : {1, 2, 3}) {
            const Bench bench(makeCpuDevice(threads));
            const Tensor sums = bench.zeros({48}, DType::F32);
            addColumnSums(bench.stream(), bench.tensor({2056, 48}, x), sums);
            results.push_back(bench.numbers(sums));
        }
        QCOMPARE(results[1], results[0]);
        QCOMPARE(results[2], results[0]);
    }

    void badOperandsAreNamed()
    {
        const Bench bench(makeCpuDevice(1));
        Stream& stream = bench.stream();
        const Tensor a = bench.result({2, 3}), b = bench.result({3, 2});
        VERGENCE_THROWS(ContractError, "[2, 3] and [3, 2]",
                        activate(stream, Activation::Silu, a, b));
        VERGENCE_THROWS(ContractError, "[2, 3] and [3, 2]", multiply(stream, a, b, a));
        VERGENCE_THROWS(ContractError, "F32 and F64",
                        scale(stream, 1, a, bench.result({2, 3}, DType::F64)));
        VERGENCE_THROWS(ContractError, "I32", fill(stream, bench.result({2}, DType::I32), 1));
        VERGENCE_THROWS(ContractError, "strided", scale(stream, 1, a.permuted({1, 0}), b));
        VERGENCE_THROWS(ContractError, "the bias is [2] instead of [3]",
                        addBias(stream, a, bench.result({2}), a));
        VERGENCE_THROWS(ContractError, "the sum is [2] instead of [3]",
                        addColumnSums(stream, a, bench.result({2})));
        VERGENCE_THROWS(ContractError, "the sum of type F64",
                        addColumnSums(stream, a, bench.result({3}, DType::F64)));
        VERGENCE_THROWS(ContractError, "the modulation is [3, 3] instead of [2, 3]",
                        film(stream, a, bench.result({3, 3}), bench.result({3, 3}), a));
        VERGENCE_THROWS(ContractError, "one distance",
                        swiglu(stream, bench.result({3, 2, 4}).permuted({1, 0, 2}),
                               bench.result({2, 3, 4}), bench.result({2, 3, 4})));
        const Bench other(makeCpuDevice(1));
        VERGENCE_THROWS(ContractError, "another device", scale(stream, 1, other.result({2, 3}), a));
    }
};

VERGENCE_TEST(TestPointwise)
#include "tst_pointwise.moc"
