#include <algorithm>
#include <cmath>

#include <QTest>

#include "tests/plugins/foveated_vlm/gaze_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {

/// One look written out: q [M, H, d], rows [F, S, C].
std::vector<double> lookByHand(const std::vector<double>& q, const std::vector<double>& rows,
                               Index stored, Index columns, const KeyWindow& keys,
                               const LookSettings& settings,
                               const std::vector<std::int32_t>& frames,
                               std::vector<double>& weights)
{
    const Index width = keys.heads * keys.headSize;
    const auto at = [&](Index f, Index n, Index column) {
        return rows[static_cast<std::size_t>((f * stored + keys.firstRow + n) * columns + column)];
    };
    std::vector<double> y(frames.size() * static_cast<std::size_t>(width), 0.0);
    weights.clear();
    for (std::size_t m = 0; m < frames.size(); ++m) {
        for (Index h = 0; h < keys.heads; ++h) {
            std::vector<double> logits;
            for (Index n = 0; n < keys.seen; ++n) {
                double sum = 0;
                for (Index j = 0; j < keys.headSize; ++j)
                    sum += q[m * static_cast<std::size_t>(width) +
                             static_cast<std::size_t>(h * keys.headSize + j)] *
                           at(frames[m], n, keys.firstKey + h * keys.headSize + j);
                logits.push_back(sum / std::sqrt(static_cast<double>(keys.headSize)) /
                                 settings.temperature);
            }
            auto sorted = logits;
            std::sort(sorted.rbegin(), sorted.rend());
            const double least = settings.topK > 0 && settings.topK < keys.seen
                                     ? sorted[static_cast<std::size_t>(settings.topK - 1)]
                                     : sorted.back();
            double total = 0;
            for (double& logit : logits) {
                logit = logit >= least ? std::exp(logit) : 0;
                total += logit;
            }
            for (Index n = 0; n < keys.seen; ++n) {
                const double weight = logits[static_cast<std::size_t>(n)] / total;
                weights.push_back(weight);
                for (Index j = 0; j < keys.headSize; ++j)
                    y[m * static_cast<std::size_t>(width) +
                      static_cast<std::size_t>(h * keys.headSize + j)] +=
                        weight * at(frames[m], n, keys.firstValue + h * keys.headSize + j);
            }
        }
    }
    return y;
}

KeyWindow windowOf(int heads, Index size, Index seen)
{
    KeyWindow keys;
    keys.heads = heads;
    keys.headSize = size;
    keys.firstKey = heads * size;
    keys.firstValue = 2 * heads * size;
    keys.firstRow = 1;
    keys.seen = seen;
    return keys;
}

struct Bench {
    std::shared_ptr<Device> device = devices().devices.front();
    std::unique_ptr<Stream> stream = device->createStream();

    Tensor doubles(Shape shape, const std::vector<double>& values) const
    {
        return Tensor::fromHost<double>(*stream, device, std::move(shape), values);
    }
    Tensor integers(const std::vector<std::int32_t>& values) const
    {
        return Tensor::fromHost<std::int32_t>(*stream, device, {static_cast<Index>(values.size())},
                                              values);
    }
};

} // namespace

class TestFvlmGazeLook : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void lookIsTheFormula_data();
    void lookIsTheFormula();
    void singlePrecisionIsTheFormula();
    void derivativesAreDifferences_data();
    void derivativesAreDifferences();
    void waitingChangesNoGradient();
    void constantValuesAreSeenByAnyQuery();
    void equalKeysAreSeenEvenly();
    void rowsOutsideTheWindowDoNotCount();
    void patchesAttendAsTheEngineDoes();
    void whatDoesNotFitIsRefused();
};

void TestFvlmGazeLook::lookIsTheFormula_data()
{
    QTest::addColumn<int>("heads");
    QTest::addColumn<int>("size");
    QTest::addColumn<int>("seen");
    QTest::addColumn<double>("temperature");
    QTest::addColumn<int>("topK");
    QTest::addRow("T0") << 2 << 4 << 5 << 1.0 << 0;
    QTest::addRow("demo") << 4 << 16 << 65 << 1.0 << 0;
    QTest::addRow("256 px") << 3 << 64 << 325 << 1.0 << 0;
    QTest::addRow("one head of 384") << 1 << 384 << 33 << 1.0 << 0;
    QTest::addRow("one key") << 2 << 5 << 1 << 1.0 << 0;
    QTest::addRow("cold") << 2 << 4 << 31 << 0.1 << 0;
    QTest::addRow("warm") << 2 << 4 << 31 << 4.0 << 0;
    QTest::addRow("top 1") << 2 << 7 << 33 << 1.0 << 1;
    QTest::addRow("top 16 at 0.5") << 3 << 16 << 65 << 0.5 << 16;
    QTest::addRow("top of all") << 2 << 4 << 9 << 1.0 << 9;
    QTest::addRow("top beyond all") << 2 << 4 << 9 << 1.0 << 100;
}

void TestFvlmGazeLook::lookIsTheFormula()
{
    QFETCH(int, heads);
    QFETCH(int, size);
    QFETCH(int, seen);
    QFETCH(double, temperature);
    QFETCH(int, topK);
    const Bench bench;
    KeyWindow keys = windowOf(heads, size, seen);
    const Index width = static_cast<Index>(heads) * size, stored = seen + 2, columns = 3 * width;
    const std::vector<std::int32_t> frames{2, 0, 2, 1, 2};
    const auto q = numbers(5 * width, 1), rows = numbers(4 * stored * columns, 2);
    Graph graph(*bench.stream, bench.device, {false, DType::F64});
    keys.source = graph.constant(bench.doubles({4, stored, columns}, rows));
    Tensor weights;
    const Tensor map = bench.integers(frames);
    const Value y = lookAttention(graph, graph.constant(bench.doubles({5, width}, q)), keys,
                                  {temperature, topK}, &map, nullptr, &weights);
    std::vector<double> expectedWeights;
    const auto expected =
        lookByHand(q, rows, stored, columns, keys, {temperature, topK}, frames, expectedWeights);
    VERGENCE_AGREES(
        difference(graph.tensor(y).toHost<double>(*bench.stream), expected, 1e-13, 1e-12));
    QCOMPARE(weights.shape(), (Shape{5, heads, seen}));
    VERGENCE_AGREES(
        difference(weights.toHost<double>(*bench.stream), expectedWeights, 1e-14, 1e-12));
}

void TestFvlmGazeLook::singlePrecisionIsTheFormula()
{
    const Bench bench;
    for (const int topK : {0, 7}) {
        KeyWindow keys = windowOf(4, 16, 65);
        const std::vector<std::int32_t> frames{0, 1, 2};
        const auto q = numbers(3 * 64, 1), rows = numbers(3 * 67 * 192, 2);
        Graph graph(*bench.stream, bench.device, {false, DType::F32});
        const auto single = [&](Shape shape, const std::vector<double>& values) {
            const std::vector<float> converted(values.begin(), values.end());
            return graph.constant(
                Tensor::fromHost<float>(*bench.stream, bench.device, std::move(shape), converted));
        };
        keys.source = single({3, 67, 192}, rows);
        const Value y =
            lookAttention(graph, single({3, 64}, q), keys, {0.7, topK}, nullptr, nullptr);
        std::vector<double> weights;
        VERGENCE_AGREES(difference(graph.tensor(y).toHost<float>(*bench.stream),
                                   lookByHand(q, rows, 67, 192, keys, {0.7, topK}, frames, weights),
                                   2e-6, 2e-6));
    }
}

void TestFvlmGazeLook::derivativesAreDifferences_data()
{
    QTest::addColumn<int>("heads");
    QTest::addColumn<int>("size");
    QTest::addColumn<int>("seen");
    QTest::addColumn<double>("temperature");
    QTest::addColumn<int>("topK");
    QTest::addColumn<bool>("mapped");
    for (const bool mapped : {false, true}) {
        const char* how = mapped ? "mapped" : "frame by frame";
        QTest::addRow("5 keys, %s", how) << 2 << 4 << 5 << 1.0 << 0 << mapped;
        QTest::addRow("65 keys, %s", how) << 3 << 16 << 65 << 1.0 << 0 << mapped;
        QTest::addRow("325 keys, %s", how) << 1 << 64 << 325 << 1.0 << 0 << mapped;
        QTest::addRow("cold top 3, %s", how) << 2 << 4 << 33 << 0.3 << 3 << mapped;
    }
}

void TestFvlmGazeLook::derivativesAreDifferences()
{
    QFETCH(int, heads);
    QFETCH(int, size);
    QFETCH(int, seen);
    QFETCH(double, temperature);
    QFETCH(int, topK);
    QFETCH(bool, mapped);
    const Bench bench;
    const Index width = static_cast<Index>(heads) * size;
    const Tensor map = bench.integers({2, 0, 2, 2});
    const Index queries = mapped ? 4 : 3;
    TapeCase tested{{{queries, width}, {3, seen + 1, 3 * width}},
                    [&](Graph& graph, const std::vector<Value>& inputs) {
                        KeyWindow keys = windowOf(heads, size, seen);
                        keys.source = inputs[1];
                        return lookAttention(graph, inputs[0], keys, {temperature, topK},
                                             mapped ? &map : nullptr, nullptr);
                    },
                    1e-6};
    VERGENCE_AGREES(TapeCheck(bench.device, tested, false).run());
}

/// Two looks and the patches' own attention: gradients left to wait are those added at once.
void TestFvlmGazeLook::waitingChangesNoGradient()
{
    const Bench bench;
    const Tensor map = bench.integers({1, 1, 0, 1});
    for (const bool patchesAsk : {true, false}) {
        std::vector<std::vector<double>> gradients;
        for (const bool waits : {false, true}) {
            Graph graph(*bench.stream, bench.device, {true, DType::F64});
            KeyWindow keys = windowOf(2, 4, 6);
            keys.firstRow = 0;
            const Value source = graph.variable(bench.doubles({3, 7, 24}, numbers(3 * 7 * 24, 1)));
            const Value first = graph.variable(bench.doubles({3, 8}, numbers(24, 2)));
            const Value second = graph.variable(bench.doubles({4, 8}, numbers(32, 3)));
            keys.source = source;
            const auto waiting = waits ? std::make_shared<WaitingLooks>() : nullptr;
            Value loss;
            const auto add = [&](Value y, int seed) {
                const Value part = weightedSum(
                    graph, y, bench.doubles(graph.shape(y), numbers(graph.tensor(y).size(), seed)));
                loss = loss ? vergence::add(graph, loss, part) : part;
            };
            if (patchesAsk)
                add(patchAttention(graph, keys, waiting), 4);
            else if (waits)
                receiveLooks(graph, keys, waiting);
            add(lookAttention(graph, first, keys, {}, nullptr, waiting), 5);
            add(lookAttention(graph, second, keys, {0.5, 3}, &map, waiting), 6);
            graph.backward(loss);
            gradients.emplace_back();
            for (const Value input : {source, first, second}) {
                const auto values = graph.gradient(input).toHost<double>(*bench.stream);
                gradients.back().insert(gradients.back().end(), values.begin(), values.end());
            }
        }
        VERGENCE_AGREES(difference(gradients[1], gradients[0], 1e-14, 1e-13));
    }
}

void TestFvlmGazeLook::constantValuesAreSeenByAnyQuery()
{
    const Bench bench;
    KeyWindow keys = windowOf(2, 8, 33);
    auto rows = numbers(2 * 34 * 48, 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i % 48 >= 32)
            rows[i] = 0.25 + static_cast<double>(i % 48);
    }
    for (const int topK : {0, 5}) {
        Graph graph(*bench.stream, bench.device, {false, DType::F64});
        keys.source = graph.constant(bench.doubles({2, 34, 48}, rows));
        const Value y = lookAttention(graph, graph.constant(bench.doubles({2, 16}, numbers(32, 2))),
                                      keys, {0.5, topK}, nullptr, nullptr);
        const auto seen = graph.tensor(y).toHost<double>(*bench.stream);
        for (std::size_t i = 0; i < seen.size(); ++i)
            QVERIFY(std::abs(seen[i] - (32.25 + static_cast<double>(i % 16))) < 1e-12);
    }
}

void TestFvlmGazeLook::equalKeysAreSeenEvenly()
{
    const Bench bench;
    for (const int seen : {65, 257, 325}) {
        KeyWindow keys = windowOf(1, 4, seen);
        auto rows = numbers((seen + 1) * 12, 1);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i % 12 >= 4 && i % 12 < 8)
                rows[i] = static_cast<double>(i % 12);
        }
        Graph graph(*bench.stream, bench.device, {false, DType::F64});
        keys.source = graph.constant(bench.doubles({1, seen + 1, 12}, rows));
        Tensor weights;
        (void)lookAttention(graph, graph.constant(bench.doubles({1, 4}, numbers(4, 2))), keys, {},
                            nullptr, nullptr, &weights);
        double entropy = 0;
        for (const double p : weights.toHost<double>(*bench.stream))
            entropy -= p * std::log(p);
        const double known = seen == 65 ? 4.17438727 : seen == 257 ? 5.54907608 : 5.78382518;
        QVERIFY(std::abs(entropy - known) < 1e-8);
    }
}

void TestFvlmGazeLook::rowsOutsideTheWindowDoNotCount()
{
    const Bench bench;
    KeyWindow keys = windowOf(2, 4, 5);
    auto rows = numbers(2 * 8 * 24, 1);
    const auto seen = [&] {
        Graph graph(*bench.stream, bench.device, {false, DType::F64});
        keys.source = graph.constant(bench.doubles({2, 8, 24}, rows));
        const Value y = lookAttention(graph, graph.constant(bench.doubles({2, 8}, numbers(16, 2))),
                                      keys, {}, nullptr, nullptr);
        return graph.tensor(y).toHost<double>(*bench.stream);
    };
    const auto before = seen();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t row = i / 24 % 8;
        if (row < 1 || row > 5 || i % 24 < 8)
            rows[i] = 1e6;
    }
    QVERIFY(seen() == before);
}

void TestFvlmGazeLook::patchesAttendAsTheEngineDoes()
{
    const Bench bench;
    std::vector<std::vector<double>> results;
    for (const bool own : {true, false}) {
        Graph graph(*bench.stream, bench.device, {true, DType::F64});
        const Value qkv = graph.variable(bench.doubles({2, 9, 36}, numbers(2 * 9 * 36, 1)));
        KeyWindow keys;
        keys.source = qkv;
        keys.heads = 3, keys.headSize = 4;
        keys.firstKey = 12, keys.firstValue = 24;
        keys.seen = 9;
        const Value y =
            own ? patchAttention(graph, keys, nullptr) : attentionPacked(graph, qkv, 3, 3);
        graph.backward(weightedSum(graph, y, bench.doubles({2, 9, 12}, numbers(2 * 9 * 12, 2))));
        results.push_back(graph.tensor(y).toHost<double>(*bench.stream));
        results.push_back(graph.gradient(qkv).toHost<double>(*bench.stream));
    }
    QVERIFY(results[0] == results[2]);
    QVERIFY(results[1] == results[3]);
}

void TestFvlmGazeLook::whatDoesNotFitIsRefused()
{
    const Bench bench;
    Graph graph(*bench.stream, bench.device, {false, DType::F64});
    KeyWindow keys = windowOf(2, 4, 5);
    keys.source = graph.constant(bench.doubles({2, 6, 24}, numbers(2 * 6 * 24, 1)));
    const auto ask = [&](Shape shape, const Tensor* frames) {
        const auto values = numbers(elementCount(shape), 2);
        return lookAttention(graph, graph.constant(bench.doubles(std::move(shape), values)), keys,
                             {}, frames, nullptr);
    };
    VERGENCE_THROWS(ContractError, "[2, 7] do not fit 2 heads of 4", ask({2, 7}, nullptr));
    VERGENCE_THROWS(ContractError, "3 queries for 2 frames", ask({3, 8}, nullptr));
    const Tensor two = bench.integers({0, 1});
    VERGENCE_THROWS(ContractError, "[2] for 3 queries", ask({3, 8}, &two));
    const Tensor wrong = bench.doubles({3}, {0, 1, 0});
    VERGENCE_THROWS(ContractError, "for 3 queries", ask({3, 8}, &wrong));
}

VERGENCE_TEST(TestFvlmGazeLook)
#include "tst_fvlm_gaze_look.moc"
