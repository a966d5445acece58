#include <algorithm>

#include "core/compute/ops/loss.h"
#include "core/compute/ops/pointwise.h"
#include "tests/core/compute/ops/ops_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

Numbers softmaxReference(const Numbers& x, std::size_t columns)
{
    Numbers y(x.size());
    for (std::size_t row = 0; row < x.size(); row += columns) {
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(row);
        const double most = *std::max_element(first, first + static_cast<std::ptrdiff_t>(columns));
        double sum = 0;
        for (std::size_t i = row; i < row + columns; ++i)
            sum += y[i] = std::exp(x[i] - most);
        for (std::size_t i = row; i < row + columns; ++i)
            y[i] /= sum;
    }
    return y;
}

double crossEntropyReference(const Numbers& z, const std::vector<int>& labels)
{
    const std::size_t columns = z.size() / labels.size();
    const Numbers p = softmaxReference(z, columns);
    double sum = 0, counted = 0;
    for (std::size_t row = 0; row < labels.size(); ++row) {
        if (labels[row] < 0)
            continue;
        sum -= std::log(p[row * columns + static_cast<std::size_t>(labels[row])]);
        counted += 1;
    }
    return counted > 0 ? sum / counted : 0;
}

struct Entropy {
    double loss = 0;
    int counted = 0;
    Numbers rowLoss, gradient;
};

Entropy crossEntropyOf(const Bench& bench, const Shape& shape, const Numbers& z,
                       const std::vector<int>& labels, double gradLoss, bool accumulate)
{
    const Tensor logits = bench.tensor(shape, z), tl = bench.integers(labels);
    const Tensor rowLoss = bench.result({shape[0]}, bench.sumType());
    const Tensor counted = bench.result({1}, DType::I32);
    const Tensor loss = bench.result({1}, bench.sumType()), grad = bench.result(shape);
    fill(bench.stream(), grad, 1);
    crossEntropy(bench.stream(), logits, tl, rowLoss, counted, loss);
    crossEntropyBackward(bench.stream(), logits, tl, counted,
                         bench.tensor({1}, {gradLoss}, bench.sumType()), grad, accumulate);
    return {bench.numbers(loss)[0], static_cast<int>(bench.numbers(counted)[0]),
            bench.numbers(rowLoss), bench.numbers(grad)};
}

struct Penalised {
    const char* name;
    double width;
    double (*value)(double d, double width);
};
double squareOf(double d, double)
{
    return d * d;
}
double smoothAbsoluteOf(double d, double c)
{
    return std::sqrt(d * d + c * c) - c;
}
double smoothL1Of(double d, double beta)
{
    return std::abs(d) < beta ? 0.5 * d * d / beta : std::abs(d) - 0.5 * beta;
}
const std::vector<Penalised> kPenalties{{"square", 1, squareOf},
                                        {"smooth absolute", 0.3, smoothAbsoluteOf},
                                        {"smooth L1", 0.7, smoothL1Of}};

void lossOf(int which, Stream& stream, const Tensor& p, const Tensor& t, double width,
            const Tensor& loss)
{
    if (which == 0)
        meanSquaredError(stream, p, t, loss);
    else if (which == 1)
        smoothAbsoluteError(stream, p, t, width, loss);
    else
        smoothL1(stream, p, t, width, loss);
}

void lossBackwardOf(int which, Stream& stream, const Tensor& p, const Tensor& t, double width,
                    const Tensor& gradLoss, const Tensor& gradP, bool accumulate)
{
    if (which == 0)
        meanSquaredErrorBackward(stream, p, t, gradLoss, gradP, accumulate);
    else if (which == 1)
        smoothAbsoluteErrorBackward(stream, p, t, width, gradLoss, gradP, accumulate);
    else
        smoothL1Backward(stream, p, t, width, gradLoss, gradP, accumulate);
}

} // namespace

class TestLoss : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void equalLogitsCostTheLogarithmOfTheirNumber_data() { addPlaceAndTypeRows(); }
    void equalLogitsCostTheLogarithmOfTheirNumber()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Index columns = 49152;
        const Numbers z(static_cast<std::size_t>(2 * columns), 0.5);
        const Entropy got = crossEntropyOf(bench, {2, columns}, z, {7, -1}, 1, false);
        QVERIFY2(std::abs(got.loss - 10.80267282) < 2e-6, qPrintable(QString::number(got.loss)));
        QCOMPARE(got.counted, 1);
        QCOMPARE(got.rowLoss[1], 0.0);
        QVERIFY(std::abs(got.gradient[7] - (1.0 / 49152 - 1)) < kind.accuracy);
        QCOMPARE(got.gradient[static_cast<std::size_t>(columns)], 0.0);
    }

    void nothingCountedCostsNothing_data() { addPlaceAndTypeRows(); }
    void nothingCountedCostsNothing()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Numbers z = randomNumbers(3 * 33, 1);
        const Entropy got = crossEntropyOf(bench, {3, 33}, z, {-1, -100, -2}, 1, false);
        QCOMPARE(got.loss, 0.0);
        QCOMPARE(got.counted, 0);
        QCOMPARE(got.gradient, Numbers(z.size(), 0));
        const Entropy kept = crossEntropyOf(bench, {3, 33}, z, {-1, -100, -2}, 1, true);
        QCOMPARE(kept.gradient, Numbers(z.size(), 1));
        const Entropy empty = crossEntropyOf(bench, {0, 33}, {}, {}, 1, false);
        QCOMPARE(empty.loss, 0.0);
        QCOMPARE(empty.counted, 0);
    }

    void labelsBeyondTheTableGiveNan_data() { addPlaceAndTypeRows(); }
    void labelsBeyondTheTableGiveNan()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Entropy got = crossEntropyOf(bench, {2, 4}, randomNumbers(8, 1), {1, 4}, 1, false);
        QVERIFY(std::isnan(got.loss));
        QVERIFY(std::isnan(got.rowLoss[1]));
        QVERIFY(!std::isnan(got.rowLoss[0]));
    }

    void crossEntropyAndItsGradient_data() { addPlaceAndTypeRows(); }
    void crossEntropyAndItsGradient()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const int columns : {1, 31, 32, 33, 257}) {
            bench.misaligned = columns % 2 == 1;
            const std::vector<int> labels{0, columns - 1, -1, columns / 2};
            const Numbers z = roundedTo(kind.type, randomNumbers(4 * columns, 1, -5, 5));
            const Entropy got = crossEntropyOf(bench, {4, columns}, z, labels, 0.75, false);
            const auto loss = [&](const Numbers& v) {
                return 0.75 * crossEntropyReference(v, labels);
            };
            const double accuracy = kind.type == DType::F64 ? 1e-12 : 4e-6;
            QVERIFY(std::abs(0.75 * got.loss - loss(z)) < accuracy * (1 + loss(z)));
            const double relative = kind.type == DType::F64 ? 1e-6 : 4 * kind.accuracy;
            VERGENCE_AGREES(gradientDifference(loss, z, got.gradient, relative, 40));
            const Entropy added = crossEntropyOf(bench, {4, columns}, z, labels, 0.75, true);
            VERGENCE_AGREES(difference(mapped(added.gradient, [](double v) { return v - 1; }),
                                       got.gradient, 2 * kind.accuracy, 0));
        }
    }

    void largeLogitsStayFinite_data() { addPlaceAndTypeRows(); }
    void largeLogitsStayFinite()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Entropy got = crossEntropyOf(bench, {1, 3}, {512, -512, 496}, {0}, 1, false);
        VERGENCE_AGREES(
            difference(Numbers{got.loss}, Numbers{std::log1p(std::exp(-16.0))}, 1e-6, 0));
        VERGENCE_AGREES(difference(got.gradient, Numbers{-1.1253516e-7, 0, 1.1253516e-7}, 1e-7, 0));
    }

    void softmaxOfEverySize_data() { addPlaceAndTypeRows(); }
    void softmaxOfEverySize()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const int columns : {0, 1, 31, 32, 33, 257, 2500}) {
            bench.misaligned = columns % 2 == 1;
            const Shape shape{3, 2, columns};
            const Numbers x = roundedTo(kind.type, randomNumbers(6 * columns, 1, -8, 8));
            const Numbers g = roundedTo(kind.type, randomNumbers(6 * columns, 2));
            const Tensor tx = bench.tensor(shape, x), y = bench.result(shape);
            softmax(bench.stream(), tx, y);
            const Numbers want = softmaxReference(x, static_cast<std::size_t>(columns));
            VERGENCE_AGREES(difference(bench.numbers(y), want, kind.accuracy, kind.accuracy));
            softmax(bench.stream(), tx, tx); // in place
            QCOMPARE(bench.numbers(tx), bench.numbers(y));
            const Tensor grad = bench.result(shape);
            softmaxBackward(bench.stream(), y, bench.tensor(shape, g), grad, false);
            if (columns > 300)
                continue;
            const auto loss = [&](const Numbers& v) {
                return dot(softmaxReference(v, static_cast<std::size_t>(columns)), g);
            };
            VERGENCE_AGREES(gradientDifference(loss, x, bench.numbers(grad),
                                               kind.type == DType::F64 ? 1e-6 : 4 * kind.accuracy,
                                               24));
            const Numbers once = bench.numbers(grad);
            softmaxBackward(bench.stream(), y, bench.tensor(shape, g), grad, true);
            VERGENCE_AGREES(difference(bench.numbers(grad),
                                       mapped(once, [](double v) { return 2 * v; }), kind.accuracy,
                                       2 * kind.accuracy));
        }
    }

    void regressionsAndTheirGradients_data() { addPlaceAndTypeRows(); }
    void regressionsAndTheirGradients()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (int which = 0; which < 3; ++which) {
            const Penalised& rule = kPenalties[static_cast<std::size_t>(which)];
            for (const int size : {0, 1, 31, 33, 257, 40000}) {
                bench.misaligned = size % 2 == 1;
                Numbers p = roundedTo(kind.type, randomNumbers(size, 1));
                const Numbers t = roundedTo(kind.type, randomNumbers(size, 2));
                for (std::size_t i = 0; i < p.size(); ++i) { // away from the kink
                    if (std::abs(std::abs(p[i] - t[i]) - rule.width) < 0.02)
                        p[i] = t[i] + 0.25;
                }
                p = roundedTo(kind.type, p);
                const Tensor tp = bench.tensor({size}, p), tt = bench.tensor({size}, t);
                const Tensor loss = bench.result({1}, bench.sumType());
                lossOf(which, bench.stream(), tp, tt, rule.width, loss);
                const auto exact = [&](const Numbers& v) {
                    double sum = 0;
                    for (std::size_t i = 0; i < v.size(); ++i)
                        sum += rule.value(v[i] - t[i], rule.width);
                    return v.empty() ? 0 : sum / static_cast<double>(v.size());
                };
                const double accuracy = kind.type == DType::F64 ? 1e-12 : 3e-6;
                VERGENCE_AGREES(
                    difference(bench.numbers(loss), Numbers{exact(p)}, accuracy, accuracy));
                const Tensor grad = bench.result({size});
                fill(bench.stream(), grad, 0);
                const Tensor gradLoss = bench.tensor({1}, {-2}, bench.sumType());
                lossBackwardOf(which, bench.stream(), tp, tt, rule.width, gradLoss, grad, true);
                if (size > 300)
                    continue;
                const double relative = kind.type == DType::F64 ? 1e-6 : 4 * kind.accuracy;
                VERGENCE_AGREES(gradientDifference([&](const Numbers& v) { return -2 * exact(v); },
                                                   p, bench.numbers(grad), relative));
                const Numbers added = bench.numbers(grad);
                lossBackwardOf(which, bench.stream(), tp, tt, rule.width, gradLoss, grad, false);
                QCOMPARE(bench.numbers(grad), added);
            }
        }
    }

    void lossesDoNotDependOnThreads()
    {
        std::vector<Numbers> results;
        for (const int threads : {1, 2, 3}) {
            const Bench bench(makeCpuDevice(threads));
            const Tensor p = bench.tensor({100001}, randomNumbers(100001, 1));
            const Tensor t = bench.tensor({100001}, randomNumbers(100001, 2));
            const Tensor loss = bench.result({1});
            meanSquaredError(bench.stream(), p, t, loss);
            results.push_back(bench.numbers(loss));
        }
        QCOMPARE(results[1], results[0]);
        QCOMPARE(results[2], results[0]);
    }

    void badOperandsAreNamed()
    {
        const Bench bench(makeCpuDevice(1));
        Stream& stream = bench.stream();
        const Tensor z = bench.result({2, 3}), one = bench.result({1});
        const Tensor rowLoss = bench.result({2}), counted = bench.result({1}, DType::I32);
        VERGENCE_THROWS(ContractError, "the tensor of labels is [3] instead of [2]",
                        crossEntropy(stream, z, bench.integers({0, 1, 2}), rowLoss, counted, one));
        VERGENCE_THROWS(ContractError, "F32 instead of I32",
                        crossEntropy(stream, z, rowLoss, rowLoss, counted, one));
        VERGENCE_THROWS(ContractError, "[2] instead of one number",
                        crossEntropy(stream, z, bench.integers({0, 1}), rowLoss, counted, rowLoss));
        VERGENCE_THROWS(ContractError, "[2, 3] and [1]", meanSquaredError(stream, z, one, one));
        VERGENCE_THROWS(ContractError, "positive", smoothL1(stream, z, z, 0, one));
        VERGENCE_THROWS(ContractError, "[2, 3] and [2]", softmax(stream, z, rowLoss));
    }
};

VERGENCE_TEST(TestLoss)
#include "tst_loss.moc"
