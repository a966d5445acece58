#include <algorithm>

#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/models/text_tower.h"
#include "tests/plugins/mc_embedding/text_support.h"
#include "tests/support/golden.h"
#include "tests/support/numbers.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using vergence::mc_embedding::fixtures::SmallText;
using namespace vergence::test;
using Json = nlohmann::json;

namespace {

const std::vector<std::vector<int>> kClipIds{{516, 7, 300, 517, 0, 0, 0, 0}, {516, 517}};
const std::vector<std::vector<int>> kSiglipIds{{40, 41, 1, 0, 0, 0, 0, 0},
                                               {288, 1, 0, 0, 0, 0, 0, 0}};

/// Features of the tower that a folder holds.
Matrix featuresOf(const std::filesystem::path& folder, bool isSiglip,
                  std::shared_ptr<Device> device = devices().devices.front())
{
    const auto stream = device->createStream();
    const WeightFile file = openTextWeights(folder);
    const TextSource source = readTextSource(file, folder, "small");
    const TextTower tower(*stream, device, file, source);
    return tower.features(*stream, isSiglip ? kSiglipIds : kClipIds);
}

/// The file of `folder` with one change.
void rewrite(const std::filesystem::path& folder,
             const std::function<void(std::vector<HostTensor>&)>& change)
{
    SafetensorsFile file = readSafetensors(folder / "model.safetensors");
    change(file.tensors);
    writeSafetensors(folder / "model.safetensors", file.tensors);
}

HostTensor& named(std::vector<HostTensor>& tensors, const std::string& name)
{
    return *std::find_if(tensors.begin(), tensors.end(),
                         [&](const HostTensor& tensor) { return tensor.name == name; });
}

void changeConfig(const std::filesystem::path& folder, const std::function<void(Json&)>& change)
{
    Json config = Json::parse(readFile(folder / "config.json"));
    change(config);
    writeFileAtomic(folder / "config.json", config.dump());
}

TextSource sourceOf(const std::filesystem::path& folder, const std::string& key = "small")
{
    return readTextSource(openTextWeights(folder), folder, key);
}

} // namespace

class TestMcTextTower : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void clipIsReproduced_data() { addDeviceRows(); }
    void clipIsReproduced()
    {
        VERGENCE_ROW_DEVICE(device);
        VERGENCE_GOLDEN_FOLDER(folder, "clip_tiny");
        const auto stream = device->createStream();
        const WeightFile file = openTextWeights(folder);
        const TextSource source = readTextSource(file, folder, "tiny_clip");
        QVERIFY(source.notes.empty());
        QCOMPARE(source.shape.heads, 4);
        const SafetensorsFile expected = readSafetensors(folder / "expected.safetensors");
        const auto ids = expected.find("input_ids")->as<std::int64_t>();
        std::vector<std::vector<int>> contexts;
        for (std::size_t i = 0; i < ids.size(); i += 16)
            contexts.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(i),
                                  ids.begin() + static_cast<std::ptrdiff_t>(i + 16));
        const TextTower tower(*stream, device, file, source);
        const auto features = expected.find("text_features")->as<float>();
        double largest = 0;
        for (const float value : features)
            largest = std::max(largest, std::abs(static_cast<double>(value)));
        VERGENCE_AGREES(
            difference(std::span<const double>(tower.features(*stream, contexts).values), features,
                       1e-5 * largest, 0));
    }

    void bothLayoutsGiveTheSameBits_data()
    {
        QTest::addColumn<bool>("isSiglip");
        QTest::newRow("CLIP") << false;
        QTest::newRow("SigLIP") << true;
    }
    void bothLayoutsGiveTheSameBits()
    {
        QFETCH(bool, isSiglip);
        const SmallText model{isSiglip};
        const Scratch transformers, openClip;
        model.write(transformers.path());
        model.writeOpenClipTwin(transformers.path(), openClip.path());
        // Epsilon is 1e-5 in both configs; transformers leaves it out for CLIP alone.
        changeConfig(transformers.path(),
                     [](Json& config) { config["text_config"]["layer_norm_eps"] = 1e-5; });
        const TextSource source = sourceOf(openClip.path());
        QVERIFY(source.layout == TextLayout::OpenClip);
        QCOMPARE(source.shape.feature, SmallText::kFeatures);
        QCOMPARE(source.shape.layers, SmallText::kLayers);
        QCOMPARE(source.shape.family == Family::Siglip, isSiglip);
        QVERIFY(std::abs(source.logitScale - 50) < 1e-4);
        QCOMPARE(source.logitBias, isSiglip ? -10.0 : 0.0);
        QVERIFY(source.notes.empty());
        const Matrix a = featuresOf(transformers.path(), isSiglip);
        const Matrix b = featuresOf(openClip.path(), isSiglip);
        QVERIFY(a.values == b.values);
        QVERIFY(a(0, 0) != a(1, 0));
    }

    /// open_clip: `quick_gelu` is false where it is not there, in both towers.
    void silentOpenClipConfigMeansGelu()
    {
        const Scratch transformers, openClip;
        const SmallText model;
        model.write(transformers.path());
        model.writeOpenClipTwin(transformers.path(), openClip.path());
        const auto path = openClip / "open_clip_config.json";
        Json config = Json::parse(readFile(path));
        config["model_cfg"].erase("quick_gelu");
        writeFileAtomic(path, config.dump());
        const TextSource source = sourceOf(openClip.path());
        QVERIFY(source.shape.activation == Activation::GeluErf);
        QCOMPARE(source.notes.size(), std::size_t{1});
    }

    void shortBatchesDoNotChangeClip()
    {
        const Scratch folder;
        SmallText{}.write(folder.path());
        const auto device = devices().devices.front();
        const auto stream = device->createStream();
        const WeightFile file = openTextWeights(folder.path());
        const TextTower tower(*stream, device, file, sourceOf(folder.path()));
        // What follows the end of a text is invisible, so the context is cut to the longest.
        std::vector<int> padded{516, 7, 517, 0, 0, 0, 0, 0}, other{516, 7, 517, 9, 9, 9, 9, 9};
        const Matrix features =
            tower.features(*stream, {padded, other, {516, 1, 2, 3, 4, 5, 6, 517}});
        const Matrix alone = tower.features(*stream, {padded});
        for (std::size_t d = 0; d < features.columns; ++d) {
            QCOMPARE(features(0, d), features(1, d));
            QVERIFY(std::abs(features(0, d) - alone(0, d)) < 1e-5);
        }
    }

    void swappedOrTurnedWeightsAreNoticed()
    {
        const Scratch folder;
        SmallText{}.write(folder.path());
        const Matrix before = featuresOf(folder.path(), false);
        rewrite(folder.path(), [](std::vector<HostTensor>& tensors) {
            const std::string block = "text_model.encoder.layers.0.self_attn.";
            std::swap(named(tensors, block + "q_proj.weight").bytes,
                      named(tensors, block + "k_proj.weight").bytes);
        });
        QVERIFY(
            !difference(featuresOf(folder.path(), false).values, before.values, 1e-4, 0).empty());
        rewrite(folder.path(), [](std::vector<HostTensor>& tensors) {
            HostTensor& projection = named(tensors, "text_projection.weight");
            std::swap(projection.shape[0], projection.shape[1]);
        });
        VERGENCE_THROWS(InputError, "text_projection.weight", featuresOf(folder.path(), false));
    }

    void shapesDecideAndConflictsAreNoted()
    {
        const Scratch folder;
        SmallText{}.write(folder.path());
        QVERIFY(sourceOf(folder.path()).notes.empty());
        changeConfig(folder.path(), [](Json& config) {
            config["text_config"]["hidden_size"] = 512;
            config["text_config"]["num_attention_heads"] = 4;
            config["text_config"]["hidden_act"] = "gelu";
        });
        const TextSource source = sourceOf(folder.path());
        QCOMPARE(source.shape.width, SmallText::kWidth);
        QCOMPARE(source.shape.heads, 4); // the one extent that shapes do not tell
        QVERIFY(source.shape.activation == Activation::GeluErf);
        QCOMPARE(source.notes.size(), std::size_t{2});
        QVERIFY(source.notes[0].find("`hidden_size` 512, the weights have 16") !=
                std::string::npos);
        QVERIFY(source.notes[1].find("activation") != std::string::npos);
        changeConfig(folder.path(),
                     [](Json& config) { config["text_config"]["hidden_act"] = "relu"; });
        VERGENCE_THROWS(InputError, "relu", sourceOf(folder.path()));
        changeConfig(folder.path(), [](Json& config) {
            config["text_config"].erase("hidden_act");
            config["text_config"]["num_attention_heads"] = 5;
        });
        VERGENCE_THROWS(InputError, "5 heads", sourceOf(folder.path()));
        std::filesystem::remove(folder / "config.json");
        QCOMPARE(sourceOf(folder.path()).notes.size(), std::size_t{2}); // no config, heads guessed
    }

    void towersOfOtherModelsAreRefused()
    {
        const Scratch folder;
        SmallText{}.write(folder.path());
        VERGENCE_THROWS(InputError, "CLIP model; `siglip2_b16` is none",
                        sourceOf(folder.path(), "siglip2_b16"));
        VERGENCE_THROWS(InputError, "`clip_l14` has width 768",
                        sourceOf(folder.path(), "clip_l14"));
        rewrite(folder.path(), [](std::vector<HostTensor>& tensors) {
            std::erase_if(tensors,
                          [](const HostTensor& tensor) { return tensor.name == "logit_scale"; });
        });
        VERGENCE_THROWS(InputError, "no `logit_scale`", sourceOf(folder.path()));
        rewrite(folder.path(), [](std::vector<HostTensor>& tensors) {
            std::erase_if(tensors, [](const HostTensor& tensor) {
                return tensor.name.find("position") != std::string::npos;
            });
        });
        VERGENCE_THROWS(InputError, "position_embedding", sourceOf(folder.path()));
        rewrite(folder.path(), [](std::vector<HostTensor>& tensors) {
            tensors.resize(1);
            tensors[0].name = "vision_model.post_layernorm.weight";
        });
        VERGENCE_THROWS(InputError, "no text tower", sourceOf(folder.path()));
    }

    void missingTensorsAreNamed()
    {
        const Scratch folder;
        SmallText{true}.write(folder.path());
        rewrite(folder.path(), [](std::vector<HostTensor>& tensors) {
            std::erase_if(tensors, [](const HostTensor& tensor) {
                return tensor.name == "text_model.encoder.layers.1.mlp.fc2.bias";
            });
        });
        VERGENCE_THROWS(InputError, "layers.1.mlp.fc2.bias", featuresOf(folder.path(), true));
    }

    void theFileWithTextIsChosen()
    {
        const Scratch transformers, folder;
        const SmallText model{true};
        model.write(transformers.path());
        model.writeOpenClipTwin(transformers.path(), folder.path());
        // timm puts the image tower beside it under the other name
        writeSafetensors(
            folder / "model.safetensors",
            {HostTensor::from<float>("blocks.0.norm1.weight", {1}, std::vector<float>{1})});
        QVERIFY(sourceOf(folder.path()).layout == TextLayout::OpenClip);
    }

    void publishedTowersAreInTheTable()
    {
        for (const char* key : {"clip_b32", "clip_l14", "siglip2_b16", "siglip2_so400m",
                                "siglip2_so400m_p16", "siglip2_g16"}) {
            const auto shape = textShape(key);
            QVERIFY2(shape.has_value(), key);
            QCOMPARE(shape->width % shape->heads, Index{0});
            const bool isSiglip = shape->family == Family::Siglip;
            QCOMPARE(shape->context, isSiglip ? 64 : 77);
            QVERIFY(shape->activation == (isSiglip ? Activation::GeluTanh : Activation::QuickGelu));
        }
        QCOMPARE(textShape("siglip2_g16")->feature, 1536);
        QVERIFY(!textShape("toy_linear"));
    }
};

VERGENCE_TEST(TestMcTextTower)
#include "tst_mc_text_tower.moc"
