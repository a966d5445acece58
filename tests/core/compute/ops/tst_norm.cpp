#include "core/compute/ops/norm.h"
#include "core/compute/ops/pointwise.h"
#include "tests/core/compute/ops/ops_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;

namespace {

/// (x − mean)/√(variance + ε), or x/√(mean x² + ε), of groups of numbers; `groupOf` says which
/// group each number belongs to.
Numbers normalised(const Numbers& x, std::size_t groups,
                   const std::function<std::size_t(std::size_t)>& groupOf, double epsilon,
                   bool isCentred)
{
    Numbers mean(groups, 0), square(groups, 0), count(groups, 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
        mean[groupOf(i)] += isCentred ? x[i] : 0;
        count[groupOf(i)] += 1;
    }
    for (std::size_t g = 0; g < groups; ++g)
        mean[g] /= count[g];
    for (std::size_t i = 0; i < x.size(); ++i)
        square[groupOf(i)] += (x[i] - mean[groupOf(i)]) * (x[i] - mean[groupOf(i)]);
    Numbers y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t g = groupOf(i);
        y[i] = (x[i] - mean[g]) / std::sqrt(square[g] / count[g] + epsilon);
    }
    return y;
}

Numbers rowNormReference(const Numbers& x, const Numbers& weight, const Numbers& bias,
                         double epsilon, bool isCentred)
{
    const std::size_t columns = weight.size();
    if (columns == 0)
        return {};
    Numbers y = normalised(
        x, x.size() / columns, [&](std::size_t i) { return i / columns; }, epsilon, isCentred);
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = y[i] * weight[i % columns] + (bias.empty() ? 0 : bias[i % columns]);
    return y;
}

struct GroupCase {
    Index samples, height, width, channels;
    int groups;
    bool channelsLast, silu;

    Shape shape() const
    {
        return channelsLast ? Shape{samples, height, width, channels}
                            : Shape{samples, channels, height, width};
    }
    Index count() const { return samples * height * width * channels; }
    std::size_t channelOf(std::size_t i) const
    {
        const auto c = static_cast<std::size_t>(channels);
        return channelsLast ? i % c : i / static_cast<std::size_t>(height * width) % c;
    }
    std::size_t groupOf(std::size_t i) const
    {
        const auto perSample = static_cast<std::size_t>(height * width * channels);
        return i / perSample * static_cast<std::size_t>(groups) +
               channelOf(i) / static_cast<std::size_t>(channels / groups);
    }
};

Numbers groupNormReference(const GroupCase& c, const Numbers& x, const Numbers& weight,
                           const Numbers& bias, double epsilon)
{
    Numbers y = normalised(
        x, static_cast<std::size_t>(c.samples * c.groups),
        [&](std::size_t i) { return c.groupOf(i); }, epsilon, true);
    for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = y[i] * weight[c.channelOf(i)] + bias[c.channelOf(i)];
        if (c.silu)
            y[i] /= 1 + std::exp(-y[i]);
    }
    return y;
}

std::vector<GroupCase> groupCases()
{
    std::vector<GroupCase> cases;
    for (const bool channelsLast : {true, false}) {
        for (const bool silu : {true, false}) {
            cases.push_back({2, 3, 5, 8, 4, channelsLast, silu});
            cases.push_back({1, 1, 1, 6, 1, channelsLast, silu});
            cases.push_back({1, 31, 17, 33, 3, channelsLast, silu});
            cases.push_back({2, 2, 2, 32, 32, channelsLast, silu});
        }
    }
    return cases;
}

} // namespace

class TestNorm : public QObject {
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
        const Tensor x = bench.tensor({1, 4}, {1, 2, 3, 4}), y = bench.result({1, 4});
        LayerNormArgs layer;
        layer.epsilon = 1e-6;
        layerNorm(bench.stream(), x, y, layer);
        VERGENCE_AGREES(difference(
            bench.numbers(y), Numbers{-1.34164025, -0.44721342, 0.44721342, 1.34164025}, 1e-6, 0));
        rmsNorm(bench.stream(), x, y, {});
        VERGENCE_AGREES(difference(
            bench.numbers(y), Numbers{0.36514813, 0.73029626, 1.09544438, 1.46059251}, 1e-6, 0));
    }

    void rowsOfEverySize_data() { addPlaceAndTypeRows(); }
    void rowsOfEverySize()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const int columns : {0, 1, 31, 32, 33, 64, 257, 384}) {
            const Index rows = 5;
            bench.misaligned = columns % 2 == 1;
            const Numbers x = roundedTo(kind.type, randomNumbers(rows * columns, 1, -1, 3));
            const Numbers w = roundedTo(kind.type, randomNumbers(columns, 2));
            const Numbers b = roundedTo(kind.type, randomNumbers(columns, 3));
            const Tensor tx = bench.tensor({rows, columns}, x);
            const Tensor tw = bench.tensor({columns}, w), tb = bench.tensor({columns}, b);
            const Tensor y = bench.result({rows, columns});
            LayerNormArgs layer;
            layer.weight = &tw;
            layer.bias = &tb;
            layerNorm(bench.stream(), tx, y, layer);
            const double absolute = 8 * kind.accuracy;
            VERGENCE_AGREES(difference(bench.numbers(y), rowNormReference(x, w, b, 1e-5, true),
                                       absolute, 4 * kind.accuracy));
            RmsNormArgs rms;
            rms.weight = &tw;
            rmsNorm(bench.stream(), tx, y, rms);
            VERGENCE_AGREES(difference(bench.numbers(y), rowNormReference(x, w, {}, 1e-5, false),
                                       absolute, 4 * kind.accuracy));
        }
    }

    void residualIsAddedAndKept_data() { addPlaceAndTypeRows(); }
    void residualIsAddedAndKept()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Shape shape{3, 33};
        const Numbers x = roundedTo(kind.type, randomNumbers(99, 1));
        const Numbers r = roundedTo(kind.type, randomNumbers(99, 2));
        Numbers sum(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            sum[i] = x[i] + r[i];
        const Tensor tx = bench.tensor(shape, x), tr = bench.tensor(shape, r);
        const Tensor y = bench.result(shape), ts = bench.result(shape);
        const Tensor weight = bench.tensor({33}, Numbers(33, 1), bench.sumType());
        LayerNormArgs layer;
        layer.weight = &weight;
        layer.residual = &tr;
        layer.sum = &ts;
        layerNorm(bench.stream(), tx, y, layer);
        VERGENCE_AGREES(difference(bench.numbers(ts), sum, kind.accuracy, kind.accuracy));
        const Numbers kept = bench.numbers(ts), ones(33, 1);
        VERGENCE_AGREES(difference(bench.numbers(y), rowNormReference(kept, ones, {}, 1e-5, true),
                                   8 * kind.accuracy, 4 * kind.accuracy));
        RmsNormArgs rms;
        rms.weight = &weight;
        rms.residual = &tr;
        rms.sum = &ts;
        rmsNorm(bench.stream(), tx, y, rms);
        VERGENCE_AGREES(difference(bench.numbers(y), rowNormReference(kept, ones, {}, 1e-5, false),
                                   8 * kind.accuracy, 4 * kind.accuracy));
    }

    void farFromZeroNothingCancels()
    {
        // Variance 1 around 10⁴: a one-pass formula would lose all digits in float.
        const Bench bench(makeCpuDevice(1));
        Numbers x = roundedTo(DType::F32, randomNumbers(384, 5, 9999, 10001));
        const Tensor y = bench.result({1, 384});
        layerNorm(bench.stream(), bench.tensor({1, 384}, x), y, {});
        VERGENCE_AGREES(difference(bench.numbers(y),
                                   rowNormReference(x, Numbers(384, 1), {}, 1e-5, true), 2e-3, 0));
        GroupNormArgs group;
        group.groups = 4;
        const Tensor z = bench.result({1, 4, 4, 24});
        groupNorm(bench.stream(), bench.tensor({1, 4, 4, 24}, x), z, group);
        const GroupCase c{1, 4, 4, 24, 4, true, false};
        VERGENCE_AGREES(difference(bench.numbers(z),
                                   groupNormReference(c, x, Numbers(24, 1), Numbers(24, 0), 1e-5),
                                   2e-3, 0));
    }

    void rowGradients_data() { addPlaceAndTypeRows(); }
    void rowGradients()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const bool isCentred : {true, false}) {
            for (const int columns : {1, 4, 31, 33, 64}) {
                if (columns == 1 && kind.type != DType::F64)
                    continue; // the derivative is a difference of equal numbers: rounding alone
                const Index rows = columns == 64 ? 260 : 3; // 260: more than one chunk
                bench.misaligned = columns == 33;
                const Numbers x = roundedTo(kind.type, randomNumbers(rows * columns, 1));
                const Numbers g = roundedTo(kind.type, randomNumbers(rows * columns, 2));
                const Numbers w = roundedTo(kind.type, randomNumbers(columns, 3));
                const Numbers b = Numbers(w.size(), 0);
                const Shape shape{rows, columns};
                const Tensor tx = bench.tensor(shape, x), tg = bench.tensor(shape, g);
                const Tensor tw = bench.tensor({columns}, w);
                const Tensor y = bench.result(shape), gradX = bench.result(shape);
                const Tensor mean = bench.zeros({rows}, bench.sumType());
                const Tensor rstd = bench.zeros({rows}, bench.sumType());
                const Tensor gradW = bench.zeros({columns}, bench.sumType());
                const Tensor gradB = bench.zeros({columns}, bench.sumType());
                if (isCentred) {
                    LayerNormArgs args;
                    args.weight = &tw;
                    args.mean = &mean;
                    args.rstd = &rstd;
                    layerNorm(bench.stream(), tx, y, args);
                    layerNormBackward(bench.stream(), tx, &tw, mean, rstd, tg, gradX, false, &gradW,
                                      &gradB);
                } else {
                    RmsNormArgs args;
                    args.weight = &tw;
                    args.rstd = &rstd;
                    rmsNorm(bench.stream(), tx, y, args);
                    rmsNormBackward(bench.stream(), tx, &tw, rstd, tg, gradX, false, &gradW);
                }
                const double relative = kind.type == DType::F64 ? 1e-6 : 8 * kind.accuracy;
                const auto lossOfX = [&](const Numbers& v) {
                    return dot(rowNormReference(v, w, b, 1e-5, isCentred), g);
                };
                VERGENCE_AGREES(gradientDifference(lossOfX, x, bench.numbers(gradX), relative, 8));
                const auto lossOfW = [&](const Numbers& v) {
                    return dot(rowNormReference(x, v, b, 1e-5, isCentred), g);
                };
                VERGENCE_AGREES(gradientDifference(lossOfW, w, bench.numbers(gradW), relative, 8));
                if (isCentred) {
                    const auto lossOfB = [&](const Numbers& v) {
                        return dot(rowNormReference(x, w, v, 1e-5, isCentred), g);
                    };
                    VERGENCE_AGREES(
                        gradientDifference(lossOfB, b, bench.numbers(gradB), relative, 8));
                }
                // Gradients of weights are added to, that of x only where asked.
                const Numbers before = bench.numbers(gradX), weights = bench.numbers(gradW);
                if (isCentred)
                    layerNormBackward(bench.stream(), tx, &tw, mean, rstd, tg, gradX, true, &gradW,
                                      nullptr);
                else
                    rmsNormBackward(bench.stream(), tx, &tw, rstd, tg, gradX, true, &gradW);
                const auto twice = [](double v) { return 2 * v; };
                VERGENCE_AGREES(difference(bench.numbers(gradX), mapped(before, twice),
                                           4 * kind.accuracy, 4 * kind.accuracy));
                VERGENCE_AGREES(
                    difference(bench.numbers(gradW), mapped(weights, twice), 1e-6, 1e-6));
            }
        }
    }

    void gradientsOfWeightsFromManyRows_data() { addPlaceAndTypeRows(); }
    void gradientsOfWeightsFromManyRows()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Index rows = 700; // several chunks, the last of them short
        for (const Index columns : {1, 33, 257, 600}) {
            bench.misaligned = columns % 2 == 1;
            const Numbers x = roundedTo(kind.type, randomNumbers(rows * columns, 1));
            const Numbers g = roundedTo(kind.type, randomNumbers(rows * columns, 2));
            const Numbers mean = roundedTo(bench.sumType(), randomNumbers(rows, 3));
            const Numbers rstd = roundedTo(bench.sumType(), randomNumbers(rows, 4, 0.5, 2));
            Numbers ofWeight(static_cast<std::size_t>(columns), 0), ofBias = ofWeight;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const std::size_t row = i / ofBias.size(), column = i % ofBias.size();
                ofWeight[column] += g[i] * (x[i] - mean[row]) * rstd[row];
                ofBias[column] += g[i];
            }
            const Tensor gradW = bench.zeros({columns}, bench.sumType());
            const Tensor gradB = bench.zeros({columns}, bench.sumType());
            const Tensor tg = bench.tensor({rows, columns}, g); // where gradX goes as well
            layerNormBackward(bench.stream(), bench.tensor({rows, columns}, x), nullptr,
                              bench.tensor({rows}, mean, bench.sumType()),
                              bench.tensor({rows}, rstd, bench.sumType()), tg, tg, false, &gradW,
                              &gradB);
            const double absolute = kind.type == DType::F64 ? 1e-10 : 2e-3;
            VERGENCE_AGREES(difference(bench.numbers(gradW), ofWeight, absolute, 1e-6));
            VERGENCE_AGREES(difference(bench.numbers(gradB), ofBias, absolute, 1e-6));
        }
    }

    void groupsInBothLayouts_data() { addPlaceAndTypeRows(); }
    void groupsInBothLayouts()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const GroupCase& c : groupCases()) {
            bench.misaligned = c.channels == 33;
            const Numbers x = roundedTo(kind.type, randomNumbers(c.count(), 1, -1, 2));
            const Numbers w = roundedTo(kind.type, randomNumbers(c.channels, 2));
            const Numbers b = roundedTo(kind.type, randomNumbers(c.channels, 3));
            const Tensor tw = bench.tensor({c.channels}, w), tb = bench.tensor({c.channels}, b);
            const Tensor y = bench.result(c.shape());
            GroupNormArgs args;
            args.weight = &tw;
            args.bias = &tb;
            args.groups = c.groups;
            args.silu = c.silu;
            args.channelsLast = c.channelsLast;
            groupNorm(bench.stream(), bench.tensor(c.shape(), x), y, args);
            VERGENCE_AGREES(difference(bench.numbers(y), groupNormReference(c, x, w, b, 1e-5),
                                       8 * kind.accuracy, 4 * kind.accuracy));
        }
    }

    void groupGradients_data() { addPlaceAndTypeRows(); }
    void groupGradients()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        for (const GroupCase& c : groupCases()) {
            if (c.height == 1 && kind.type != DType::F64)
                continue; // one pixel of one channel: the derivative is rounding alone
            const Numbers x = roundedTo(kind.type, randomNumbers(c.count(), 1, -1, 2));
            const Numbers g = roundedTo(kind.type, randomNumbers(c.count(), 4));
            const Numbers w = roundedTo(kind.type, randomNumbers(c.channels, 2, 0.5, 2));
            const Numbers b = roundedTo(kind.type, randomNumbers(c.channels, 3));
            const Tensor tw = bench.tensor({c.channels}, w), tb = bench.tensor({c.channels}, b);
            const Tensor tx = bench.tensor(c.shape(), x), y = bench.result(c.shape());
            const Tensor mean = bench.zeros({c.samples, c.groups}, bench.sumType());
            const Tensor rstd = bench.zeros({c.samples, c.groups}, bench.sumType());
            const Tensor gradW = bench.zeros({c.channels}, bench.sumType());
            const Tensor gradB = bench.zeros({c.channels}, bench.sumType());
            const Tensor gradX = bench.result(c.shape());
            GroupNormArgs args;
            args.weight = &tw;
            args.bias = &tb;
            args.groups = c.groups;
            args.silu = c.silu;
            args.channelsLast = c.channelsLast;
            args.mean = &mean;
            args.rstd = &rstd;
            groupNorm(bench.stream(), tx, y, args);
            groupNormBackward(bench.stream(), tx, bench.tensor(c.shape(), g), gradX, false, &gradW,
                              &gradB, args);
            const double relative = kind.type == DType::F64 ? 1e-6 : 8 * kind.accuracy;
            VERGENCE_AGREES(gradientDifference(
                [&](const Numbers& v) { return dot(groupNormReference(c, v, w, b, 1e-5), g); }, x,
                bench.numbers(gradX), relative, 8));
            VERGENCE_AGREES(gradientDifference(
                [&](const Numbers& v) { return dot(groupNormReference(c, x, v, b, 1e-5), g); }, w,
                bench.numbers(gradW), relative, 8));
            VERGENCE_AGREES(gradientDifference(
                [&](const Numbers& v) { return dot(groupNormReference(c, x, w, v, 1e-5), g); }, b,
                bench.numbers(gradB), relative, 8));
        }
    }

    void gradientOfGroupNormOverwritesEither_data() { addPlaceAndTypeRows(); }
    void gradientOfGroupNormOverwritesEither()
    {
        VERGENCE_ROW_BENCH(bench, kind);
        const Shape shape{2, 9, 5, 12};
        const Index count = 2 * 9 * 5 * 12;
        const Numbers numbers = randomNumbers(count, 1), slopes = randomNumbers(count, 2);
        const Tensor mean = bench.zeros({2, 4}, bench.sumType());
        const Tensor rstd = bench.zeros({2, 4}, bench.sumType());
        for (const bool channelsLast : {false, true}) {
            GroupNormArgs args;
            args.groups = 4;
            args.silu = true;
            args.channelsLast = channelsLast;
            args.mean = &mean;
            args.rstd = &rstd;
            const Shape& extents = channelsLast ? shape : Shape{2, 12, 9, 5};
            const Tensor x = bench.tensor(extents, numbers), g = bench.tensor(extents, slopes);
            const Tensor apart = bench.result(extents);
            groupNorm(bench.stream(), x, apart, args);
            groupNormBackward(bench.stream(), x, g, apart, false, nullptr, nullptr, args);
            for (const bool isInput : {false, true}) {
                const Tensor x2 = bench.tensor(extents, numbers);
                const Tensor g2 = bench.tensor(extents, slopes);
                const Tensor& over = isInput ? x2 : g2;
                groupNormBackward(bench.stream(), x2, g2, over, false, nullptr, nullptr, args);
                QVERIFY(bench.numbers(over) == bench.numbers(apart));
            }
        }
    }

    void gradientsDoNotDependOnThreads()
    {
        std::vector<Numbers> results;
        for (const int threads : {1, 2, 3}) {
            const Bench bench(makeCpuDevice(threads));
            const Shape shape{2056, 48};
            const Tensor x = bench.tensor(shape, randomNumbers(2056 * 48, 1));
            const Tensor g = bench.tensor(shape, randomNumbers(2056 * 48, 2));
            const Tensor y = bench.result(shape), mean = bench.result({2056});
            const Tensor rstd = bench.result({2056}), gradW = bench.zeros({48}, DType::F32);
            LayerNormArgs args;
            args.mean = &mean;
            args.rstd = &rstd;
            layerNorm(bench.stream(), x, y, args);
            layerNormBackward(bench.stream(), x, nullptr, mean, rstd, g, y, false, &gradW, nullptr);
            results.push_back(bench.numbers(gradW));
        }
        QCOMPARE(results[1], results[0]);
        QCOMPARE(results[2], results[0]);
    }

    void badOperandsAreNamed()
    {
        const Bench bench(makeCpuDevice(1));
        Stream& stream = bench.stream();
        const Tensor x = bench.result({2, 3}), w = bench.result({2});
        LayerNormArgs layer;
        layer.weight = &w;
        VERGENCE_THROWS(ContractError, "the weight is [2] instead of [3]",
                        layerNorm(stream, x, x, layer));
        layer.weight = nullptr;
        layer.mean = &x;
        VERGENCE_THROWS(ContractError, "the mean is [2, 3] for 2 rows",
                        layerNorm(stream, x, x, layer));
        layer.mean = nullptr;
        layer.residual = &x;
        VERGENCE_THROWS(ContractError, "given together", layerNorm(stream, x, x, layer));
        const Tensor image = bench.result({1, 2, 2, 6});
        GroupNormArgs group;
        group.groups = 4;
        VERGENCE_THROWS(ContractError, "4 groups of 6 channels",
                        groupNorm(stream, image, image, group));
        VERGENCE_THROWS(ContractError, "[2, 3] instead of 4 dimensions",
                        groupNorm(stream, x, x, group));
        group.groups = 3;
        VERGENCE_THROWS(
            ContractError, "mean and rstd",
            groupNormBackward(stream, image, image, image, false, nullptr, nullptr, group));
    }
};

VERGENCE_TEST(TestNorm)
#include "tst_norm.moc"
