#include <optional>

#include <QTest>

#include "tests/plugins/foveated_vlm/gaze_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {

/// Three blocks with registers, on a grid that positions are resampled to.
GazePlan plan(QueryMode mode = QueryMode::Deep)
{
    GazePlan result;
    result.vit = smallestVit();
    result.vit.layers = 3;
    result.vit.width = 16;
    result.vit.hidden = 24;
    result.vit.grid = 3;
    result.vit.registers = 2;
    result.query = queriesOf(6, mode);
    return result;
}

/// Loss and gradients of a coarse look and of two looks that depend on it, as in training.
struct Outcome {
    double loss = 0;
    std::vector<std::vector<double>> parameters; ///< gradients; empty: none
    std::vector<double> query, patches;
    bool keepsTape = false;
    std::size_t peakBytes = 0;
};

Outcome outcome(const GazePlan& plan, bool recomputes, bool learnsPatches = true, Index rows = 2,
                Index columns = 4)
{
    GazeSetup setup(plan, rows, columns);
    setup.parameters.zeroGradients(*setup.stream);
    Graph graph(*setup.stream, setup.device, {true, plan.compute});
    const ForwardPass pass{graph, setup.parameters, nullptr, recomputes, {}};
    const Value patches =
        learnsPatches ? graph.variable(setup.patches(3)) : graph.constant(setup.patches(3));
    const Value query = graph.variable(setup.doubles({1, plan.query.width}, 21));
    const Encoded encoded = setup.encoder.encode(pass, patches, query);
    const Index width = plan.vit.width;
    // Queries that the coarse tokens decide, shifted by one frame.
    const Value map = graph.constant(setup.doubles({plan.query.width, width}, 22));
    const Value queries = linear(graph, encoded.coarse, map);
    const Value shifted = concat(graph, {query, narrow(graph, queries, 0, 0, 2)}, 0);
    const Value fine = setup.encoder.look(pass, encoded, shifted);
    const Tensor frames = setup.integers({2, 0, 2, 2});
    const Value more =
        setup.encoder.look(pass, encoded, concat(graph, {queries, query}, 0), &frames);
    const auto weighted = [&](Value y, int seed) {
        return weightedSum(graph, y, setup.doubles(graph.shape(y), seed));
    };
    const Value loss = add(graph, add(graph, weighted(encoded.coarse, 31), weighted(fine, 32)),
                           weighted(more, 33));
    Outcome result;
    result.loss = setup.host(graph.tensor(loss))[0];
    result.keepsTape = graph.needsGradient(encoded.keys.front().source);
    graph.backward(loss);
    for (int i = 0; i < setup.parameters.count(); ++i) {
        const Tensor& gradient = setup.parameters[i].gradient;
        result.parameters.push_back(gradient.isEmpty() ? std::vector<double>{}
                                                       : setup.host(gradient));
    }
    result.query = setup.host(graph.gradient(query));
    if (const Tensor gradient = graph.gradient(patches); !gradient.isEmpty())
        result.patches = setup.host(gradient);
    result.peakBytes = graph.peakBytes();
    return result;
}

std::string relative(const std::vector<double>& got, const std::vector<double>& want,
                     double tolerance)
{
    double largest = 1e-6;
    for (const double value : want)
        largest = std::max(largest, std::abs(value));
    return difference(got, want, tolerance * largest, 0);
}

std::string sameOutcome(const Outcome& got, const Outcome& want)
{
    constexpr double kTolerance = 1e-12;
    if (const auto text = relative({got.loss}, {want.loss}, kTolerance); !text.empty())
        return "loss: " + text;
    if (const auto text = relative(got.query, want.query, kTolerance); !text.empty())
        return "query: " + text;
    if (const auto text = relative(got.patches, want.patches, kTolerance); !text.empty())
        return "patches: " + text;
    for (std::size_t i = 0; i < want.parameters.size(); ++i) {
        const auto text = relative(got.parameters[i], want.parameters[i], kTolerance);
        if (!text.empty())
            return fmt::format("parameter {}: {}", i, text);
    }
    return {};
}

Savings savings(bool deadTail, bool riding, bool merged, bool folded)
{
    return {deadTail, riding, merged, folded, false, false};
}

} // namespace

class TestFvlmGazeSavings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void savingsChangeNothing_data();
    void savingsChangeNothing();
    void shallowSavingsChangeNothing_data();
    void shallowSavingsChangeNothing();
    void frozenTowerKeepsNoTape_data();
    void frozenTowerKeepsNoTape();
    void recomputedBlocksNeedLessMemory();
    void equalFramesMayBeEncodedOnce();
    void halfPrecisionStaysNear();
    void nothingIsAllocatedAfterTheFirstSteps();
};

void TestFvlmGazeSavings::savingsChangeNothing_data()
{
    QTest::addColumn<int>("which");
    QTest::addColumn<bool>("recomputes");
    for (int which = 0; which < 16; ++which) {
        for (const bool recomputes : {false, true})
            QTest::addRow("%s%s%s%s%s", which & 1 ? "tail " : "", which & 2 ? "ride " : "",
                          which & 4 ? "merge " : "", which & 8 ? "fold " : "",
                          recomputes ? "recompute" : "keep")
                << which << recomputes;
    }
}

void TestFvlmGazeSavings::savingsChangeNothing()
{
    QFETCH(int, which);
    QFETCH(bool, recomputes);
    GazePlan plain = plan(), saving = plan();
    plain.savings = noSavings();
    saving.savings =
        savings((which & 1) != 0, (which & 2) != 0, (which & 4) != 0, (which & 8) != 0);
    static const Outcome expected = outcome(plain, false);
    QVERIFY(!expected.patches.empty());
    VERGENCE_AGREES(sameOutcome(outcome(saving, recomputes), expected));
}

void TestFvlmGazeSavings::shallowSavingsChangeNothing_data()
{
    QTest::addColumn<int>("mode");
    QTest::addColumn<double>("temperature");
    QTest::addColumn<int>("topK");
    QTest::addRow("average") << static_cast<int>(QueryMode::ShallowAverage) << 1.0 << 0;
    QTest::addRow("last") << static_cast<int>(QueryMode::ShallowLast) << 1.0 << 0;
    QTest::addRow("last, cold top 3") << static_cast<int>(QueryMode::ShallowLast) << 0.5 << 3;
    QTest::addRow("deep, cold") << static_cast<int>(QueryMode::Deep) << 0.5 << 0;
    QTest::addRow("deep, top 3") << static_cast<int>(QueryMode::Deep) << 1.0 << 3;
}

void TestFvlmGazeSavings::shallowSavingsChangeNothing()
{
    QFETCH(int, mode);
    QFETCH(double, temperature);
    QFETCH(int, topK);
    GazePlan plain = plan(static_cast<QueryMode>(mode));
    plain.query.temperature = temperature;
    plain.query.topK = topK;
    GazePlan saving = plain;
    plain.savings = noSavings();
    VERGENCE_AGREES(sameOutcome(outcome(saving, false), outcome(plain, false)));
    VERGENCE_AGREES(sameOutcome(outcome(saving, true), outcome(plain, false)));
}

void TestFvlmGazeSavings::frozenTowerKeepsNoTape_data()
{
    QTest::addColumn<int>("mode");
    QTest::addColumn<bool>("recomputes");
    for (const bool recomputes : {false, true}) {
        const char* how = recomputes ? "recompute" : "keep";
        QTest::addRow("deep, %s", how) << static_cast<int>(QueryMode::Deep) << recomputes;
        QTest::addRow("average, %s", how)
            << static_cast<int>(QueryMode::ShallowAverage) << recomputes;
        QTest::addRow("last, %s", how) << static_cast<int>(QueryMode::ShallowLast) << recomputes;
    }
}

/// Its gradients are absent, all others are those of the trained one.
void TestFvlmGazeSavings::frozenTowerKeepsNoTape()
{
    QFETCH(int, mode);
    QFETCH(bool, recomputes);
    GazePlan trained = plan(static_cast<QueryMode>(mode)), frozen = trained;
    frozen.freezesVit = true;
    const Outcome expected = outcome(trained, false), got = outcome(frozen, recomputes, false);
    QVERIFY(expected.keepsTape);
    QVERIFY(!got.keepsTape);
    VERGENCE_AGREES(relative({got.loss}, {expected.loss}, 1e-12));
    VERGENCE_AGREES(relative(got.query, expected.query, 1e-12));
    int absent = 0, present = 0;
    for (std::size_t i = 0; i < expected.parameters.size(); ++i) {
        absent += got.parameters[i].empty() ? 1 : 0;
        if (got.parameters[i].empty())
            continue;
        ++present;
        VERGENCE_AGREES(relative(got.parameters[i], expected.parameters[i], 1e-12));
    }
    QCOMPARE(present, 3); // query_input_proj.weight, output_proj.weight and bias
    QVERIFY(absent > 40);
    QVERIFY(4 * got.peakBytes < 3 * expected.peakBytes);
}

void TestFvlmGazeSavings::recomputedBlocksNeedLessMemory()
{
    GazePlan deep = plan();
    deep.vit.layers = 6;
    deep.vit.hidden = 64;
    const std::size_t kept = outcome(deep, false, false, 12, 12).peakBytes;
    const std::size_t recomputed = outcome(deep, true, false, 12, 12).peakBytes;
    QVERIFY2(recomputed < 2 * kept / 3, qPrintable(QString("%1, %2").arg(recomputed).arg(kept)));
}

void TestFvlmGazeSavings::equalFramesMayBeEncodedOnce()
{
    const GazePlan tested = plan();
    std::vector<std::vector<double>> seen;
    for (const bool once : {true, false}) {
        GazeSetup setup(tested, 2, 4);
        setup.parameters.zeroGradients(*setup.stream);
        Graph graph(*setup.stream, setup.device, {true, DType::F64});
        const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
        const std::vector<std::int32_t> which{0, 1, 1, 1};
        const auto pixels = setup.host(setup.patches(2));
        const std::size_t size = pixels.size() / 2;
        std::vector<double> repeated;
        for (const std::int32_t frame : which)
            repeated.insert(repeated.end(),
                            pixels.begin() + static_cast<std::ptrdiff_t>(size) * frame,
                            pixels.begin() + static_cast<std::ptrdiff_t>(size) * (frame + 1));
        const Value patches =
            graph.constant(once ? setup.patches(2)
                                : Tensor::fromHost<double>(*setup.stream, setup.device,
                                                           {4, 8, setup.patchNumbers()}, repeated));
        const Encoded encoded =
            setup.encoder.encode(pass, patches, graph.constant(setup.doubles({1, 6}, 21)));
        const Tensor map = setup.integers(which);
        const Value coarse = once ? gatherRows(graph, encoded.coarse, map) : encoded.coarse;
        const Value fine = setup.encoder.look(
            pass, encoded, graph.constant(setup.doubles({4, 6}, 22)), once ? &map : nullptr);
        const auto weighted = [&](Value y, int seed) {
            return weightedSum(graph, y, setup.doubles(graph.shape(y), seed));
        };
        seen.push_back(setup.host(graph.tensor(coarse)));
        seen.push_back(setup.host(graph.tensor(fine)));
        graph.backward(add(graph, weighted(coarse, 31), weighted(fine, 32)));
        seen.push_back(setup.host(setup.parameters.gradients()));
    }
    for (std::size_t i = 0; i < 3; ++i)
        VERGENCE_AGREES(relative(seen[i], seen[i + 3], 1e-12));
}

/// BF16 products beside F32 masters.
void TestFvlmGazeSavings::halfPrecisionStaysNear()
{
    std::vector<std::vector<float>> gradients;
    for (const DType compute : {DType::F32, DType::BF16}) {
        GazePlan tested = plan();
        tested.vit.width = 32;
        tested.type = DType::F32;
        tested.compute = compute;
        GazeSetup setup(tested, 3, 3);
        setup.parameters.zeroGradients(*setup.stream);
        Graph graph(*setup.stream, setup.device, {true, compute});
        const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
        const auto random = [&](Shape shape, std::uint64_t purpose) {
            const Tensor tensor = Tensor::empty(setup.device, std::move(shape));
            fillNormal(*setup.stream, tensor, 0, 1, 5, purpose);
            return tensor;
        };
        const auto typed = [&](Shape shape, std::uint64_t purpose) {
            return cast(graph, graph.constant(random(std::move(shape), purpose)), compute);
        };
        const Encoded encoded =
            setup.encoder.encode(pass, typed({2, 9, setup.patchNumbers()}, 1), typed({1, 6}, 2));
        const Value fine = setup.encoder.look(pass, encoded, typed({2, 6}, 3));
        graph.backward(add(graph, weightedSum(graph, encoded.coarse, random({2, 32}, 4)),
                           weightedSum(graph, fine, random({2, 32}, 5))));
        gradients.push_back(setup.parameters.gradients().toHost<float>(*setup.stream));
    }
    double dot = 0, a = 0, b = 0;
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
        dot += static_cast<double>(gradients[0][i]) * gradients[1][i];
        a += static_cast<double>(gradients[0][i]) * gradients[0][i];
        b += static_cast<double>(gradients[1][i]) * gradients[1][i];
    }
    QVERIFY2(dot / std::sqrt(a * b) > 0.999, qPrintable(QString::number(dot / std::sqrt(a * b))));
}

void TestFvlmGazeSavings::nothingIsAllocatedAfterTheFirstSteps()
{
    const GazePlan tested = plan();
    GazeSetup setup(tested, 2, 4);
    Graph graph(*setup.stream, setup.device, {true, DType::F64});
    const Tensor patches = setup.patches(3), query = setup.doubles({1, 6}, 1);
    std::uint64_t allocations = 0;
    for (int step = 0; step < 4; ++step) {
        graph.reset();
        const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
        const Encoded encoded =
            setup.encoder.encode(pass, graph.constant(patches), graph.constant(query));
        const Value fine =
            setup.encoder.look(pass, encoded, graph.constant(setup.doubles({3, 6}, 2)));
        graph.backward(weightedSum(graph, fine, setup.doubles({3, 16}, 3)));
        if (step == 2)
            allocations = graph.allocations();
    }
    QCOMPARE(graph.allocations(), allocations);
}

VERGENCE_TEST(TestFvlmGazeSavings)
#include "tst_fvlm_gaze_savings.moc"
