#include <algorithm>

#include <QTest>

#include "core/compute/nn/llama.h"
#include "core/compute/optim/adam.h"
#include "tests/core/compute/nn/golden_model.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {
LlamaConfig goldenConfig()
{
    LlamaConfig config;
    config.width = 96;
    config.layers = 3;
    config.heads = 6;
    config.keyHeads = 2;
    config.hidden = 256;
    config.vocabulary = 160;
    config.theta = 10000;
    return config;
}

/// A model with its stream and parameters: matrices decay, all else does not.
struct Setup {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    ParameterSet parameters;
    LayerGroups groups;
    LlamaModel model;

    Setup(std::shared_ptr<Device> on, const LlamaConfig& config, DType type = DType::F32)
        : device(std::move(on)),
          stream(device->createStream()),
          parameters(device, type, type),
          groups{parameters.addGroup({"matrices", 0.1, false}),
                 parameters.addGroup({"others", 0, false}),
                 parameters.addGroup({"tables", 0.1, false})},
          model({parameters, groups}, config)
    {
        parameters.allocate(*stream);
    }
    Tensor integers(Shape shape, const std::vector<std::int32_t>& values)
    {
        return Tensor::fromHost<std::int32_t>(*stream, device, std::move(shape), values);
    }
};
} // namespace

class TestLlama : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void logitsLossAndGradientsAreReproduced_data() { addDeviceRows(); }
    void logitsLossAndGradientsAreReproduced();
    void eightStepsOfAdamWAreReproduced_data() { addDeviceRows(); }
    void eightStepsOfAdamWAreReproduced();
    void cacheEqualsOneCall_data();
    void cacheEqualsOneCall();
    void laterTokensDoNotChangeEarlierOnes();
    void untiedHeadHasItsOwnName();
    void fullCacheIsNamed();
};

void TestLlama::logitsLossAndGradientsAreReproduced()
{
    VERGENCE_ROW_DEVICE(device);
    VERGENCE_GOLDEN_OR_SKIP(golden, "llama_tiny");
    Setup setup(device, goldenConfig());
    loadWeights(*setup.stream, setup.parameters, golden.model);
    Graph graph(*setup.stream, device, {});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Tensor ids = setup.integers({3, 20}, golden.integers("input_ids"));
    const Tensor labels = setup.integers({60}, golden.integers("targets"));
    const Value states = setup.model.states(pass, setup.model.embed(pass, ids));
    VERGENCE_AGREES(relativeDifference(
        graph.tensor(setup.model.logits(pass, states)).toHost<float>(*setup.stream),
        golden.tensor("logits").as<float>(), 1e-5));
    const Value loss = setup.model.loss(pass, states, labels);
    VERGENCE_AGREES(relativeDifference(graph.tensor(loss).toHost<float>(*setup.stream),
                                       golden.tensor("loss").as<float>(), 1e-5));
    graph.backward(loss);
    for (const auto& [name, window] : setup.parameters.fileEntries()) {
        const auto gradient = setup.parameters[window.parameter]
                                  .gradient.narrow(0, window.firstRow, window.rows)
                                  .toHost<float>(*setup.stream);
        const std::string text =
            relativeDifference(gradient, golden.tensor("grad." + name).as<float>(), 1e-4);
        QVERIFY2(text.empty(), (name + ": " + text).c_str());
    }
}

void TestLlama::eightStepsOfAdamWAreReproduced()
{
    VERGENCE_ROW_DEVICE(device);
    VERGENCE_GOLDEN_OR_SKIP(golden, "llama_tiny");
    LlamaConfig config = goldenConfig();
    Setup setup(device, config);
    loadWeights(*setup.stream, setup.parameters, golden.model);
    const Tensor ids = setup.integers({3, 20}, golden.integers("input_ids"));
    const Tensor labels = setup.integers({60}, golden.integers("targets"));
    Adam adam(setup.parameters, *setup.stream, {0.9, 0.95, 1e-8, true, 1});
    Graph graph(*setup.stream, device, {});
    std::vector<float> losses, norms;
    for (int step = 0; step < 8; ++step) {
        const double rate = 3e-3 * std::min(1.0, (step + 1) / 3.0);
        adam.setRates(*setup.stream, {rate, rate, rate});
        graph.reset();
        setup.parameters.zeroGradients(*setup.stream);
        const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
        const Value states = setup.model.states(pass, setup.model.embed(pass, ids));
        const Value loss = setup.model.loss(pass, states, labels);
        graph.backward(loss);
        adam.step(*setup.stream);
        losses.push_back(graph.tensor(loss).toHost<float>(*setup.stream).at(0));
        norms.push_back(static_cast<float>(adam.gradientNorm(*setup.stream)));
    }
    const auto wantedLosses = golden.tensor("adamw.losses").as<float>();
    const auto wantedNorms = golden.tensor("adamw.grad_norms").as<float>();
    VERGENCE_AGREES(difference(std::span<const float>(losses), wantedLosses, 0, 1e-4));
    VERGENCE_AGREES(difference(std::span<const float>(norms), wantedNorms, 0, 1e-3));
}

void TestLlama::cacheEqualsOneCall_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<int>("piece");
    forEachDevice([](const std::string& name, int device) {
        for (const int piece : {1, 3, 12})
            QTest::addRow("%s, pieces of %d", name.c_str(), piece) << device << piece;
    });
}

void TestLlama::cacheEqualsOneCall()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(int, piece);
    Setup setup(device, goldenConfig(), DType::F64);
    setup.parameters.initialise(*setup.stream, 4);
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 24; ++i)
        ids.push_back((i * 37 + 5) % 160);
    Graph graph(*setup.stream, device, {false, DType::F64});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value whole =
        setup.model.states(pass, setup.model.embed(pass, setup.integers({2, 12}, ids)));
    const auto wanted = graph.tensor(whole).toHost<double>(*setup.stream);
    KeyValueCache cache = setup.model.makeCache(setup.parameters, 2, 16);
    std::vector<double> got(wanted.size());
    for (int first = 0; first < 12; first += piece) {
        graph.reset();
        std::vector<std::int32_t> next;
        for (int text = 0; text < 2; ++text) {
            for (int i = 0; i < piece; ++i)
                next.push_back(ids[static_cast<std::size_t>(text * 12 + first + i)]);
        }
        const Value states = setup.model.extend(
            pass, setup.model.embed(pass, setup.integers({2, piece}, next)), cache);
        const auto part = graph.tensor(states).toHost<double>(*setup.stream);
        for (int text = 0; text < 2; ++text)
            std::copy_n(part.begin() + text * piece * 96, piece * 96,
                        got.begin() + (text * 12 + first) * 96);
    }
    QCOMPARE(cache.length, Index{12});
    VERGENCE_AGREES(difference(got, wanted, 1e-12, 1e-12));
}

void TestLlama::laterTokensDoNotChangeEarlierOnes()
{
    Setup setup(devices().devices.front(), goldenConfig());
    setup.parameters.initialise(*setup.stream, 4);
    Graph graph(*setup.stream, setup.device, {false, DType::F32});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const auto states = [&](std::int32_t last) {
        graph.reset();
        const Tensor ids = setup.integers({1, 5}, {1, 2, 3, 4, last});
        return graph.tensor(setup.model.states(pass, setup.model.embed(pass, ids)))
            .toHost<float>(*setup.stream);
    };
    const auto a = states(7), b = states(9);
    QVERIFY(std::equal(a.begin(), a.begin() + 4 * 96, b.begin()));
    QVERIFY(!std::equal(a.begin() + 4 * 96, a.end(), b.begin() + 4 * 96));
}

void TestLlama::untiedHeadHasItsOwnName()
{
    LlamaConfig config = goldenConfig();
    config.tied = false;
    Setup setup(devices().devices.front(), config);
    QVERIFY(setup.parameters.find("lm_head.weight") >= 0);
    QCOMPARE(setup.parameters.named("model.layers.2.self_attn.k_proj.weight").shape(),
             (Shape{32, 96}));
    QCOMPARE(setup.parameters.named("model.layers.2.mlp.up_proj.weight").shape(), (Shape{256, 96}));
}

void TestLlama::fullCacheIsNamed()
{
    Setup setup(devices().devices.front(), goldenConfig());
    setup.parameters.initialise(*setup.stream, 4);
    Graph graph(*setup.stream, setup.device, {false, DType::F32});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    KeyValueCache cache = setup.model.makeCache(setup.parameters, 1, 3);
    const Value x = setup.model.embed(pass, setup.integers({1, 4}, {1, 2, 3, 4}));
    VERGENCE_THROWS(ContractError, "4 positions do not fit a cache of 3",
                    setup.model.extend(pass, x, cache));
    QCOMPARE(cache.length, Index{0});
}

VERGENCE_TEST(TestLlama)
#include "tst_llama.moc"
