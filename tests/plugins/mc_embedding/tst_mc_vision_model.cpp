#include <fstream>

#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/models/vision_model.h"
#include "tests/support/device_table.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"
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
    void conflictsWithTheConfigAreNoted();
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

void TestMcVisionModel::conflictsWithTheConfigAreNoted()
{
    VERGENCE_GOLDEN_FOLDER(folder, "clip_tiny");
    const Scratch scratch;
    std::filesystem::copy_file(folder / "model.safetensors", scratch / "model.safetensors");
    std::ofstream(scratch / "config.json")
        << R"({"model_type": "clip", "projection_dim": 48, "vision_config": {"hidden_size": 128,
               "intermediate_size": 512, "num_hidden_layers": 3, "num_attention_heads": 4,
               "image_size": 32, "patch_size": 8, "hidden_act": "gelu", "layer_norm_eps": 1e-05}})";
    const VisionModel model = load("tiny_clip", scratch / "");
    QCOMPARE(model.notes.size(), 2u);
    QVERIFY(model.notes[0].find("num_attention_heads 4; 2 is used") != std::string::npos);
    QVERIFY(model.notes[1].find("hidden_act gelu; quick_gelu is used") != std::string::npos);
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

QTEST_GUILESS_MAIN(TestMcVisionModel)
#include "tst_mc_vision_model.moc"
