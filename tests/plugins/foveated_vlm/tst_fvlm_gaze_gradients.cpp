#include <algorithm>

#include <QTest>

#include "tests/plugins/foveated_vlm/gaze_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {

/// Σ w ⊙ coarse + Σ w ⊙ two looks as a function of parameters and inputs.
class GazeFunction {
public:
    explicit GazeFunction(const GazePlan& plan)
        : m_setup(plan),
          m_taped(*m_setup.stream, m_setup.device, {true, DType::F64}),
          m_plain(*m_setup.stream, m_setup.device, {false, DType::F64}),
          m_frames(m_setup.integers({1, 1, 0})),
          m_patches(m_setup.patches(2)),
          m_static(m_setup.doubles({1, 6}, 1)),
          m_first(m_setup.doubles({2, 6}, 2)),
          m_second(m_setup.doubles({3, 6}, 3))
    {
    }

    /// Empty where all derivatives agree with differences.
    std::string check()
    {
        m_setup.parameters.zeroGradients(*m_setup.stream);
        std::vector<Value> inputs;
        m_taped.backward(loss(m_taped, inputs));
        for (int i = 0; i < m_setup.parameters.count(); ++i) {
            const Parameter& parameter = m_setup.parameters[i];
            const std::string text = compare(parameter.value, m_setup.host(parameter.gradient));
            if (!text.empty())
                return parameter.name + ": " + text;
        }
        const Tensor tensors[] = {m_patches, m_static, m_first, m_second};
        for (std::size_t i = 0; i < 4; ++i) {
            const std::string text = compare(tensors[i], m_setup.host(m_taped.gradient(inputs[i])));
            if (!text.empty())
                return fmt::format("input {}: {}", i, text);
        }
        return {};
    }

private:
    Value loss(Graph& graph, std::vector<Value>& inputs)
    {
        graph.reset();
        const ForwardPass pass{graph, m_setup.parameters, nullptr, false, {}};
        for (const Tensor& tensor : {m_patches, m_static, m_first, m_second})
            inputs.push_back(graph.variable(tensor));
        const Encoded encoded = m_setup.encoder.encode(pass, inputs[0], inputs[1]);
        const auto weighted = [&](Value y, int seed) {
            return weightedSum(graph, y, m_setup.doubles(graph.shape(y), seed));
        };
        const Value first = m_setup.encoder.look(pass, encoded, inputs[2]);
        const Value second = m_setup.encoder.look(pass, encoded, inputs[3], &m_frames);
        return add(graph, add(graph, weighted(encoded.coarse, 5), weighted(first, 6)),
                   weighted(second, 7));
    }

    std::string compare(const Tensor& varied, const std::vector<double>& gradient)
    {
        const auto kept = m_setup.host(varied);
        const auto put = [&](const std::vector<double>& values) {
            m_setup.stream->copy(varied.data(), values.data(), varied.bytes());
        };
        const std::string text = gradientDifference(
            [&](const std::vector<double>& x) {
                put(x);
                std::vector<Value> inputs;
                return m_setup.host(m_plain.tensor(loss(m_plain, inputs)))[0];
            },
            kept, gradient, 1e-6, 12);
        put(kept);
        return text;
    }

    GazeSetup m_setup;
    Graph m_taped, m_plain;
    Tensor m_frames, m_patches, m_static, m_first, m_second;
};

} // namespace

class TestFvlmGazeGradients : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void derivativesAreDifferences_data();
    void derivativesAreDifferences();
    void startValuesAreThePublished();
    void readoutIsWhatWasUsed_data();
    void readoutIsWhatWasUsed();
    void lookDependsOnlyOnItsFrame();
    void droppedClassTokenIsNotSeen();
    void whatDoesNotFitIsRefused();
};

void TestFvlmGazeGradients::derivativesAreDifferences_data()
{
    QTest::addColumn<int>("mode");
    QTest::addColumn<double>("temperature");
    QTest::addColumn<int>("topK");
    QTest::addColumn<bool>("saves");
    QTest::addColumn<bool>("biased");
    const int deep = static_cast<int>(QueryMode::Deep);
    const int average = static_cast<int>(QueryMode::ShallowAverage);
    const int last = static_cast<int>(QueryMode::ShallowLast);
    QTest::addRow("deep, plain") << deep << 1.0 << 0 << false << false;
    QTest::addRow("deep, saving") << deep << 1.0 << 0 << true << false;
    QTest::addRow("deep, warm") << deep << 2.0 << 0 << true << true;
    QTest::addRow("deep, top 2") << deep << 1.0 << 2 << true << false;
    QTest::addRow("average") << average << 1.0 << 0 << true << true;
    QTest::addRow("average, warm top 3") << average << 2.0 << 3 << false << false;
    QTest::addRow("last") << last << 1.0 << 0 << true << false;
    QTest::addRow("last, top 2") << last << 1.0 << 2 << false << true;
}

void TestFvlmGazeGradients::derivativesAreDifferences()
{
    QFETCH(int, mode);
    QFETCH(double, temperature);
    QFETCH(int, topK);
    QFETCH(bool, saves);
    QFETCH(bool, biased);
    GazePlan plan{
        smallestVit(), queriesOf(6, static_cast<QueryMode>(mode)), {}, DType::F64, DType::F64,
        false};
    plan.query.temperature = temperature;
    plan.query.topK = topK;
    plan.query.bias = biased;
    plan.query.dropsClassToken = biased;
    if (!saves)
        plan.savings = noSavings();
    VERGENCE_AGREES(GazeFunction(plan).check());
}

void TestFvlmGazeGradients::startValuesAreThePublished()
{
    GazePlan plan{smallestVit(), queriesOf(100), {}, DType::F32, DType::F32, false};
    plan.vit.width = 64;
    const GazeSetup setup(plan);
    const auto check = [&](const char* name, double bound) {
        const auto values = setup.parameters.named(name).toHost<float>(*setup.stream);
        double most = 0, square = 0;
        for (const float value : values) {
            most = std::max(most, std::abs(static_cast<double>(value)));
            square += static_cast<double>(value) * value;
        }
        const double deviation = std::sqrt(square / static_cast<double>(values.size()));
        return most <= bound && most > 0.9 * bound &&
               std::abs(deviation / (bound / std::sqrt(3.0)) - 1) < 0.15;
    };
    QVERIFY(check("encoder.query_input_proj.weight", 0.1));
    QVERIFY(check("encoder.output_proj.weight", 0.125));
    QVERIFY(check("encoder.output_proj.bias", 0.125));
    QCOMPARE(setup.parameters.find("encoder.query_input_proj.bias"), -1);
    const auto scales = setup.parameters.named("encoder.dino.encoder.layer.1.layer_scale2.lambda1")
                            .toHost<float>(*setup.stream);
    QVERIFY(std::all_of(scales.begin(), scales.end(), [](float value) { return value == 1; }));
}

void TestFvlmGazeGradients::readoutIsWhatWasUsed_data()
{
    QTest::addColumn<int>("mode");
    QTest::addRow("deep") << static_cast<int>(QueryMode::Deep);
    QTest::addRow("average") << static_cast<int>(QueryMode::ShallowAverage);
    QTest::addRow("last") << static_cast<int>(QueryMode::ShallowLast);
}

/// Rows sum to 1, the look is the same with and without, and the weights of the first block are
/// those of a query whose projection is known.
void TestFvlmGazeGradients::readoutIsWhatWasUsed()
{
    QFETCH(int, mode);
    GazePlan plan{
        smallestVit(), queriesOf(6, static_cast<QueryMode>(mode)), {}, DType::F64, DType::F64,
        false};
    plan.vit.registers = 2;
    const GazeSetup setup(plan);
    Graph graph(*setup.stream, setup.device, {false, DType::F64});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    AttentionReadout riding, looking;
    const Value query = graph.constant(setup.doubles({1, 6}, 1));
    const Encoded encoded =
        setup.encoder.encode(pass, graph.constant(setup.patches(2)), query, &riding);
    const Tensor frames = setup.integers({1, 0, 1});
    const Value three = graph.constant(setup.doubles({3, 6}, 2));
    const Value read = setup.encoder.look(pass, encoded, three, &frames, &looking);
    const Value unread = setup.encoder.look(pass, encoded, three, &frames);
    QVERIFY(setup.host(graph.tensor(read)) == setup.host(graph.tensor(unread)));
    const auto [blocks, heads, seen] = setup.encoder.readoutShape();
    QCOMPARE(seen, Index{7});
    QCOMPARE(riding.weights.shape(), (Shape{2, blocks, heads, seen}));
    QCOMPARE(looking.weights.shape(), (Shape{3, blocks, heads, seen}));
    const auto weights = setup.host(looking.weights);
    for (std::size_t row = 0; row < weights.size() / 7; ++row) {
        double total = 0;
        for (std::size_t n = 0; n < 7; ++n)
            total += weights[row * 7 + n];
        QVERIFY(std::abs(total - 1) < 1e-14);
    }
    // The riding query at frame 1 as a look of its own.
    AttentionReadout alone;
    const Tensor one = setup.integers({1});
    const Value again = setup.encoder.look(pass, encoded, query, &one, &alone);
    const auto coarse = setup.host(graph.tensor(encoded.coarse));
    VERGENCE_AGREES(difference(setup.host(graph.tensor(again)),
                               std::vector<double>(coarse.begin() + 8, coarse.end()), 1e-13,
                               1e-12));
    const auto all = setup.host(riding.weights);
    const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
    VERGENCE_AGREES(difference(setup.host(alone.weights),
                               std::vector<double>(all.begin() + half, all.end()), 1e-14, 1e-12));
    if (static_cast<QueryMode>(mode) == QueryMode::Deep)
        QVERIFY(graph.shape(encoded.keys.front().source)[1] == 7); // it did not ride
}

void TestFvlmGazeGradients::lookDependsOnlyOnItsFrame()
{
    const GazeSetup setup(GazePlan{smallestVit(), queriesOf(6), {}, DType::F64, DType::F64, false});
    const auto seen = [&](double change) {
        auto pixels = setup.host(setup.patches(3));
        for (std::size_t i = pixels.size() / 3; i < 2 * pixels.size() / 3; ++i)
            pixels[i] += change * static_cast<double>(i % 5);
        Graph graph(*setup.stream, setup.device, {false, DType::F64});
        const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
        const Value patches = graph.constant(Tensor::fromHost<double>(
            *setup.stream, setup.device, {3, 4, setup.patchNumbers()}, pixels));
        const Encoded encoded =
            setup.encoder.encode(pass, patches, graph.constant(setup.doubles({1, 6}, 1)));
        const Value fine =
            setup.encoder.look(pass, encoded, graph.constant(setup.doubles({3, 6}, 2)));
        auto all = setup.host(graph.tensor(encoded.coarse));
        const auto more = setup.host(graph.tensor(fine));
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const auto before = seen(0), after = seen(0.1);
    for (std::size_t i = 0; i < before.size(); ++i)
        QCOMPARE(before[i] == after[i], i / 8 % 3 != 1);
}

void TestFvlmGazeGradients::droppedClassTokenIsNotSeen()
{
    GazePlan plan{
        smallestVit(), queriesOf(6, QueryMode::ShallowAverage), {}, DType::F64, DType::F64, false};
    plan.query.dropsClassToken = true;
    const GazeSetup setup(plan);
    Graph graph(*setup.stream, setup.device, {false, DType::F64});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    AttentionReadout readout;
    const Encoded encoded = setup.encoder.encode(
        pass, graph.constant(setup.patches(1)), graph.constant(setup.doubles({1, 6}, 1)), &readout);
    QCOMPARE(readout.weights.shape(), (Shape{1, 1, 1, 4}));
    // z = output(Σ a F) over the four patches.
    const auto features = setup.host(graph.tensor(encoded.features));
    const auto weights = setup.host(readout.weights);
    std::vector<double> mixed(8, 0.0), expected;
    for (std::size_t n = 0; n < 4; ++n) {
        for (std::size_t j = 0; j < 8; ++j)
            mixed[j] += weights[n] * features[(n + 1) * 8 + j];
    }
    const auto matrix = setup.host(setup.parameters.named("encoder.output_proj.weight"));
    expected = setup.host(setup.parameters.named("encoder.output_proj.bias"));
    for (std::size_t i = 0; i < 8; ++i) {
        for (std::size_t j = 0; j < 8; ++j)
            expected[i] += matrix[i * 8 + j] * mixed[j];
    }
    VERGENCE_AGREES(difference(setup.host(graph.tensor(encoded.coarse)), expected, 1e-13, 1e-12));
}

void TestFvlmGazeGradients::whatDoesNotFitIsRefused()
{
    GazePlan plan{smallestVit(), queriesOf(6), {}, DType::F64, DType::F64, false};
    for (const double temperature : {0.0, -1.0}) {
        plan.query.temperature = temperature;
        VERGENCE_THROWS(ContractError, "temperature", GazeSetup{plan});
    }
    plan.query.temperature = 1;
    plan.query.width = 0;
    VERGENCE_THROWS(ContractError, "queries of 0 numbers", GazeSetup{plan});
    plan.query.width = 6;
    const GazeSetup setup(plan);
    Graph graph(*setup.stream, setup.device, {false, DType::F64});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    VERGENCE_THROWS(ContractError, "is not [B, 2 · 2, 48]",
                    (void)setup.encoder.encode(pass, graph.constant(setup.doubles({2, 5, 48}, 1))));
    const Encoded encoded = setup.encoder.encode(pass, graph.constant(setup.patches(2)));
    QVERIFY(!encoded.coarse);
    QVERIFY(!encoded.features);
    QCOMPARE(encoded.tokens, Index{5});
    VERGENCE_THROWS(ContractError, "3 queries for 2 frames",
                    setup.encoder.look(pass, encoded, graph.constant(setup.doubles({3, 6}, 1))));
    VERGENCE_THROWS(ContractError, "does not fit the weight",
                    setup.encoder.look(pass, encoded, graph.constant(setup.doubles({2, 7}, 1))));
    ParameterSet bare(setup.device, DType::F64, DType::F64);
    const GazeEncoder unprepared({bare, {}, "a."}, {bare, {}, "b."}, plan.vit, plan.query);
    VERGENCE_THROWS(ContractError, "prepare() was not called",
                    (void)unprepared.encode(pass, graph.constant(setup.patches(2))));
}

VERGENCE_TEST(TestFvlmGazeGradients)
#include "tst_fvlm_gaze_gradients.moc"
