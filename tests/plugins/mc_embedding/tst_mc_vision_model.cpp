#include <fstream>

#include <QTest>

#include <nlohmann/json.hpp>

#include "core/artifact/safetensors.h"
#include "core/base/file.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/models/vision_model.h"
#include "tests/support/device_table.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

namespace {

/// Rows of several tensors under one another.
HostTensor stacked(const std::string& name, const std::vector<const HostTensor*>& parts)
{
    HostTensor result{name, parts.front()->dtype, parts.front()->shape, {}};
    result.shape[0] = 0;
    for (const HostTensor* part : parts) {
        result.shape[0] += part->shape[0];
        result.bytes.insert(result.bytes.end(), part->bytes.begin(), part->bytes.end());
    }
    return result;
}

HostTensor transposed(const std::string& name, const HostTensor& tensor)
{
    const auto values = tensor.as<float>();
    const Index rows = tensor.shape[0], columns = tensor.shape[1];
    std::vector<float> turned(values.size());
    for (Index r = 0; r < rows; ++r) {
        for (Index c = 0; c < columns; ++c)
            turned[static_cast<std::size_t>(c * rows + r)] =
                values[static_cast<std::size_t>(r * columns + c)];
    }
    return HostTensor::from<float>(name, {columns, rows}, turned);
}

/// Rewrites a model of the transformers layout under other names.
class Twin {
public:
    explicit Twin(const SafetensorsFile& file) : m_file(file) {}

    void move(const std::string& from, const std::string& to, std::vector<Index> shape = {})
    {
        HostTensor tensor = *need(from);
        tensor.name = to;
        if (!shape.empty())
            tensor.shape = std::move(shape);
        m_result.push_back(std::move(tensor));
    }
    void both(const std::string& from, const std::string& to)
    {
        move(from + ".weight", to + ".weight");
        move(from + ".bias", to + ".bias");
    }
    /// The parts of one layer, weights and biases, stacked.
    void stack(const std::vector<std::string>& from, const std::string& weight,
               const std::string& bias)
    {
        std::vector<const HostTensor*> weights, biases;
        for (const std::string& each : from) {
            weights.push_back(need(each + ".weight"));
            biases.push_back(need(each + ".bias"));
        }
        m_result.push_back(stacked(weight, weights));
        m_result.push_back(stacked(bias, biases));
    }
    /// Rows of one tensor.
    void rows(const std::string& from, const std::string& to, Index first, Index count)
    {
        const HostTensor* whole = need(from);
        const auto each = whole->bytes.size() / static_cast<std::size_t>(whole->shape[0]);
        HostTensor part{to, whole->dtype, whole->shape, {}};
        part.shape[0] = count;
        const auto begin = whole->bytes.begin() +
                           static_cast<std::ptrdiff_t>(each * static_cast<std::size_t>(first));
        part.bytes.assign(
            begin, begin + static_cast<std::ptrdiff_t>(each * static_cast<std::size_t>(count)));
        m_result.push_back(std::move(part));
    }
    void turn(const std::string& from, const std::string& to)
    {
        m_result.push_back(transposed(to, *need(from)));
    }
    const std::vector<HostTensor>& tensors() const { return m_result; }
    std::vector<HostTensor>& tensors() { return m_result; }

private:
    const HostTensor* need(const std::string& name) const
    {
        const HostTensor* found = m_file.find(name);
        if (!found)
            throw InputError("the golden model has no " + name);
        return found;
    }
    const SafetensorsFile& m_file;
    std::vector<HostTensor> m_result;
};

/// `isSwapped`: query and key change places, which no loader can see in the shapes.
Twin openClipTwin(const SafetensorsFile& file, bool isSwapped = false)
{
    Twin twin(file);
    const std::string from = "vision_model.", to = "visual.";
    twin.move(from + "embeddings.patch_embedding.weight", to + "conv1.weight");
    twin.move(from + "embeddings.class_embedding", to + "class_embedding");
    twin.move(from + "embeddings.position_embedding.weight", to + "positional_embedding");
    twin.both(from + "pre_layrnorm", to + "ln_pre");
    twin.both(from + "post_layernorm", to + "ln_post");
    twin.turn("visual_projection.weight", to + "proj");
    for (int b = 0; b < 3; ++b) {
        const std::string block = from + "encoder.layers." + std::to_string(b) + ".";
        const std::string other = to + "transformer.resblocks." + std::to_string(b) + ".";
        const std::string attention = block + "self_attn.";
        twin.stack({attention + (isSwapped ? "k_proj" : "q_proj"),
                    attention + (isSwapped ? "q_proj" : "k_proj"), attention + "v_proj"},
                   other + "attn.in_proj_weight", other + "attn.in_proj_bias");
        twin.both(attention + "out_proj", other + "attn.out_proj");
        twin.both(block + "layer_norm1", other + "ln_1");
        twin.both(block + "layer_norm2", other + "ln_2");
        twin.both(block + "mlp.fc1", other + "mlp.c_fc");
        twin.both(block + "mlp.fc2", other + "mlp.c_proj");
    }
    return twin;
}

Twin timmTwin(const SafetensorsFile& file)
{
    Twin twin(file);
    const std::string from = "vision_model.", to = "visual.trunk.";
    const Index width = 96;
    twin.both(from + "embeddings.patch_embedding", to + "patch_embed.proj");
    twin.move(from + "embeddings.position_embedding.weight", to + "pos_embed", {1, 16, width});
    twin.both(from + "post_layernorm", to + "norm");
    for (int b = 0; b < 3; ++b) {
        const std::string block = from + "encoder.layers." + std::to_string(b) + ".";
        const std::string other = to + "blocks." + std::to_string(b) + ".";
        const std::string attention = block + "self_attn.";
        twin.stack({attention + "q_proj", attention + "k_proj", attention + "v_proj"},
                   other + "attn.qkv.weight", other + "attn.qkv.bias");
        twin.both(attention + "out_proj", other + "attn.proj");
        twin.both(block + "layer_norm1", other + "norm1");
        twin.both(block + "layer_norm2", other + "norm2");
        twin.both(block + "mlp.fc1", other + "mlp.fc1");
        twin.both(block + "mlp.fc2", other + "mlp.fc2");
    }
    const std::string head = from + "head.", pool = to + "attn_pool.";
    twin.move(head + "probe", pool + "latent");
    for (const std::string suffix : {"weight", "bias"}) {
        twin.rows(head + "attention.in_proj_" + suffix, pool + "q." + suffix, 0, width);
        twin.rows(head + "attention.in_proj_" + suffix, pool + "kv." + suffix, width, 2 * width);
    }
    twin.both(head + "attention.out_proj", pool + "proj");
    twin.both(head + "layernorm", pool + "norm");
    twin.both(head + "mlp.fc1", pool + "mlp.fc1");
    twin.both(head + "mlp.fc2", pool + "mlp.fc2");
    return twin;
}

/// Deterministic features of fixed noise.
std::vector<float> featuresOf(const std::shared_ptr<Device>& device, Stream& stream,
                              VisionModel& model)
{
    const Index side = model.encoder->tower().imageSize;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(2 * side * side * 3));
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(Rng(5).bits(i));
    const std::vector<std::uint32_t> ids = {0, 1};
    model.encoder->begin(
        stream, Tensor::fromHost<std::uint8_t>(stream, device, {2, side, side, 3}, pixels), ids);
    return model.encoder->deterministic().toHost<float>(stream);
}

} // namespace

class TestMcVisionModel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void openClipNamesGiveEqualBits_data();
    void openClipNamesGiveEqualBits();
    void swappedOrTransposedWeightsAreSeen();
    void otherModelsAreRefusedByName();
    void damagedFoldersAreRefused();
    void activationOfTheConfigIsComputed_data();
    void activationOfTheConfigIsComputed();
    void activationOfAnOpenClipConfigIsComputed_data();
    void activationOfAnOpenClipConfigIsComputed();
    void extentsOfTheConfigAreFollowedWhereTheyFit();
    void contradictionsAreRefused_data();
    void contradictionsAreRefused();
    void activationMayBeOverridden();
    void demoWeightsHaveTheirSpread();
    void demoWeightsAreEqualOnAllDevices();

private:
    std::shared_ptr<Device> m_device = devices().devices.front();
    std::unique_ptr<Stream> m_stream = m_device->createStream();

    VisionModel load(const std::string& key, const std::filesystem::path& folder,
                     const VisionModelOptions& options = {})
    {
        return loadVisionModel(*m_stream, m_device, key, folder, options);
    }
    /// Of the pictures that the golden model was evaluated on, [4, D].
    std::vector<float> goldenFeatures(const std::filesystem::path& golden, VisionModel& model)
    {
        const SafetensorsFile expected = readSafetensors(golden / "expected.safetensors");
        const HostTensor* pixels = expected.find("pixel_values");
        const std::vector<std::uint32_t> ids = {0, 1, 2, 3};
        model.encoder->begin(
            *m_stream,
            Tensor::fromHost<float>(*m_stream, m_device, pixels->shape, pixels->as<float>()), ids);
        return model.encoder->deterministic().toHost<float>(*m_stream);
    }
    std::vector<float> features(const std::string& key, const std::filesystem::path& folder)
    {
        VisionModel model = load(key, folder);
        return featuresOf(m_device, *m_stream, model);
    }
};

void TestMcVisionModel::openClipNamesGiveEqualBits_data()
{
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("golden");
    QTest::newRow("CLIP") << "tiny_clip"
                          << "clip_tiny";
    QTest::newRow("SigLIP") << "tiny_siglip"
                            << "siglip_tiny";
}

void TestMcVisionModel::openClipNamesGiveEqualBits()
{
    QFETCH(QString, key);
    QFETCH(QString, golden);
    VERGENCE_GOLDEN_FOLDER(folder, golden.toStdString());
    const Scratch scratch;
    const auto file = readSafetensors(folder / "model.safetensors");
    const Twin twin = key == "tiny_clip" ? openClipTwin(file) : timmTwin(file);
    writeSafetensors(scratch / "open_clip_model.safetensors", twin.tensors());
    VisionModel first = load(key.toStdString(), folder);
    VisionModel second = load(key.toStdString(), scratch / "");
    QCOMPARE(first.layout, std::string("transformers"));
    QCOMPARE(second.layout, std::string("open_clip"));
    QCOMPARE(first.weightsSha256.size(), 64u);
    QVERIFY(first.weightsSha256 != second.weightsSha256);
    QVERIFY2(first.notes.empty(), first.notes.empty() ? "" : first.notes.front().c_str());
    QVERIFY2(second.notes.empty(), second.notes.empty() ? "" : second.notes.front().c_str());
    QVERIFY(featuresOf(m_device, *m_stream, first) == featuresOf(m_device, *m_stream, second));
}

void TestMcVisionModel::swappedOrTransposedWeightsAreSeen()
{
    VERGENCE_GOLDEN_FOLDER(folder, "clip_tiny");
    const Scratch scratch;
    const auto file = readSafetensors(folder / "model.safetensors");
    const auto right = features("tiny_clip", folder);
    writeSafetensors(scratch / "open_clip_model.safetensors", openClipTwin(file, true).tensors());
    QVERIFY(features("tiny_clip", scratch / "") != right);
    Twin turned = openClipTwin(file);
    for (HostTensor& tensor : turned.tensors()) {
        if (tensor.name == "visual.proj")
            tensor = transposed("visual.proj", tensor);
    }
    writeSafetensors(scratch / "open_clip_model.safetensors", turned.tensors());
    VERGENCE_THROWS(InputError, "visual.proj", load("tiny_clip", scratch / ""));
}

void TestMcVisionModel::otherModelsAreRefusedByName()
{
    VERGENCE_GOLDEN_FOLDER(folder, "clip_tiny");
    VERGENCE_THROWS(InputError, "holds weights of tiny_clip, not of clip_b32",
                    load("clip_b32", folder));
    VERGENCE_THROWS(InputError, "holds weights of tiny_clip, not of tiny_siglip",
                    load("tiny_siglip", folder));
    VERGENCE_THROWS(InputError, "There is no model clip_b64", load("clip_b64", folder));
    VERGENCE_THROWS(InputError, "random weights only", load("toy_linear", folder));
}

void TestMcVisionModel::damagedFoldersAreRefused()
{
    VERGENCE_GOLDEN_FOLDER(folder, "clip_tiny");
    const Scratch scratch;
    auto file = readSafetensors(folder / "model.safetensors");
    std::erase_if(file.tensors, [](const HostTensor& tensor) {
        return tensor.name == "vision_model.encoder.layers.1.mlp.fc1.bias";
    });
    writeSafetensors(scratch / "model.safetensors", file.tensors);
    VERGENCE_THROWS(InputError, "vision_model.encoder.layers.1.mlp.fc1.bias",
                    load("tiny_clip", scratch / ""));
    const std::vector<float> one = {1};
    writeSafetensors(scratch / "model.safetensors", {HostTensor::from<float>("a", {1}, one)});
    VERGENCE_THROWS(InputError, "no image tower", load("tiny_clip", scratch / ""));
    const Scratch pickled;
    std::ofstream(pickled / "pytorch_model.bin") << "PK";
    VERGENCE_THROWS(InputError, "pickled", load("tiny_clip", pickled.path()));
}

namespace {

/// clip_tiny's weights in a folder with another config.json: that of the golden model, changed.
void writeChanged(const std::filesystem::path& golden, const std::filesystem::path& folder,
                  const std::function<void(nlohmann::json&)>& change)
{
    std::filesystem::copy_file(golden / "model.safetensors", folder / "model.safetensors");
    auto config = nlohmann::json::parse(readFile(golden / "config.json"));
    change(config);
    std::ofstream(folder / "config.json") << config.dump(1);
}

/// Whether values are those of a reference in double to 2e-6 of its largest, 1.2.
void compareFeatures(const std::vector<float>& features, std::size_t at,
                     const std::vector<double>& expected)
{
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double difference = std::abs(features[at + i] - expected[i]);
        QVERIFY2(difference < 3e-6, qPrintable(QString::number(difference)));
    }
}

constexpr std::size_t kFeatures = 48;

} // namespace

/// Features of golden/clip_tiny's four pictures, computed apart from all code of this project: the
/// formulas of section 2.2 written out with PyTorch 2.15 in float64, no model class used. That
/// program gives the golden features with quick_gelu (largest difference 1.7e-6, the golden ones
/// are float32). First six of the first picture, last six of the last.
void TestMcVisionModel::activationOfTheConfigIsComputed_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<std::vector<double>>("first");
    QTest::addColumn<std::vector<double>>("last");
    using Values = std::vector<double>;
    QTest::newRow("quick") << "quick_gelu" << Values{-0.171683113, -0.007694592, 0.836199996,
                                                     -0.475051179, -1.156249308, 0.950273646}
                           << Values{1.770130741,  -0.486774351, 0.486198402,
                                     -0.347391729, -0.665829072, 0.714496117};
    QTest::newRow("erf") << "gelu" << Values{-0.157583178, -0.015322269, 0.829139115,
                                             -0.492892743, -1.169880131, 0.962331242}
                         << Values{1.779427935,  -0.479842753, 0.477345502,
                                   -0.338282155, -0.660976788, 0.721478996};
    QTest::newRow("tanh") << "gelu_pytorch_tanh" << Values{-0.157273413, -0.015110775, 0.828979501,
                                                           -0.492847203, -1.169702859, 0.963148907}
                          << Values{1.779895978, -0.479486099, 0.477246086,
                                    -0.33792946, -0.661033039, 0.721308092};
}

void TestMcVisionModel::activationOfTheConfigIsComputed()
{
    QFETCH(QString, name);
    QFETCH(std::vector<double>, first);
    QFETCH(std::vector<double>, last);
    VERGENCE_GOLDEN_FOLDER(golden, "clip_tiny");
    const Scratch scratch;
    writeChanged(golden, scratch.path(), [&](nlohmann::json& config) {
        config["vision_config"]["hidden_act"] = name.toStdString();
    });
    VisionModel model = load("tiny_clip", scratch.path());
    const auto features = goldenFeatures(golden, model);
    compareFeatures(features, 0, first);
    compareFeatures(features, 4 * kFeatures - last.size(), last);
    // What differs from the published model is said.
    QCOMPARE(model.notes.size(), name == "quick_gelu" ? 0u : 1u);
    QVERIFY(model.notes.empty() || model.notes[0].find(name.toStdString()) != std::string::npos);
    // A choice of the user comes before the file.
    VisionModelOptions options;
    options.activation = "quick";
    VisionModel chosen = load("tiny_clip", scratch.path(), options);
    compareFeatures(goldenFeatures(golden, chosen), 0,
                    {-0.171683113, -0.007694592, 0.836199996, -0.475051179});
}

/// open_clip: `quick_gelu` is false where it is not there.
void TestMcVisionModel::activationOfAnOpenClipConfigIsComputed_data()
{
    QTest::addColumn<QString>("config");
    QTest::addColumn<int>("activation");
    const auto row = [](const char* name, const char* config, Activation activation) {
        QTest::newRow(name) << QString(config) << static_cast<int>(activation);
    };
    row("quick", R"({"embed_dim": 48, "quick_gelu": true, "vision_cfg": {"width": 128}})",
        Activation::QuickGelu);
    row("not quick", R"({"quick_gelu": false, "vision_cfg": {"layers": 3}})", Activation::GeluErf);
    row("silent", R"({"vision_cfg": {"patch_size": 8, "image_size": 32, "head_width": 64}})",
        Activation::GeluErf);
    row("tanh", R"({"vision_cfg": {"act_kwargs": {"approximate": "tanh"}}})", Activation::GeluTanh);
}

void TestMcVisionModel::activationOfAnOpenClipConfigIsComputed()
{
    QFETCH(QString, config);
    QFETCH(int, activation);
    VERGENCE_GOLDEN_FOLDER(golden, "clip_tiny");
    const Scratch scratch;
    const auto file = readSafetensors(golden / "model.safetensors");
    writeSafetensors(scratch / "open_clip_model.safetensors", openClipTwin(file).tensors());
    std::ofstream(scratch / "open_clip_config.json")
        << R"({"model_cfg": )" << config.toStdString() << "}";
    const VisionModel model = load("tiny_clip", scratch.path());
    QCOMPARE(static_cast<int>(model.encoder->tower().activation), activation);
}

void TestMcVisionModel::extentsOfTheConfigAreFollowedWhereTheyFit()
{
    VERGENCE_GOLDEN_FOLDER(golden, "clip_tiny");
    const Scratch scratch;
    writeChanged(golden, scratch.path(),
                 [](nlohmann::json& config) { config["vision_config"]["layer_norm_eps"] = 1e-2; });
    VisionModel model = load("tiny_clip", scratch.path());
    // As above, with the larger epsilon.
    compareFeatures(
        goldenFeatures(golden, model), 0,
        {-0.131944531, -0.031753314, 0.9630006, -0.727507909, -1.415690484, 0.772397139});
    const Scratch larger;
    writeChanged(golden, larger.path(), [](nlohmann::json& config) {
        config["vision_config"]["image_size"] = 38; // as many patches
    });
    model = load("tiny_clip", larger.path());
    QCOMPARE(model.encoder->tower().imageSize, 38);
    QCOMPARE(model.preprocess.size, 38);
    VisionModelOptions options;
    options.imageSize = 33;
    QCOMPARE(load("tiny_clip", larger.path(), options).preprocess.size, 33);
}

void TestMcVisionModel::contradictionsAreRefused_data()
{
    QTest::addColumn<QString>("pointer");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("sentence");
    const auto row = [](const char* pointer, const char* value, const char* sentence) {
        QTest::newRow(pointer) << QString(pointer) << QString(value) << QString(sentence);
    };
    const char* const vision = "config.json, vision_config: ";
    const auto text = [&](const char* rest) { return std::string(vision) + rest; };
    row("/vision_config/hidden_act", "\"relu\"",
        text("`hidden_act` is relu; the lab computes quick_gelu, gelu and gelu_pytorch_tanh")
            .c_str());
    row("/vision_config/hidden_size", "256",
        text("`hidden_size` is 256, and tiny_clip has 128").c_str());
    row("/vision_config/num_attention_heads", "4",
        text("`num_attention_heads` is 4, and tiny_clip has 2").c_str());
    row("/vision_config/num_hidden_layers", "12",
        text("`num_hidden_layers` is 12, and tiny_clip has 3").c_str());
    row("/vision_config/intermediate_size", "256",
        text("`intermediate_size` is 256, and tiny_clip has 512").c_str());
    row("/vision_config/patch_size", "16", text("`patch_size` is 16, and tiny_clip has 8").c_str());
    row("/vision_config/image_size", "64",
        text("`image_size` is 64, and tiny_clip reads 4 × 4 patches of 8 px").c_str());
    row("/vision_config/num_channels", "4",
        text("`num_channels` is 4, and tiny_clip has 3").c_str());
    row("/projection_dim", "64", "config.json: `projection_dim` is 64, and tiny_clip has 48");
    row("/model_type", "\"siglip\"", "config.json: `model_type` is siglip, and tiny_clip is CLIP");
    row("/vision_config/layer_norm_eps", "-1", "`layer_norm_eps` is -1");
}

void TestMcVisionModel::contradictionsAreRefused()
{
    QFETCH(QString, pointer);
    QFETCH(QString, value);
    QFETCH(QString, sentence);
    VERGENCE_GOLDEN_FOLDER(golden, "clip_tiny");
    const Scratch scratch;
    writeChanged(golden, scratch.path(), [&](nlohmann::json& config) {
        config[nlohmann::json::json_pointer(pointer.toStdString())] =
            nlohmann::json::parse(value.toStdString());
    });
    VERGENCE_THROWS(InputError, sentence.toUtf8(), load("tiny_clip", scratch.path()));
}

void TestMcVisionModel::activationMayBeOverridden()
{
    VisionModelOptions options;
    options.activation = "erf";
    VisionModel other = load("tiny_clip", {}, options), usual = load("tiny_clip", {});
    QCOMPARE(other.notes.size(), 1u);
    QVERIFY(featuresOf(m_device, *m_stream, other) != featuresOf(m_device, *m_stream, usual));
    options.activation = "quick";
    VisionModel same = load("tiny_clip", {}, options);
    QVERIFY(same.notes.empty());
    QVERIFY(featuresOf(m_device, *m_stream, same) == featuresOf(m_device, *m_stream, usual));
    options.activation = "relu";
    VERGENCE_THROWS(InputError, "no activation relu", load("tiny_clip", {}, options));
}

void TestMcVisionModel::demoWeightsHaveTheirSpread()
{
    VisionModel model = load("tiny_siglip", {});
    QCOMPARE(model.layout, std::string("random"));
    QCOMPARE(model.source, std::string("random weights"));
    const auto spread = [&](const std::string& name) {
        double squares = 0;
        const auto values = model.encoder->parameters().named(name).toHost<float>(*m_stream);
        for (const float value : values)
            squares += value * value / static_cast<double>(values.size());
        return std::sqrt(squares);
    };
    const std::string block = "vision_model.encoder.layers.1.";
    const auto near = [](double got, double want) { return std::abs(got / want - 1) < 0.03; };
    QVERIFY(near(spread("vision_model.embeddings.patch_embedding.weight"), 2 / std::sqrt(192.0)));
    QVERIFY(near(spread(block + "self_attn.k_proj.weight"), 1.5 / std::sqrt(96.0)));
    QVERIFY(near(spread(block + "mlp.fc1.weight"), 1.5 / std::sqrt(96.0)));
    QVERIFY(near(spread(block + "self_attn.out_proj.weight"), 1 / std::sqrt(96.0)));
    QVERIFY(near(spread(block + "mlp.fc2.weight"), 1 / std::sqrt(224.0)));
    QVERIFY(near(spread("vision_model.head.attention.in_proj_weight"), 1.5 / std::sqrt(96.0)));
    QVERIFY(near(spread("vision_model.embeddings.position_embedding.weight"), 0.1));
    QCOMPARE(spread(block + "mlp.fc1.bias"), 0.0);
    QCOMPARE(spread(block + "layer_norm1.weight"), 1.0);
    VisionModelOptions options;
    options.demoSeed = 43;
    QVERIFY(load("tiny_siglip", {}, options).weightsSha256 != model.weightsSha256);
    QCOMPARE(load("tiny_siglip", {}).weightsSha256, model.weightsSha256);
    VisionModel toy = load("toy_linear", {});
    for (const float bias : toy.encoder->parameters().named("toy.bias").toHost<float>(*m_stream))
        QCOMPARE(bias, 0.1f);
}

void TestMcVisionModel::demoWeightsAreEqualOnAllDevices()
{
    if (devices().devices.size() < 2)
        QSKIP("no CUDA device");
    for (const auto& device : devices().devices) {
        const auto stream = device->createStream();
        QCOMPARE(loadVisionModel(*stream, device, "tiny_clip", {}).weightsSha256,
                 load("tiny_clip", {}).weightsSha256);
    }
}

VERGENCE_TEST(TestMcVisionModel)
#include "tst_mc_vision_model.moc"
