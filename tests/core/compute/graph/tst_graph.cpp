#include <QTest>

#include "core/compute/ops/pointwise.h"
#include "tests/core/compute/graph/tape_check.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {
struct Bench {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;

    explicit Bench(std::shared_ptr<Device> on)
        : device(std::move(on)),
          stream(device->createStream())
    {
    }
    Tensor tensor(Shape shape, int seed) const
    {
        const auto values = numbers(elementCount(shape), seed);
        return Tensor::fromHost<double>(*stream, device, std::move(shape), values);
    }
    std::vector<double> host(const Tensor& tensor) const { return tensor.toHost<double>(*stream); }
};

/// Three residual layers with dropout on [6, 8], each a segment of its own where asked.
struct Deep {
    ParameterSet parameters;
    std::vector<int> weights;

    explicit Deep(const Bench& bench) : parameters(bench.device, DType::F64, DType::F64)
    {
        for (int i = 0; i < 3; ++i)
            weights.push_back(parameters.add(fmt::format("weight{}", i), {8, 8}, 0, {0, 0.3}));
        parameters.allocate(*bench.stream);
        parameters.initialise(*bench.stream, 5);
    }

    Value loss(Graph& graph, const Bench& bench, Value x, bool checkpointed) const
    {
        for (const int weight : weights) {
            const auto layer = [this, weight](Graph& g, const std::vector<Value>& in) {
                LinearOptions options;
                options.residual = in[0];
                options.activation = Activation::GeluErf;
                const Value y = linear(g, in[0], g.parameter(parameters, weight), options);
                return dropout(g, permute(g, permute(g, y, {1, 0}), {1, 0}), 0.2);
            };
            x = checkpointed ? graph.checkpoint({x}, layer) : layer(graph, {x});
        }
        return weightedSum(graph, x, bench.tensor({6, 8}, 77));
    }
};
} // namespace

class TestGraph : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void nothingIsAllocatedAfterWarmUp_data() { addDeviceRows(); }
    void nothingIsAllocatedAfterWarmUp();
    void addressesRepeatFromStepToStep();
    void checkpointChangesNoGradient_data() { addDeviceRows(); }
    void checkpointChangesNoGradient();
    void checkpointNeedsLessMemory();
    void microStepsAddUp();
    void parameterIsRecordedOnce();
    void rowsOfAParameterHaveTheirOwnGradient();
    void sharedGradientIsNotOverwritten();
    void gradientOfAnIntermediateIsKeptWhereAsked();
    void constantsTakeNoGradient();
    void inferenceKeepsNoTape();
    void dropoutDependsOnSeedAndStepAlone();
    void stopsAreHeardAfterEachOperation_data();
    void stopsAreHeardAfterEachOperation();
    void misuseIsNamed();
};

void TestGraph::nothingIsAllocatedAfterWarmUp()
{
    VERGENCE_ROW_DEVICE(device);
    const Bench bench(device);
    Deep deep(bench);
    const Tensor input = bench.tensor({6, 8}, 1);
    Graph graph(*bench.stream, device, {true, DType::F64});
    std::uint64_t chunks = 0;
    std::size_t used = 0;
    const Tensor probe = bench.tensor({6, 8}, 77);
    for (int step = 0; step < 6; ++step) {
        graph.reset();
        deep.parameters.zeroGradients(*bench.stream);
        graph.backward(deep.loss(graph, bench, graph.variable(input), step % 2 == 1));
        bench.stream->synchronize();
        if (step == 3) {
            chunks = graph.allocations();
            used = device->memory().usedByUs;
        }
    }
    QVERIFY(chunks > 0);
    QCOMPARE(graph.allocations(), chunks);
    QCOMPARE(device->memory().usedByUs, used);
}

void TestGraph::addressesRepeatFromStepToStep()
{
    const Bench bench(devices().devices.front());
    Deep deep(bench);
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    const Tensor input = bench.tensor({6, 8}, 1);
    std::vector<void*> last;
    for (int step = 0; step < 4; ++step) {
        graph.reset();
        const Value x = graph.variable(input);
        const Value loss = deep.loss(graph, bench, x, true);
        graph.backward(loss);
        const std::vector<void*> now{graph.tensor(loss).data(), graph.gradient(x).data()};
        if (step >= 2)
            QCOMPARE(now, last);
        last = now;
    }
}

void TestGraph::checkpointChangesNoGradient()
{
    VERGENCE_ROW_DEVICE(device);
    const Bench bench(device);
    Deep deep(bench);
    std::vector<std::vector<double>> found[2];
    for (const bool checkpointed : {false, true}) {
        Graph graph(*bench.stream, device, {true, DType::F64});
        graph.setRandom(3, 4);
        deep.parameters.zeroGradients(*bench.stream);
        const Value x = graph.variable(bench.tensor({6, 8}, 1));
        const Value loss = deep.loss(graph, bench, x, checkpointed);
        graph.backward(loss);
        found[checkpointed] = {bench.host(graph.tensor(loss)), bench.host(graph.gradient(x)),
                               bench.host(deep.parameters.gradients())};
    }
    QVERIFY(found[0] == found[1]);
}

void TestGraph::checkpointNeedsLessMemory()
{
    const Bench bench(devices().devices.front());
    std::size_t peak[2] = {0, 0};
    for (const bool checkpointed : {false, true}) {
        Graph graph(*bench.stream, bench.device, {true, DType::F64});
        Value x = graph.variable(bench.tensor({64, 64}, 1));
        for (int i = 0; i < 12; ++i) {
            const auto layer = [](Graph& g, const std::vector<Value>& in) {
                Value y = in[0];
                for (int k = 0; k < 8; ++k)
                    y = activate(g, Activation::Silu, y);
                return y;
            };
            x = checkpointed ? graph.checkpoint({x}, layer) : layer(graph, {x});
        }
        graph.backward(weightedSum(graph, x, bench.tensor({64, 64}, 2)));
        peak[checkpointed] = graph.peakBytes();
    }
    QVERIFY2(3 * peak[1] < peak[0],
             qPrintable(QStringLiteral("%1 of %2").arg(peak[1]).arg(peak[0])));
}

void TestGraph::microStepsAddUp()
{
    const Bench bench(devices().devices.front());
    Deep deep(bench);
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    std::vector<double> sum(static_cast<std::size_t>(deep.parameters.trained()));
    for (const int micro : {0, 1}) {
        graph.reset();
        deep.parameters.zeroGradients(*bench.stream);
        graph.backward(deep.loss(graph, bench, graph.constant(bench.tensor({6, 8}, micro)), false));
        const auto gradient = bench.host(deep.parameters.gradients());
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += 0.5 * gradient[i];
    }
    deep.parameters.zeroGradients(*bench.stream);
    for (const int micro : {0, 1}) {
        graph.reset();
        graph.backward(deep.loss(graph, bench, graph.constant(bench.tensor({6, 8}, micro)), false),
                       0.5);
    }
    VERGENCE_AGREES(difference(bench.host(deep.parameters.gradients()), sum, 1e-14, 1e-13));
}

void TestGraph::parameterIsRecordedOnce()
{
    const Bench bench(devices().devices.front());
    Deep deep(bench);
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    QCOMPARE(graph.parameter(deep.parameters, 1).id, graph.parameter(deep.parameters, 1).id);
    QVERIFY(graph.parameter(deep.parameters, 1).id != graph.parameter(deep.parameters, 2).id);
    QCOMPARE(graph.parameterRows(deep.parameters, 1, 0, 8).id,
             graph.parameter(deep.parameters, 1).id);
    // Used twice: both uses add to the one gradient.
    const Value w = graph.parameter(deep.parameters, 0);
    const Tensor ones = bench.tensor({8, 8}, 3);
    graph.backward(weightedSum(graph, add(graph, w, scale(graph, 2, w)), ones));
    std::vector<double> wanted = bench.host(ones);
    for (double& value : wanted)
        value *= 3;
    VERGENCE_AGREES(difference(bench.host(deep.parameters[0].gradient), wanted, 0, 1e-14));
}

void TestGraph::rowsOfAParameterHaveTheirOwnGradient()
{
    const Bench bench(devices().devices.front());
    Deep deep(bench);
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    const Value rows = graph.parameterRows(deep.parameters, 0, 2, 3);
    QCOMPARE(graph.shape(rows), (Shape{3, 8}));
    const Tensor weights = bench.tensor({3, 8}, 3);
    graph.backward(weightedSum(graph, rows, weights));
    const auto gradient = bench.host(deep.parameters[0].gradient);
    const auto wanted = bench.host(weights);
    for (std::size_t i = 0; i < gradient.size(); ++i)
        QCOMPARE(gradient[i], i >= 16 && i < 40 ? wanted[i - 16] : 0.0);
}

void TestGraph::sharedGradientIsNotOverwritten()
{
    // a and b share the gradient of their sum; a then takes more of its own.
    const Bench bench(devices().devices.front());
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    const Value a = graph.variable(bench.tensor({5}, 1)), b = graph.variable(bench.tensor({5}, 2));
    const Value early = scale(graph, 3, a);
    const Value sum = add(graph, a, b);
    const Value joined = add(graph, early, sum);
    const Tensor weights = bench.tensor({5}, 3);
    graph.backward(weightedSum(graph, joined, weights));
    auto wanted = bench.host(weights);
    VERGENCE_AGREES(difference(bench.host(graph.gradient(b)), wanted, 0, 1e-15));
    for (double& value : wanted)
        value *= 4;
    VERGENCE_AGREES(difference(bench.host(graph.gradient(a)), wanted, 0, 1e-15));
}

void TestGraph::gradientOfAnIntermediateIsKeptWhereAsked()
{
    const Bench bench(devices().devices.front());
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    const Value x = graph.variable(bench.tensor({5}, 1));
    const Value kept = scale(graph, 3, x), lost = scale(graph, 2, kept);
    graph.retainGradient(kept);
    const Tensor weights = bench.tensor({5}, 3);
    graph.backward(weightedSum(graph, lost, weights));
    auto wanted = bench.host(weights);
    for (double& value : wanted)
        value *= 2;
    VERGENCE_AGREES(difference(bench.host(graph.gradient(kept)), wanted, 0, 1e-15));
    QVERIFY(graph.gradient(lost).isEmpty());
}

void TestGraph::constantsTakeNoGradient()
{
    const Bench bench(devices().devices.front());
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    const Value c = graph.constant(bench.tensor({5}, 1)), x = graph.variable(bench.tensor({5}, 2));
    const Value y = multiply(graph, c, x);
    graph.backward(weightedSum(graph, y, bench.tensor({5}, 3)));
    QVERIFY(graph.gradient(c).isEmpty());
    QVERIFY(!graph.gradient(x).isEmpty());
    const Value unused = graph.variable(bench.tensor({5}, 4));
    QVERIFY(graph.gradient(unused).isEmpty());
}

void TestGraph::inferenceKeepsNoTape()
{
    const Bench bench(devices().devices.front());
    Deep deep(bench);
    Graph taped(*bench.stream, bench.device, {true, DType::F64});
    Graph plain(*bench.stream, bench.device, {false, DType::F64});
    const Tensor input = bench.tensor({6, 8}, 1);
    const Value wanted = deep.loss(taped, bench, taped.constant(input), false);
    const Value got = deep.loss(plain, bench, plain.constant(input), false);
    QCOMPARE(bench.host(plain.tensor(got)), bench.host(taped.tensor(wanted)));
    QVERIFY(!plain.needsGradient(got));
    VERGENCE_THROWS(ContractError, "records no gradients", plain.backward(got));
}

void TestGraph::dropoutDependsOnSeedAndStepAlone()
{
    const Bench bench(devices().devices.front());
    Graph graph(*bench.stream, bench.device, {false, DType::F64});
    const auto dropped = [&](std::uint64_t seed, std::uint64_t step) {
        graph.reset();
        graph.setRandom(seed, step);
        const Value x = graph.constant(bench.tensor({100}, 1));
        const Value first = dropout(graph, x, 0.5), second = dropout(graph, x, 0.5);
        return std::pair{bench.host(graph.tensor(first)), bench.host(graph.tensor(second))};
    };
    QVERIFY(dropped(1, 1) == dropped(1, 1));
    QVERIFY(dropped(1, 1).first != dropped(1, 1).second);
    QVERIFY(dropped(1, 1) != dropped(1, 2));
    QVERIFY(dropped(1, 1) != dropped(2, 1));
}

void TestGraph::stopsAreHeardAfterEachOperation_data()
{
    QTest::addColumn<bool>("checkpointed");
    QTest::newRow("whole tape") << false;
    QTest::newRow("segments") << true;
}

/// Wherever it was stopped, a tape gives the same again after reset().
void TestGraph::stopsAreHeardAfterEachOperation()
{
    QFETCH(bool, checkpointed);
    const Bench bench(makeCpuDevice(1));
    Deep deep(bench);
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    const auto gradients = [&] {
        graph.reset();
        deep.parameters.zeroGradients(*bench.stream);
        graph.setRandom(3, 1);
        const Value x = graph.variable(bench.tensor({6, 8}, 1));
        graph.backward(deep.loss(graph, bench, x, checkpointed));
        return bench.host(deep.parameters.gradients());
    };
    int questions = 0, wanted = -1;
    graph.stopWhen([&] { return ++questions == wanted; });
    const std::vector<double> whole = gradients();
    const int all = questions;
    QVERIFY(all >= 2 * 3 * 4); // forward and back, layers, operations of one
    for (wanted = 1; wanted <= all; ++wanted) {
        questions = 0;
        QVERIFY_THROWS_EXCEPTION(GraphStopped, gradients());
        QCOMPARE(questions, wanted);
        QCOMPARE(gradients(), whole);
    }
}

void TestGraph::misuseIsNamed()
{
    const Bench bench(devices().devices.front());
    Graph graph(*bench.stream, bench.device, {true, DType::F64});
    VERGENCE_THROWS(ContractError, "does not belong", graph.tensor(Value{3}));
    const Value x = graph.variable(bench.tensor({5}, 1));
    VERGENCE_THROWS(ContractError, "[5]", graph.backward(x));
    const Value c = graph.constant(bench.tensor({1}, 1));
    VERGENCE_THROWS(ContractError, "depends on nothing", graph.backward(c));
    const auto nested = [](Graph& g, const std::vector<Value>& in) {
        return g.checkpoint(in, [](Graph&, const std::vector<Value>& inner) { return inner[0]; });
    };
    VERGENCE_THROWS(ContractError, "segment within a segment", graph.checkpoint({x}, nested));
    graph.reset();
    VERGENCE_THROWS(ContractError, "does not belong", graph.tensor(x));
    const auto other = makeCpuDevice(1);
    VERGENCE_THROWS(ContractError, "another device", Graph(*bench.stream, other, {}));
}

VERGENCE_TEST(TestGraph)
#include "tst_graph.moc"
