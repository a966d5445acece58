#include <QTest>

#include "core/compute/nn/dino.h"
#include "core/compute/nn/siglip.h"
#include "tests/core/compute/nn/golden_model.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {
TowerConfig tower(Index width, int layers, int heads, Index hidden, Activation activation,
                  double epsilon)
{
    return {width, layers, heads, hidden, activation, epsilon};
}

DinoConfig dinoConfig(bool registers)
{
    DinoConfig config;
    config.width = 96;
    config.layers = registers ? 2 : 3;
    config.heads = registers ? 3 : 4;
    config.hidden = 384;
    config.grid = 4;
    config.registers = registers ? 4 : 0;
    config.registersHavePositions = registers;
    return config;
}

/// A stream and the parameters of one model.
struct TowerSetup {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    ParameterSet parameters;

    explicit TowerSetup(std::shared_ptr<Device> on, DType type = DType::F32,
                        DType compute = DType::F32)
        : device(std::move(on)),
          stream(device->createStream()),
          parameters(device, type, compute)
    {
    }
    Declaration where() { return {parameters, {}}; }
    void load(const WeightFile& file)
    {
        parameters.allocate(*stream);
        loadWeights(*stream, parameters, file);
    }
    std::vector<float> host(const Tensor& tensor) { return tensor.toHost<float>(*stream); }
};
} // namespace

class TestVisionTowers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void clipIsReproduced_data() { addDeviceRows(); }
    void clipIsReproduced();
    void siglipIsReproduced_data() { addDeviceRows(); }
    void siglipIsReproduced();
    void dinoIsReproduced_data();
    void dinoIsReproduced();
    void dinoFeaturesAreKnownInDouble();
    void positionsAreResampledForOtherGrids();
    void pixelsBeyondTheLastPatchDoNotCount();
    void recomputedBlocksGiveEqualGradients();
    void packedWeightsAndSegmentsChangeNothing();
    void hookSeesEverySiteAndMayChangeIt();
    void halfPrecisionStaysNear();
};

void TestVisionTowers::clipIsReproduced()
{
    VERGENCE_ROW_DEVICE(device);
    VERGENCE_GOLDEN_OR_SKIP(golden, "clip_tiny");
    TowerSetup setup(device);
    const ClipVisionTower vision(setup.where(), tower(128, 3, 2, 512, Activation::QuickGelu, 1e-5),
                                 8, 16, 48);
    const ClipTextTower textTower(setup.where(), tower(64, 2, 4, 256, Activation::QuickGelu, 1e-5),
                                  96, 16, 48);
    setup.load(golden.model);
    Graph graph(*setup.stream, device, {false, DType::F32});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value pixels =
        graph.constant(golden.onDevice<float>(*setup.stream, device, "pixel_values"));
    const auto features = setup.host(graph.tensor(vision(pass, pixels)));
    VERGENCE_AGREES(
        relativeDifference(features, golden.tensor("image_features_f64").as<double>(), 1e-5));
    const auto ids = golden.integers("input_ids");
    const auto texts = setup.host(graph.tensor(textTower(pass, ids, 3)));
    VERGENCE_AGREES(relativeDifference(texts, golden.tensor("text_features").as<float>(), 1e-5));
    const std::vector<std::int32_t> unknown(16, 96);
    VERGENCE_THROWS(ContractError, "vocabulary of 96", textTower(pass, unknown, 1));
    VERGENCE_THROWS(ContractError, "at most 16", textTower(pass, ids, 1));
}

void TestVisionTowers::siglipIsReproduced()
{
    VERGENCE_ROW_DEVICE(device);
    VERGENCE_GOLDEN_OR_SKIP(golden, "siglip_tiny");
    TowerSetup setup(device);
    const SiglipVisionTower vision(setup.where(), tower(96, 3, 4, 224, Activation::GeluTanh, 1e-6),
                                   8, 16);
    setup.load(golden.model);
    Graph graph(*setup.stream, device, {false, DType::F32});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value pixels =
        graph.constant(golden.onDevice<float>(*setup.stream, device, "pixel_values"));
    const Value states = vision.states(pass, pixels);
    VERGENCE_AGREES(relativeDifference(setup.host(graph.tensor(states)),
                                       golden.tensor("last_hidden_state").as<float>(), 1e-5));
    VERGENCE_AGREES(relativeDifference(setup.host(graph.tensor(vision.pool(pass, states))),
                                       golden.tensor("pooler_output_f64").as<double>(), 1e-5));
}

void TestVisionTowers::dinoIsReproduced_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<bool>("registers");
    forEachDevice([](const std::string& name, int device) {
        QTest::addRow("%s", name.c_str()) << device << false;
        QTest::addRow("%s, registers", name.c_str()) << device << true;
    });
}

void TestVisionTowers::dinoIsReproduced()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(bool, registers);
    VERGENCE_GOLDEN_OR_SKIP(golden, registers ? "dinov2_reg_tiny" : "dinov2_tiny");
    TowerSetup setup(device);
    const DinoTower tested(setup.where(), dinoConfig(registers));
    setup.load(golden.model);
    Graph graph(*setup.stream, device, {});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value pixels =
        graph.variable(golden.onDevice<float>(*setup.stream, device, "pixel_values"));
    const Value states = tested(pass, pixels);
    VERGENCE_AGREES(relativeDifference(setup.host(graph.tensor(states)),
                                       golden.tensor("last_hidden_state").as<float>(), 1e-5));

    // loss_probe = mean(state · linspace(−1, 1, n))
    const auto n = static_cast<std::size_t>(graph.tensor(states).size());
    std::vector<float> weights(n);
    for (std::size_t i = 0; i < n; ++i)
        weights[i] =
            static_cast<float>((-1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1)) /
                               static_cast<double>(n));
    const Value loss =
        weightedSum(graph, states,
                    Tensor::fromHost<float>(*setup.stream, device, graph.shape(states), weights));
    VERGENCE_AGREES(difference(setup.host(graph.tensor(loss)),
                               std::vector<float>{golden.tensor("loss_probe").as<float>()[0]}, 1e-7,
                               1e-4));
    graph.backward(loss);
    const auto agrees = [&](const Tensor& gradient, const char* name) {
        return relativeDifference(setup.host(gradient), golden.tensor(name).as<float>(), 1e-4);
    };
    const auto gradientOf = [&](const std::string& name) {
        return setup.parameters[setup.parameters.find(name)].gradient;
    };
    VERGENCE_AGREES(agrees(graph.gradient(pixels), "grad.input"));
    VERGENCE_AGREES(agrees(gradientOf("encoder.layer.0.attention.qkv.weight"), "grad.qkv0"));
    VERGENCE_AGREES(agrees(gradientOf("encoder.layer.0.layer_scale1.lambda1"), "grad.ls1_0"));
    VERGENCE_AGREES(
        agrees(gradientOf("embeddings.patch_embeddings.projection.weight"), "grad.patch"));
    const std::string last = fmt::format("encoder.layer.{}.mlp.fc2.weight", registers ? 1 : 2);
    VERGENCE_AGREES(agrees(gradientOf(last), "grad.fc2_last"));
}

namespace {
/// A tower whose weights and pixels are sines, with results from an independent computation in
/// double: 8 px images, patches of 4, width 8, 2 heads, 2 blocks.
struct SineTower : TowerSetup {
    DinoTower tested;

    SineTower()
        : TowerSetup(devices().devices.front(), DType::F64, DType::F64),
          tested(where(), config())
    {
        parameters.allocate(*stream);
        const std::vector<std::string> order = names();
        for (std::size_t k = 0; k < order.size(); ++k)
            fill(order[k], static_cast<double>(k));
    }
    static DinoConfig config()
    {
        DinoConfig config;
        config.width = 8;
        config.layers = 2;
        config.heads = 2;
        config.hidden = 16;
        config.patch = 4;
        config.grid = 2;
        return config;
    }
    static std::vector<std::string> names()
    {
        std::vector<std::string> names{"embeddings.cls_token", "embeddings.position_embeddings",
                                       "embeddings.patch_embeddings.projection.weight",
                                       "embeddings.patch_embeddings.projection.bias"};
        for (const char* block : {"encoder.layer.0.", "encoder.layer.1."}) {
            for (const char* part :
                 {"norm1.weight", "norm1.bias", "attention.attention.query.weight",
                  "attention.attention.query.bias", "attention.attention.key.weight",
                  "attention.attention.key.bias", "attention.attention.value.weight",
                  "attention.attention.value.bias", "attention.output.dense.weight",
                  "attention.output.dense.bias", "layer_scale1.lambda1", "norm2.weight",
                  "norm2.bias", "mlp.fc1.weight", "mlp.fc1.bias", "mlp.fc2.weight", "mlp.fc2.bias",
                  "layer_scale2.lambda1"})
                names.push_back(std::string(block) + part);
        }
        names.insert(names.end(), {"layernorm.weight", "layernorm.bias"});
        return names;
    }
    void fill(const std::string& name, double k)
    {
        const Tensor target = parameters.named(name);
        std::vector<double> values(static_cast<std::size_t>(target.size()));
        const bool isNorm = name.find("norm") != std::string::npos;
        const bool isBias = name.ends_with("bias");
        const bool isScale = name.ends_with("lambda1");
        const bool isToken = name.ends_with("cls_token") || name.ends_with("position_embeddings");
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double s = std::sin(0.5 + 1.3 * k + 0.9 * static_cast<double>(i));
            values[i] = isBias    ? 0.05 * s
                        : isScale ? 0.8 + 0.1 * s
                        : isNorm  ? 1 + 0.1 * s
                        : isToken ? 0.3 * s
                                  : 0.4 * s;
        }
        stream->copy(target.data(), values.data(), target.bytes());
    }
    Tensor pixels()
    {
        constexpr double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
        std::vector<double> values(3 * 8 * 8);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double byte = static_cast<double>((73 * i + 19) % 256);
            values[i] = (byte / 255 - mean[i / 64]) / deviation[i / 64];
        }
        return Tensor::fromHost<double>(*stream, device, {1, 3, 8, 8}, values);
    }
};
} // namespace

void TestVisionTowers::dinoFeaturesAreKnownInDouble()
{
    SineTower setup;
    Graph graph(*setup.stream, setup.device, {false, DType::F64});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value states = setup.tested(pass, graph.constant(setup.pixels()));
    const auto values = graph.tensor(states).toHost<double>(*setup.stream);
    double sum = 0;
    for (const double value : values)
        sum += value;
    VERGENCE_AGREES(difference(std::vector<double>{values[0], values[4 * 8 + 7], sum},
                               std::vector<double>{0.2940122856, 0.0501113876, 0.0594795576}, 6e-11,
                               0));
}

void TestVisionTowers::positionsAreResampledForOtherGrids()
{
    SineTower setup;
    Graph graph(*setup.stream, setup.device, {true, DType::F64});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Tensor zeros = Tensor::zeros(*setup.stream, setup.device, {1, 3, 12, 16}, DType::F64);
    VERGENCE_THROWS(ContractError, "prepare() for a grid of 3 by 4",
                    setup.tested.embed(pass, graph.constant(zeros)));
    setup.tested.prepare(*setup.stream, setup.parameters, 3, 4);
    const Value tokens = setup.tested.embed(pass, graph.constant(zeros));
    QCOMPARE(graph.shape(tokens), (Shape{1, 13, 8}));
    // Rows of the maps sum to 1, so equal positions stay equal.
    const int index = setup.parameters.find("embeddings.position_embeddings");
    const std::vector<double> equal(5 * 8, 0.25);
    setup.stream->copy(setup.parameters[index].value.data(), equal.data(), equal.size() * 8);
    graph.reset();
    const Value same = setup.tested.embed(pass, graph.constant(zeros));
    const auto values = graph.tensor(same).toHost<double>(*setup.stream);
    const auto bias = setup.parameters.named("embeddings.patch_embeddings.projection.bias")
                          .toHost<double>(*setup.stream);
    for (std::size_t i = 8; i < values.size(); ++i)
        QVERIFY(std::abs(values[i] - 0.25 - bias[i % 8]) < 1e-12);
    graph.backward(weightedSum(graph, same,
                               Tensor::fromHost<double>(*setup.stream, setup.device, {1, 13, 8},
                                                        std::vector<double>(13 * 8, 1.0))));
    const auto gradient = setup.parameters[index].gradient.toHost<double>(*setup.stream);
    double sum = 0;
    for (const double value : gradient)
        sum += value;
    QVERIFY(std::abs(sum - 13 * 8) < 1e-10);
}

void TestVisionTowers::pixelsBeyondTheLastPatchDoNotCount()
{
    SineTower setup;
    Graph graph(*setup.stream, setup.device, {false, DType::F64});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const auto states = [&](double beyond) {
        auto values = setup.pixels().toHost<double>(*setup.stream);
        std::vector<double> wide(3 * 10 * 11, beyond);
        for (std::size_t i = 0; i < values.size(); ++i)
            wide[(i / 64) * 110 + (i % 64) / 8 * 11 + i % 8] = values[i];
        graph.reset();
        const Value y = setup.tested(pass, graph.constant(Tensor::fromHost<double>(
                                               *setup.stream, setup.device, {1, 3, 10, 11}, wide)));
        return graph.tensor(y).toHost<double>(*setup.stream);
    };
    QVERIFY(states(0) == states(1e6));
}

void TestVisionTowers::recomputedBlocksGiveEqualGradients()
{
    SineTower setup;
    std::vector<std::vector<double>> gradients;
    for (const bool recomputes : {false, true}) {
        Graph graph(*setup.stream, setup.device, {true, DType::F64});
        const ForwardPass pass{graph, setup.parameters, nullptr, recomputes, {}};
        setup.parameters.zeroGradients(*setup.stream);
        const Value y = setup.tested(pass, graph.constant(setup.pixels()));
        graph.backward(weightedSum(graph, y, graph.tensor(y)));
        gradients.push_back(setup.parameters.gradients().toHost<double>(*setup.stream));
    }
    QVERIFY(gradients[0] == gradients[1]);
}

void TestVisionTowers::packedWeightsAndSegmentsChangeNothing()
{
    TowerSetup setup(devices().devices.front());
    const DinoTower tested(setup.where(), dinoConfig(true));
    setup.parameters.allocate(*setup.stream);
    setup.parameters.initialise(*setup.stream, 3);
    Graph graph(*setup.stream, setup.device, {false, DType::F32});
    const Tensor pixels = Tensor::empty(setup.device, {2, 3, 56, 56});
    fillNormal(*setup.stream, pixels, 0, 1, 1, 1);
    const auto states = [&](PackedWeights* packed, bool recomputes) {
        graph.reset();
        const ForwardPass pass{graph, setup.parameters, packed, recomputes, {}};
        return setup.host(graph.tensor(tested(pass, graph.constant(pixels))));
    };
    const auto plain = states(nullptr, false);
    PackedWeights packed;
    VERGENCE_AGREES(difference(states(&packed, false), plain, 1e-5, 1e-5));
    VERGENCE_AGREES(difference(states(&packed, false), plain, 1e-5, 1e-5));
    QVERIFY(states(nullptr, true) == plain);
}

void TestVisionTowers::hookSeesEverySiteAndMayChangeIt()
{
    SineTower setup;
    Graph graph(*setup.stream, setup.device, {false, DType::F64});
    std::map<std::pair<int, Site>, int> seen;
    ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const auto run = [&] {
        graph.reset();
        return graph.tensor(setup.tested(pass, graph.constant(setup.pixels())))
            .toHost<double>(*setup.stream);
    };
    const auto plain = run();
    pass.hook = [&](Graph&, Value x, int block, Site site) {
        ++seen[{block, site}];
        return x;
    };
    VERGENCE_AGREES(difference(run(), plain, 1e-12, 1e-12));
    for (const int block : {0, 1}) {
        for (const Site site : {Site::Qkv, Site::AttentionOutput, Site::Fc1, Site::AfterActivation,
                                Site::Fc2, Site::BlockOutput})
            QCOMPARE((seen[{block, site}]), 1);
    }
    QCOMPARE((seen[{-1, Site::PatchEmbedding}]), 1);
    for (const Site site : {Site::Qkv, Site::AttentionOutput, Site::Fc1, Site::AfterActivation,
                            Site::Fc2, Site::BlockOutput}) {
        pass.hook = [site](Graph& g, Value x, int block, Site at) {
            return block == 1 && at == site ? scale(g, 0.5, x) : x;
        };
        const auto changed = run();
        // The last norm takes out a factor on the whole stream, up to its epsilon.
        if (site == Site::BlockOutput)
            QVERIFY(changed != plain);
        else
            QVERIFY(!difference(changed, plain, 1e-3, 0).empty());
    }
}

void TestVisionTowers::halfPrecisionStaysNear()
{
    const auto device = devices().devices.front();
    TowerSetup single(device), half(device, DType::F32, DType::BF16);
    const DinoTower first(single.where(), dinoConfig(false));
    const DinoTower second(half.where(), dinoConfig(false));
    for (TowerSetup* setup : {&single, &half}) {
        setup->parameters.allocate(*setup->stream);
        setup->parameters.initialise(*setup->stream, 3);
    }
    const Tensor pixels = Tensor::empty(device, {2, 3, 56, 56});
    fillNormal(*single.stream, pixels, 0, 1, 1, 1);
    const auto gradients = [&](TowerSetup& setup, const DinoTower& tested) {
        Graph graph(*setup.stream, device, {true, setup.parameters.computeType()});
        const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
        const Value y = tested(pass, graph.constant(pixels));
        const Tensor weights = Tensor::empty(device, graph.shape(y));
        fillNormal(*setup.stream, weights, 0, 1, 2, 2);
        graph.backward(weightedSum(graph, y, weights));
        return setup.host(setup.parameters.gradients());
    };
    const auto wanted = gradients(single, first), got = gradients(half, second);
    double dot = 0, a = 0, b = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        dot += static_cast<double>(wanted[i]) * got[i];
        a += static_cast<double>(wanted[i]) * wanted[i];
        b += static_cast<double>(got[i]) * got[i];
    }
    QVERIFY2(dot / std::sqrt(a * b) > 0.999, qPrintable(QString::number(dot / std::sqrt(a * b))));
}

VERGENCE_TEST(TestVisionTowers)
#include "tst_vision_towers.moc"
