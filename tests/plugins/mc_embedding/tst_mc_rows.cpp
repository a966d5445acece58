#include <algorithm>
#include <cstring>

#include <QTest>

#include "core/compute/rng.h"
#include "core/compute/tensor.h"
#include "plugins/mc_embedding/compute/mask_kernels.h"
#include "plugins/mc_embedding/compute/masked_attention.h"
#include "plugins/mc_embedding/compute/row_kernels.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

namespace {

/// Memory of a device and how to fill it.
struct Bench {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();

    explicit Bench(std::shared_ptr<Device> on) : device(std::move(on)) {}

    template <class T>
    Tensor put(Shape shape, const std::vector<T>& values) const
    {
        return Tensor::fromHost<T>(*stream, device, std::move(shape), values);
    }
    Tensor space(Shape shape, DType type = DType::F32) const
    {
        return Tensor::zeros(*stream, device, std::move(shape), type);
    }
    std::vector<float> host(const Tensor& tensor) const { return tensor.toHost<float>(*stream); }
    Tensor keys(const std::vector<SequenceKey>& keys) const
    {
        const Tensor memory = Tensor::empty(
            device, {static_cast<Index>(keys.size()), Index{sizeof(SequenceKey)}}, DType::U8);
        stream->copy(memory.data(), keys.data(), memory.bytes());
        return memory;
    }
};

std::vector<float> noise(std::size_t count, std::uint64_t seed)
{
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = 2 * Rng(seed).uniform(i) - 1;
    return values;
}

RowSource source(const Tensor& tensor, Index rowsEach, Index images = 0, Index first = 0)
{
    return {tensor.data(), rowsEach, images, first};
}

/// LayerNorm of one row in double.
std::vector<double> normed(std::vector<double> row, const std::vector<float>& weight,
                           const std::vector<float>& bias, double epsilon)
{
    double mean = 0, variance = 0;
    const auto count = static_cast<double>(row.size());
    for (const double value : row)
        mean += value / count;
    for (const double value : row)
        variance += (value - mean) * (value - mean) / count;
    for (std::size_t c = 0; c < row.size(); ++c)
        row[c] = (row[c] - mean) / std::sqrt(variance + epsilon) * weight[c] + bias[c];
    return row;
}

} // namespace

class TestMcRows : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void dropoutAndLinearHaveTheirMoments_data() { addDeviceRows(); }
    void dropoutAndLinearHaveTheirMoments();
    void maskComesBeforeTheActivation_data() { addDeviceRows(); }
    void maskComesBeforeTheActivation();
    void activationsHaveTheTabledValues_data() { addDeviceRows(); }
    void activationsHaveTheTabledValues();
    void branchesAreAddedAndNormed_data() { addDeviceRows(); }
    void branchesAreAddedAndNormed();
    void patchesAreNormalisedAndInOrder_data() { addDeviceRows(); }
    void patchesAreNormalisedAndInOrder();
    void attentionMatchesItsFormula_data();
    void attentionMatchesItsFormula();
};

/// Specification, V3: y is masked at p = 0.25, then multiplied by V.
void TestMcRows::dropoutAndLinearHaveTheirMoments()
{
    VERGENCE_ROW_DEVICE(device);
    const Bench bench(device);
    constexpr Index kPasses = 100'000, kColumns = 16;
    std::vector<float> y(kColumns);
    std::ranges::copy(std::vector<float>{2, -1, 0.5, 3}, y.begin());
    std::vector<SequenceKey> keys;
    for (std::uint32_t t = 0; t < kPasses; ++t)
        keys.push_back({7, t});
    const Tensor keyMemory = bench.keys(keys), values = bench.put<float>({1, kColumns}, y);
    const Tensor bits = bench.space({kPasses}, DType::U16), out = bench.space({kPasses, kColumns});
    MaskArguments draw;
    const DropRate rate = dropRate(0.25);
    draw.keys = static_cast<const SequenceKey*>(keyMemory.data());
    draw.sequences = kPasses;
    draw.bits = static_cast<std::uint16_t*>(bits.data());
    draw.add(4, kColumns, 0, rate);
    maskBits(*bench.stream, draw);
    MaskRowsArguments args;
    args.rows = kPasses;
    args.columns = kColumns;
    args.x = source(values, 1, 1);
    args.mask[0] = {draw.bits, rate.scale};
    args.y = out.data();
    maskRows(*bench.stream, args);
    const auto masked = bench.host(out);

    const double v[3][4] = {{1, 0, 2, -1}, {0.5, 1, 0, 0}, {0, -1, 1, 1}};
    double sum[7] = {}, products[7][7] = {};
    for (Index t = 0; t < kPasses; ++t) {
        double z[7] = {};
        for (int j = 0; j < 4; ++j)
            z[j] = masked[static_cast<std::size_t>(t * kColumns + j)];
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 4; ++j)
                z[4 + i] += v[i][j] * z[j];
        }
        for (int a = 0; a < 7; ++a) {
            sum[a] += z[a];
            for (int b = 0; b < 7; ++b)
                products[a][b] += z[a] * z[b];
        }
    }
    const auto covariance = [&](int a, int b) {
        return (products[a][b] - sum[a] * sum[b] / kPasses) / (kPasses - 1);
    };
    const double want[4] = {1.3333333, 0.3333333, 0.0833333, 3};
    double trace = 0;
    for (int j = 0; j < 4; ++j) {
        trace += covariance(j, j) / 4;
        QVERIFY(std::abs(covariance(j, j) / want[j] - 1) < 0.02);
        // Four standard errors by the exact fourth moment; specification, V28.
        const double square = std::pow(y[static_cast<std::size_t>(j)], 2), p = 0.25;
        const double fourth = square * square * p * (1 - 3 * p + 3 * p * p) / std::pow(1 - p, 3);
        const double error = std::sqrt((fourth - want[j] * want[j]) / kPasses);
        QVERIFY(std::abs(covariance(j, j) - want[j]) < 4 * error);
        QVERIFY(std::abs(sum[j] / kPasses - static_cast<double>(y[static_cast<std::size_t>(j)])) <
                4 * std::sqrt(want[j] / kPasses));
    }
    QVERIFY(std::abs(trace / 1.1875 - 1) < 0.02);
    const double joint[3][3] = {
        {4.66667, 0.66667, -2.83333}, {0.66667, 0.66667, -0.33333}, {-2.83333, -0.33333, 3.41667}};
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b)
            QVERIFY(std::abs(covariance(4 + a, 4 + b) - joint[a][b]) < 0.02 * 4.66667);
    }
}

namespace {

struct Outcome {
    double mean[2] = {}, covariance[3] = {}; ///< (0, 0), (0, 1), (1, 1)
};

/// Specification, V4: all 8 masks of three values, before or after quick-GELU, then U.
Outcome enumerated(const Bench& bench, bool isAfter)
{
    const double p = 0.25, u[2][3] = {{1, 2, -1}, {0, 1, 1}};
    const float y[3] = {2, -1, 0.5};
    std::vector<float> x(8 * 16);
    std::vector<std::uint16_t> bits;
    for (std::uint16_t mask = 0; mask < 8; ++mask) {
        bits.push_back(mask);
        for (std::size_t j = 0; j < 3; ++j)
            x[mask * 16u + j] = y[j];
    }
    const Tensor in = bench.put<float>({8, 16}, x), out = bench.space({8, 16});
    const Tensor words = bench.put<std::int32_t>({4}, [&] {
        std::vector<std::int32_t> joined(4);
        std::memcpy(joined.data(), bits.data(), 16);
        return joined;
    }());
    ActivateRowsArguments args;
    args.rows = 8;
    args.columns = 16;
    args.x = source(in, 1);
    const RowMask mask{static_cast<const std::uint16_t*>(words.data()), dropRate(p).scale};
    (isAfter ? args.after : args.before) = mask;
    args.y = out.data();
    activateRows(*bench.stream, args);
    const auto h = bench.host(out);
    Outcome result;
    double second[3] = {};
    for (std::size_t m = 0; m < 8; ++m) {
        double chance = 1, z[2] = {};
        for (std::size_t j = 0; j < 3; ++j) {
            chance *= (m >> j & 1) != 0 ? p : 1 - p;
            for (int i = 0; i < 2; ++i)
                z[i] += u[i][j] * h[m * 16 + j];
        }
        for (int i = 0; i < 2; ++i)
            result.mean[i] += chance * z[i];
        second[0] += chance * z[0] * z[0];
        second[1] += chance * z[0] * z[1];
        second[2] += chance * z[1] * z[1];
    }
    result.covariance[0] = second[0] - result.mean[0] * result.mean[0];
    result.covariance[1] = second[1] - result.mean[0] * result.mean[1];
    result.covariance[2] = second[2] - result.mean[1] * result.mean[1];
    return result;
}

} // namespace

void TestMcRows::maskComesBeforeTheActivation()
{
    VERGENCE_ROW_DEVICE(device);
    const Bench bench(device);
    const Outcome before = enumerated(bench, false), after = enumerated(bench, true);
    const auto near = [](double got, double want) { return std::abs(got - want) < 1e-6; };
    QVERIFY(near(before.mean[0], 1.4131116) && near(before.mean[1], 0.2846547));
    QVERIFY(near(before.covariance[0], 1.3647045));
    QVERIFY(near(before.covariance[1], -0.0418636));
    QVERIFY(near(before.covariance[2], 0.0506424));
    // After the activation nothing is biased.
    QVERIFY(near(after.mean[0], 1.2768617) && near(after.mean[1], 0.1961842));
}

void TestMcRows::activationsHaveTheTabledValues()
{
    VERGENCE_ROW_DEVICE(device);
    const Bench bench(device);
    std::vector<float> x(16);
    std::ranges::copy(std::vector<float>{-3, -1, -0.5, 0.5, 1, 3}, x.begin());
    const auto check = [&](Activation activation, const std::vector<double>& want) {
        const Tensor in = bench.put<float>({1, 16}, x), out = bench.space({1, 16});
        ActivateRowsArguments args;
        args.activation = activation;
        args.rows = 1;
        args.columns = 16;
        args.x = source(in, 1);
        args.y = out.data();
        activateRows(*bench.stream, args);
        auto got = bench.host(out);
        got.resize(6);
        const std::string fault =
            difference(std::span<const float>(got), std::span<const double>(want), 6e-7, 1e-6);
        QVERIFY2(fault.empty(), fault.c_str());
    };
    check(Activation::QuickGelu, {-0.018071, -0.154204, -0.149612, 0.350388, 0.845796, 2.981929});
    check(Activation::GeluErf, {-0.004050, -0.158655, -0.154269, 0.345731, 0.841345, 2.995950});
    check(Activation::GeluTanh, {-0.003637, -0.158808, -0.154286, 0.345714, 0.841192, 2.996363});
}

void TestMcRows::branchesAreAddedAndNormed()
{
    VERGENCE_ROW_DEVICE(device);
    const Bench bench(device);
    // Two tokens of three sequences that show the images 1, 0, 1 (number 3 on, of two).
    constexpr Index kSequences = 3, kTokens = 2, kColumns = 48, kRows = kSequences * kTokens;
    const auto branch = noise(2 * kTokens * kColumns, 1),
               residual = noise(static_cast<std::size_t>(kRows * kColumns), 2),
               weight = noise(kColumns, 3), bias = noise(kColumns, 4);
    const std::vector<SequenceKey> keys = {{1, 0}, {2, 0}, {3, 0}};
    const Tensor keyMemory = bench.keys(keys);
    const Tensor bits = bench.space({2 * kRows * kColumns / 16}, DType::U16);
    MaskArguments draw;
    const DropRate rate = dropRate(0.3);
    draw.keys = static_cast<const SequenceKey*>(keyMemory.data());
    draw.sequences = kSequences;
    draw.bits = static_cast<std::uint16_t*>(bits.data());
    draw.add(3, kTokens * kColumns, 0, rate);
    draw.add(6, kTokens * kColumns, kRows * kColumns / 16, rate);
    maskBits(*bench.stream, draw);
    const Tensor branchRows = bench.put<float>({2, kTokens, kColumns}, branch),
                 x = bench.put<float>({kRows, kColumns}, residual),
                 weights = bench.put<float>({kColumns}, weight),
                 biases = bench.put<float>({kColumns}, bias), out = bench.space({kRows, kColumns});
    AddRowsArguments args;
    args.rows = kRows;
    args.tokens = kTokens;
    args.columns = kColumns;
    args.branch = source(branchRows, kTokens, 2, 3);
    args.residual = source(x, kTokens);
    args.first = {draw.bits, rate.scale};
    args.last = {draw.bits + kRows * kColumns / 16, rate.scale};
    args.coin = {11, dropRate(0.5), 42, draw.keys};
    args.x = static_cast<float*>(x.data());
    args.norm = {static_cast<const float*>(weights.data()),
                 static_cast<const float*>(biases.data()), 1e-5f};
    args.normed = out.data();
    addRows(*bench.stream, args);
    std::vector<double> want;
    for (Index row = 0; row < kRows; ++row) {
        const Index sequence = row / kTokens, token = row % kTokens;
        const SequenceKey key = keys[static_cast<std::size_t>(sequence)];
        const bool isGone = isDropped(dropRate(0.5), 42, key, 11, Purpose::StochasticDepth, 0);
        std::vector<double> values;
        for (Index c = 0; c < kColumns; ++c) {
            const auto factor = [&](int site) {
                const bool drops =
                    isDropped(rate, 42, key, site, Purpose::Dropout, token * kColumns + c);
                return drops ? 0.0 : static_cast<double>(rate.scale);
            };
            const Index image = (3 + sequence) % 2;
            const double value =
                branch[static_cast<std::size_t>((image * kTokens + token) * kColumns + c)] *
                factor(3) * (isGone ? 0 : 2);
            values.push_back((residual[static_cast<std::size_t>(row * kColumns + c)] + value) *
                             factor(6));
        }
        const auto part = normed(values, weight, bias, 1e-5);
        want.insert(want.end(), part.begin(), part.end());
    }
    const auto got = bench.host(out);
    const std::string fault =
        difference(std::span<const float>(got), std::span<const double>(want), 2e-6, 1e-5);
    QVERIFY2(fault.empty(), fault.c_str());
}

void TestMcRows::patchesAreNormalisedAndInOrder()
{
    VERGENCE_ROW_DEVICE(device);
    const Bench bench(device);
    // A side of 11 leaves 3 pixels that no patch of 4 reads.
    constexpr Index kSide = 11, kPatch = 4, kGrid = 2;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(2 * kSide * kSide * 3));
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(Rng(1).bits(i));
    const Tensor in = bench.put<std::uint8_t>({2, kSide, kSide, 3}, pixels);
    const Tensor out = bench.space({3, kGrid * kGrid, 3 * kPatch * kPatch});
    PatchRowsArguments args;
    args.pixels = {in.data(), 0, 2, 1};
    args.side = kSide;
    args.patch = kPatch;
    args.sequences = 3;
    const float mean[] = {0.4f, 0.5f, 0.6f}, deviation[] = {0.2f, 0.3f, 0.25f};
    std::ranges::copy(mean, args.mean);
    std::ranges::copy(deviation, args.deviation);
    args.y = out.data();
    patchRows(*bench.stream, args);
    std::vector<double> want;
    for (Index s = 0; s < 3; ++s) {
        for (Index place = 0; place < kGrid * kGrid; ++place) {
            for (Index c = 0; c < 3; ++c) {
                for (Index at = 0; at < kPatch * kPatch; ++at) {
                    const Index y = place / kGrid * kPatch + at / kPatch,
                                x = place % kGrid * kPatch + at % kPatch;
                    const double byte = pixels[static_cast<std::size_t>(
                        (((1 + s) % 2 * kSide + y) * kSide + x) * 3 + c)];
                    want.push_back((byte / 255 - mean[c]) / deviation[c]);
                }
            }
        }
    }
    const auto got = bench.host(out);
    const std::string fault =
        difference(std::span<const float>(got), std::span<const double>(want), 1e-6, 1e-6);
    QVERIFY2(fault.empty(), fault.c_str());
}

void TestMcRows::attentionMatchesItsFormula_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<int>("tokens");
    QTest::addColumn<double>("p");
    forEachDevice([](const std::string& name, int device) {
        for (const int tokens : {1, 17, 50}) {
            for (const double p : {0.0, 0.3})
                QTest::addRow("%s, %d tokens, p %g", name.c_str(), tokens, p)
                    << device << tokens << p;
        }
    });
}

void TestMcRows::attentionMatchesItsFormula()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(int, tokens);
    QFETCH(double, p);
    const Bench bench(device);
    const Index n = tokens, heads = 2, size = 72, width = heads * size, sequences = 2;
    const auto qkv = noise(static_cast<std::size_t>(sequences * n * 3 * width), 8);
    const std::vector<SequenceKey> keys = {{1, 0}, {2, 5}};
    const Tensor keyMemory = bench.keys(keys);
    const Tensor in = bench.put<float>({sequences, n, 3 * width}, qkv),
                 out = bench.space({sequences, n, width});
    const auto* data = static_cast<const float*>(in.data());
    MaskedAttentionArguments args;
    args.sequences = sequences;
    args.queries = args.keys = n;
    args.heads = heads;
    args.headSize = size;
    args.q = data;
    args.k = data + width;
    args.v = data + 2 * width;
    args.queryStride = args.keyStride = 3 * width;
    args.o = out.data();
    args.site = 23;
    args.seed = 42;
    args.rate = dropRate(p);
    args.sequenceKeys = static_cast<const SequenceKey*>(keyMemory.data());
    maskedAttention(*bench.stream, args);
    std::vector<double> want(static_cast<std::size_t>(sequences * n * width));
    const auto at = [&](Index s, Index token, Index part, Index head, Index d) -> double {
        return qkv[static_cast<std::size_t>(((s * n + token) * 3 + part) * width + head * size +
                                            d)];
    };
    for (Index s = 0; s < sequences; ++s) {
        for (Index h = 0; h < heads; ++h) {
            for (Index i = 0; i < n; ++i) {
                std::vector<double> weights;
                double total = 0;
                for (Index j = 0; j < n; ++j) {
                    double score = 0;
                    for (Index d = 0; d < size; ++d)
                        score += at(s, i, 0, h, d) * at(s, j, 1, h, d);
                    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
                    total += weights.back();
                }
                for (Index j = 0; j < n; ++j) {
                    const bool isGone = isDropped(args.rate, 42, keys[static_cast<std::size_t>(s)],
                                                  23, Purpose::Dropout, (h * n + i) * n + j);
                    const double weight = isGone ? 0
                                                 : weights[static_cast<std::size_t>(j)] / total *
                                                       static_cast<double>(args.rate.scale);
                    for (Index d = 0; d < size; ++d)
                        want[static_cast<std::size_t>((s * n + i) * width + h * size + d)] +=
                            weight * at(s, j, 2, h, d);
                }
            }
        }
    }
    const auto got = bench.host(out);
    const std::string fault =
        difference(std::span<const float>(got), std::span<const double>(want), 1e-6, 1e-5);
    QVERIFY2(fault.empty(), fault.c_str());
}

VERGENCE_TEST(TestMcRows)
#include "tst_mc_rows.moc"
