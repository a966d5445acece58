#include <QTest>

#include "tests/core/compute/nn/golden_model.h"
#include "tests/plugins/foveated_vlm/gaze_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {

/// The model of the specification's verification cases: weights and pixels are sines, results come
/// from an independent computation in double.
struct SineGaze : GazeSetup {
    explicit SineGaze(DType type, const Savings& savings)
        : GazeSetup(GazePlan{smallestVit(), queriesOf(6), savings, type, type, false})
    {
        int k = 0;
        for (const std::string& name : names())
            fill(name, k++);
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
        for (std::string& name : names)
            name.insert(0, "encoder.dino.");
        names.insert(names.end(), {"encoder.query_input_proj.weight", "encoder.output_proj.weight",
                                   "encoder.output_proj.bias"});
        return names;
    }

    static double sine(int k, std::size_t i)
    {
        return std::sin(0.5 + 1.3 * k + 0.9 * static_cast<double>(i));
    }

    Tensor onDevice(Shape shape, const std::vector<double>& values) const
    {
        if (parameters.computeType() == DType::F64)
            return Tensor::fromHost<double>(*stream, device, std::move(shape), values);
        const std::vector<float> single(values.begin(), values.end());
        return Tensor::fromHost<float>(*stream, device, std::move(shape), single);
    }
    std::vector<double> values(const Tensor& tensor) const
    {
        if (tensor.dtype() == DType::F64)
            return tensor.toHost<double>(*stream);
        const auto single = tensor.toHost<float>(*stream);
        return {single.begin(), single.end()};
    }

    void fill(const std::string& name, int k)
    {
        const Tensor target = parameters.named(name);
        std::vector<double> numbers(static_cast<std::size_t>(target.size()));
        const bool isNorm = name.find("norm") != std::string::npos;
        const bool isToken = name.ends_with("cls_token") || name.ends_with("position_embeddings");
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const double s = sine(k, i);
            numbers[i] = name.ends_with("bias")      ? 0.05 * s
                         : name.ends_with("lambda1") ? 0.8 + 0.1 * s
                         : isNorm                    ? 1 + 0.1 * s
                         : isToken                   ? 0.3 * s
                                                     : 0.4 * s;
        }
        const Tensor source = onDevice(target.shape(), numbers);
        stream->copy(target.data(), source.data(), target.bytes());
    }

    /// The six frames [6, 4, 48].
    Tensor frames() const
    {
        constexpr double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
        std::vector<double> pixels(6 * 3 * 8 * 8);
        for (std::size_t i = 0; i < pixels.size(); ++i) {
            const double byte = static_cast<double>((73 * i + 19) % 256);
            pixels[i] = (byte / 255 - mean[i / 64 % 3]) / deviation[i / 64 % 3];
        }
        const Tensor patches = Tensor::empty(device, {6, 4, 48}, parameters.computeType());
        unfoldPatches(*stream, onDevice({6, 3, 8, 8}, pixels), 4, patches);
        return patches;
    }
    Tensor staticQuery() const
    {
        std::vector<double> numbers;
        for (std::size_t i = 0; i < 6; ++i)
            numbers.push_back(sine(49, i));
        return onDevice({1, 6}, numbers);
    }
};

double sum(const std::vector<double>& values, std::size_t first, std::size_t count)
{
    double total = 0;
    for (std::size_t i = first; i < first + count; ++i)
        total += values[i];
    return total;
}

/// Sum over the first frame's tokens of `width` columns from `first` on.
double sumOfColumns(const std::vector<double>& rows, std::size_t columns, std::size_t first)
{
    double total = 0;
    for (std::size_t n = 0; n < 5; ++n)
        total += sum(rows, n * columns + first, 8);
    return total;
}

std::string near(double got, double want, double relative)
{
    // The known numbers have ten decimals.
    return difference(std::vector<double>{got}, std::vector<double>{want}, 6e-11, relative);
}

DinoConfig goldenVit(bool registers)
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

} // namespace

class TestFvlmGazeReference : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void knownNumbersAreReproduced_data();
    void knownNumbersAreReproduced();
    void publishedTowersAreReproduced_data();
    void publishedTowersAreReproduced();
    void ignoredPixelsHaveNoInfluence();
};

void TestFvlmGazeReference::knownNumbersAreReproduced_data()
{
    QTest::addColumn<bool>("isDouble");
    QTest::addColumn<bool>("saves");
    for (const bool saves : {false, true}) {
        QTest::addRow("double, %s", saves ? "saving" : "plain") << true << saves;
        QTest::addRow("single, %s", saves ? "saving" : "plain") << false << saves;
    }
}

void TestFvlmGazeReference::knownNumbersAreReproduced()
{
    QFETCH(bool, isDouble);
    QFETCH(bool, saves);
    const double tolerance = isDouble ? 1e-9 : 2e-4;
    const SineGaze setup(isDouble ? DType::F64 : DType::F32, saves ? Savings{} : noSavings());
    Graph graph(*setup.stream, setup.device, {false, setup.parameters.computeType()});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value frames = graph.constant(setup.frames());
    const Value query = graph.constant(setup.staticQuery());
    const Encoded encoded = setup.encoder.encode(pass, frames, query);

    // Keys of block 0 and values of block 1, summed over a frame.
    const auto window = [&](std::size_t block) {
        return setup.values(graph.tensor(encoded.keys[block].source));
    };
    const auto columnsOf = [&](std::size_t block) {
        return static_cast<std::size_t>(graph.shape(encoded.keys[block].source)[2]);
    };
    const auto firstKey = static_cast<std::size_t>(encoded.keys[0].firstKey);
    const auto firstValue = static_cast<std::size_t>(encoded.keys[1].firstValue);
    VERGENCE_AGREES(near(sumOfColumns(window(0), columnsOf(0), firstKey), 1.2758422902, tolerance));
    VERGENCE_AGREES(
        near(sumOfColumns(window(1), columnsOf(1), firstValue), -1.1500541764, tolerance));

    const auto coarse = setup.values(graph.tensor(encoded.coarse));
    const double first[] = {-0.9014933732, -1.5840127409, -1.0246033856};
    for (std::size_t i = 0; i < 3; ++i)
        VERGENCE_AGREES(near(coarse[i], first[i], tolerance));
    VERGENCE_AGREES(near(sum(coarse, 0, 8), -1.1259858038, tolerance));

    // The same look with its weights read out.
    AttentionReadout readout;
    const Encoded read = setup.encoder.encode(pass, frames, query, &readout);
    VERGENCE_AGREES(
        difference(setup.values(graph.tensor(read.coarse)), coarse, tolerance, tolerance));
    QCOMPARE(readout.weights.shape(), (Shape{6, 2, 2, 5}));
    const auto weights = setup.values(readout.weights);
    VERGENCE_AGREES(near(weights[0], 0.9971880425, tolerance));
    double entropy = 0;
    for (std::size_t i = 0; i < 20; ++i)
        entropy -= weights[i] > 0 ? weights[i] * std::log(weights[i]) / 4 : 0;
    VERGENCE_AGREES(near(entropy, 0.3265233174, tolerance));

    // Patch features are the shallow modes'.
    GazePlan shallow{
        smallestVit(), queriesOf(6, QueryMode::ShallowAverage), {}, DType::F64, DType::F64, false};
    shallow.type = shallow.compute = setup.parameters.computeType();
    GazeSetup other(shallow);
    other.stream->copy(other.parameters.values().data(), setup.parameters.values().data(),
                       setup.parameters.values().bytes());
    Graph second(*other.stream, other.device, {false, shallow.compute});
    const ForwardPass otherPass{second, other.parameters, nullptr, false, {}};
    const Encoded features = other.encoder.encode(otherPass, second.constant(setup.frames()));
    const auto states = setup.values(second.tensor(features.features));
    VERGENCE_AGREES(near(states[0], 0.2940122856, tolerance));
    VERGENCE_AGREES(near(states[4 * 8 + 7], 0.0501113876, tolerance));
    VERGENCE_AGREES(near(sum(states, 0, 40), 0.0594795576, isDouble ? tolerance : 1e-4));
}

void TestFvlmGazeReference::publishedTowersAreReproduced_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<bool>("registers");
    QTest::addColumn<bool>("folds");
    forEachDevice([](const std::string& name, int device) {
        for (const bool registers : {false, true}) {
            for (const bool folds : {false, true})
                QTest::addRow("%s%s%s", name.c_str(), registers ? ", registers" : "",
                              folds ? ", folded" : "")
                    << device << registers << folds;
        }
    });
}

/// Features and gradients of the tower through the shallow modes, which keep all of it.
void TestFvlmGazeReference::publishedTowersAreReproduced()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(bool, registers);
    QFETCH(bool, folds);
    VERGENCE_GOLDEN_OR_SKIP(golden, registers ? "dinov2_reg_tiny" : "dinov2_tiny");
    GazePlan plan{goldenVit(registers),
                  queriesOf(16, QueryMode::ShallowAverage),
                  {},
                  DType::F32,
                  DType::F32,
                  false};
    plan.savings.foldedScale = folds;
    GazeSetup setup(plan, 4, 4, device);
    loadWeights(*setup.stream, setup.parameters, golden.model, NameMap().under("encoder.dino."));
    Graph graph(*setup.stream, device, {});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value pixels =
        graph.variable(golden.onDevice<float>(*setup.stream, device, "pixel_values"));
    const Value states = setup.encoder.encode(pass, unfoldPatches(graph, pixels, 14)).features;
    const auto host = [&](const Tensor& tensor) { return tensor.toHost<float>(*setup.stream); };
    VERGENCE_AGREES(relativeDifference(host(graph.tensor(states)),
                                       golden.tensor("last_hidden_state").as<float>(), 1e-5));

    // loss_probe = mean(state · linspace(−1, 1, n))
    const auto n = static_cast<std::size_t>(graph.tensor(states).size());
    std::vector<float> weights(n);
    for (std::size_t i = 0; i < n; ++i)
        weights[i] =
            static_cast<float>((-1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1)) /
                               static_cast<double>(n));
    graph.backward(
        weightedSum(graph, states,
                    Tensor::fromHost<float>(*setup.stream, device, graph.shape(states), weights)));
    const auto agrees = [&](const Tensor& gradient, const char* name) {
        return relativeDifference(host(gradient), golden.tensor(name).as<float>(), 1e-4);
    };
    const auto gradientOf = [&](const std::string& name) {
        return setup.parameters[setup.parameters.find("encoder.dino." + name)].gradient;
    };
    VERGENCE_AGREES(agrees(graph.gradient(pixels), "grad.input"));
    VERGENCE_AGREES(agrees(gradientOf("encoder.layer.0.attention.qkv.weight"), "grad.qkv0"));
    VERGENCE_AGREES(agrees(gradientOf("encoder.layer.0.layer_scale1.lambda1"), "grad.ls1_0"));
    VERGENCE_AGREES(
        agrees(gradientOf("embeddings.patch_embeddings.projection.weight"), "grad.patch"));
    const std::string last = fmt::format("encoder.layer.{}.mlp.fc2.weight", registers ? 1 : 2);
    VERGENCE_AGREES(agrees(gradientOf(last), "grad.fc2_last"));
}

/// 256 px in patches of 14: 18 × 18 patches, 325 tokens, rows and columns 252 to 255 unread.
void TestFvlmGazeReference::ignoredPixelsHaveNoInfluence()
{
    GazePlan plan{smallestVit(), queriesOf(6), {}, DType::F32, DType::F32, false};
    plan.vit.patch = 14;
    plan.vit.grid = 37;
    const GazeSetup setup(plan, 18, 18);
    QCOMPARE(setup.encoder.tokens(), Index{325});
    const Tensor query = Tensor::zeros(*setup.stream, setup.device, {1, 6});
    std::vector<float> pixels(3 * 256 * 256);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<float>((73 * i + 19) % 251) / 100 - 1;
    const auto seen = [&] {
        Graph graph(*setup.stream, setup.device, {false, DType::F32});
        const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
        const Value image = graph.constant(
            Tensor::fromHost<float>(*setup.stream, setup.device, {1, 3, 256, 256}, pixels));
        const Encoded encoded =
            setup.encoder.encode(pass, unfoldPatches(graph, image, 14), graph.constant(query));
        return graph.tensor(encoded.coarse).toHost<float>(*setup.stream);
    };
    const auto before = seen();
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (i % 256 >= 252 || i / 256 % 256 >= 252)
            pixels[i] = 1e6f;
    }
    QVERIFY(seen() == before);
    pixels[251 * 256 + 251] += 1;
    QVERIFY(seen() != before);
}

VERGENCE_TEST(TestFvlmGazeReference)
#include "tst_fvlm_gaze_reference.moc"
