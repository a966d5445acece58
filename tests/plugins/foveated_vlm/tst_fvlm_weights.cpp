#include <fstream>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/artifact/safetensors.h"
#include "plugins/foveated_vlm/model/model_weights.h"
#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {
constexpr double kLoss = 2.1505326754; ///< of T0's captions, fine

double lossOf(T0& t0)
{
    const T0Batch batch(t0, t0Captions());
    return t0Step(t0, batch, t0Losses(t0, batch), false).fine;
}

/// T0's shape without its weights.
std::unique_ptr<T0> blank(const T0::Change& change = {})
{
    auto t0 = std::make_unique<T0>(Variant::Captions, DType::F32, change);
    t0->model.initialise(*t0->stream, 9);
    return t0;
}

std::vector<HostTensor> tensorsOf(const std::filesystem::path& file)
{
    return readSafetensors(file).tensors;
}

HostTensor& named(std::vector<HostTensor>& tensors, const std::string& name)
{
    for (HostTensor& tensor : tensors) {
        if (tensor.name == name)
            return tensor;
    }
    throw std::runtime_error("no tensor " + name);
}

void renameAll(std::vector<HostTensor>& tensors,
               const std::vector<std::pair<std::string, std::string>>& parts)
{
    for (HostTensor& tensor : tensors) {
        for (const auto& [from, to] : parts) {
            if (const auto at = tensor.name.find(from); at != std::string::npos)
                tensor.name.replace(at, from.size(), to);
        }
    }
}

/// The same as two files and an index.
void shard(const std::filesystem::path& folder)
{
    const auto all = tensorsOf(folder / "model.safetensors");
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    const std::vector<std::pair<std::string, std::vector<HostTensor>>> parts{
        {"model-00001-of-00002.safetensors", {all.begin(), middle}},
        {"model-00002-of-00002.safetensors", {middle, all.end()}}};
    nlohmann::json index;
    for (const auto& [file, tensors] : parts) {
        writeSafetensors(folder / file, tensors);
        for (const HostTensor& tensor : tensors)
            index["weight_map"][tensor.name] = file;
    }
    std::ofstream(folder / "model.safetensors.index.json") << index.dump();
    std::filesystem::remove(folder / "model.safetensors");
}

void loadSplit(T0& t0, const std::filesystem::path& folder)
{
    loadVit(*t0.stream, t0.model, folder / "vit");
    loadLanguage(*t0.stream, t0.model, folder / "llm");
    loadCheckpointWeights(*t0.stream, t0.model, folder / "connector.safetensors",
                          {"encoder.dino.", "llm."});
}
} // namespace

class TestFvlmWeights : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void foldersOfOthersReproduceTheLoss_data();
    void foldersOfOthersReproduceTheLoss();
    void extentsComeFromTheFolder();
    void checkpointHoldsEveryBit();
    void aliasesLoadEqually_data();
    void aliasesLoadEqually();
    void originalNamesOfTheVisionTower();
    void faultsAreNamed();
    void extrasAreReported();
    void unfitConfigurationsAreRefused();
};

void TestFvlmWeights::foldersOfOthersReproduceTheLoss_data()
{
    QTest::addColumn<int>("type");
    QTest::addColumn<bool>("isSharded");
    for (const bool isSharded : {false, true}) {
        for (const DType type : {DType::F32, DType::F16, DType::BF16})
            QTest::addRow("%s, %d", std::string(nameOf(type)).c_str(), isSharded)
                << static_cast<int>(type) << isSharded;
    }
}

void TestFvlmWeights::foldersOfOthersReproduceTheLoss()
{
    QFETCH(int, type);
    QFETCH(bool, isSharded);
    const Scratch scratch;
    T0 source(Variant::Captions, DType::F32);
    ExportSettings settings;
    settings.type = static_cast<DType>(type);
    saveForOthers(*source.stream, source.model, scratch.path(), settings, {});
    if (isSharded) {
        shard(scratch / "vit");
        shard(scratch / "llm");
    }
    const auto t0 = blank();
    QVERIFY(std::abs(lossOf(*t0) - kLoss) > 1e-2);
    loadSplit(*t0, scratch.path());
    // Half-width numbers keep 11 or 8 bits.
    const double kept = settings.type == DType::F32   ? 0
                        : settings.type == DType::F16 ? 1.0 / 2048
                                                      : 1.0 / 256;
    for (const auto& [name, window] : source.parameters().fileEntries())
        VERGENCE_AGREES(difference(t0->values(name), source.values(name), 1e-7, kept));
    const double tolerance = settings.type == DType::F32 ? 2e-4 : 0.2;
    QVERIFY2(std::abs(lossOf(*t0) / kLoss - 1) < tolerance, std::to_string(lossOf(*t0)).c_str());
    const auto file = WeightFile::open(scratch / "vit");
    QVERIFY(file.find("encoder.layer.0.attention.attention.key.weight") != nullptr);
    QVERIFY(file.find("encoder.layer.0.attention.qkv.weight") == nullptr);
}

void TestFvlmWeights::extentsComeFromTheFolder()
{
    const Scratch scratch;
    T0 source(Variant::Captions, DType::F32,
              [](ModelSettings& settings) { settings.vit.registers = 4; });
    saveForOthers(*source.stream, source.model, scratch.path(), {}, {{"provider", "none"}});
    const DinoConfig vit = vitOfFolder(scratch / "vit");
    QCOMPARE(vit.width, Index{8});
    QCOMPARE(vit.layers, 2);
    QCOMPARE(vit.heads, 2);
    QCOMPARE(vit.hidden, Index{16});
    QCOMPARE(vit.patch, 4);
    QCOMPARE(vit.grid, Index{2});
    QCOMPARE(vit.registers, 4);
    const LlamaConfig llm = llmOfFolder(scratch / "llm");
    QCOMPARE(llm.width, Index{12});
    QCOMPARE(llm.keyHeads, 1);
    QCOMPARE(llm.hidden, Index{20});
    QCOMPARE(llm.vocabulary, Index{11});
    QCOMPARE(llm.theta, 100000.0);
    QCOMPARE(llm.epsilon, 1e-5);
    QVERIFY(llm.tied);
    QCOMPARE(readSafetensors(scratch / "connector.safetensors").metadata.at("provider"),
             std::string("none"));
}

void TestFvlmWeights::checkpointHoldsEveryBit()
{
    const Scratch scratch;
    T0 source(Variant::Joint, DType::F32);
    ExportSettings settings;
    saveCheckpointWeights(*source.stream, source.model, scratch / "a.safetensors", settings,
                          {{"update", "17"}});
    settings.repeatsHead = true;
    saveCheckpointWeights(*source.stream, source.model, scratch / "b.safetensors", settings, {});
    const SafetensorsFile file = readSafetensors(scratch / "a.safetensors");
    QCOMPARE(file.metadata.at("update"), std::string("17"));
    QVERIFY(file.find("llm.lm_head.weight") == nullptr);
    QVERIFY(readSafetensors(scratch / "b.safetensors").find("llm.lm_head.weight") != nullptr);
    for (const char* name : {"a.safetensors", "b.safetensors"}) {
        T0 other(Variant::Joint, DType::F32);
        other.model.initialise(*other.stream, 3);
        const WeightReport report =
            loadCheckpointWeights(*other.stream, other.model, scratch / name);
        QVERIFY(report.missing.empty() && report.unexpected.empty() && report.mismatched.empty());
        for (const auto& [entry, window] : source.parameters().fileEntries())
            QVERIFY2(other.values(entry) == source.values(entry), entry.c_str());
    }
}

void TestFvlmWeights::aliasesLoadEqually_data()
{
    QTest::addColumn<QString>("from");
    QTest::addColumn<QString>("to");
    QTest::addColumn<bool>("inFront");
    QTest::newRow("query_output_proj") << "encoder.output_proj"
                                       << "encoder.query_output_proj" << false;
    QTest::newRow("compiled") << ""
                              << "_orig_mod." << true;
    QTest::newRow("parallel and compiled") << ""
                                           << "_orig_mod.module." << true;
}

void TestFvlmWeights::aliasesLoadEqually()
{
    QFETCH(QString, from);
    QFETCH(QString, to);
    QFETCH(bool, inFront);
    const Scratch scratch;
    T0 source(Variant::Captions, DType::F32);
    saveCheckpointWeights(*source.stream, source.model, scratch / "a.safetensors", {}, {});
    auto tensors = tensorsOf(scratch / "a.safetensors");
    if (inFront) {
        for (HostTensor& tensor : tensors)
            tensor.name = to.toStdString() + tensor.name;
    } else {
        renameAll(tensors, {{from.toStdString(), to.toStdString()}});
    }
    tensors.push_back(HostTensor::from<float>("llm.model.layers.0.self_attn.rotary_emb.inv_freq",
                                              {2}, std::vector<float>{1, 2}));
    writeSafetensors(scratch / "b.safetensors", tensors);
    const auto t0 = blank();
    const WeightReport report =
        loadCheckpointWeights(*t0->stream, t0->model, scratch / "b.safetensors");
    QVERIFY(report.unexpected.empty());
    QVERIFY(std::abs(lossOf(*t0) / kLoss - 1) < 2e-4);
}

void TestFvlmWeights::originalNamesOfTheVisionTower()
{
    const Scratch scratch;
    T0 source(Variant::Captions, DType::F32);
    saveForOthers(*source.stream, source.model, scratch.path(), {}, {});
    auto tensors = tensorsOf(scratch / "vit" / "model.safetensors");
    for (const std::string layer : {"encoder.layer.0.", "encoder.layer.1."}) {
        for (const std::string kind : {"weight", "bias"}) {
            HostTensor joined = named(tensors, layer + "attention.attention.query." + kind);
            joined.name = layer + "attn.qkv." + kind;
            for (const std::string part : {"key.", "value."}) {
                const HostTensor& more =
                    named(tensors, layer + "attention.attention." + part + kind);
                joined.bytes.insert(joined.bytes.end(), more.bytes.begin(), more.bytes.end());
                joined.shape[0] += more.shape[0];
            }
            tensors.push_back(joined);
        }
    }
    std::erase_if(tensors, [](const HostTensor& tensor) {
        return tensor.name.find("attention.attention.") != std::string::npos;
    });
    renameAll(tensors, {{"encoder.layer.", "blocks."},
                        {"attention.output.dense.", "attn.proj."},
                        {"layer_scale1.lambda1", "ls1.gamma"},
                        {"layer_scale2.lambda1", "ls2.gamma"},
                        {"embeddings.patch_embeddings.projection", "patch_embed.proj"},
                        {"embeddings.position_embeddings", "pos_embed"},
                        {"embeddings.cls_token", "cls_token"},
                        {"embeddings.mask_token", "mask_token"},
                        {"layernorm.", "norm."}});
    writeSafetensors(scratch / "dinov2.safetensors", tensors);
    const auto t0 = blank();
    loadSplit(*t0, scratch.path());
    t0->set("encoder.dino.layernorm.weight", std::vector<double>(8, 0));
    t0->set("encoder.dino.encoder.layer.1.attention.attention.key.weight",
            std::vector<double>(64, 0));
    QVERIFY(std::abs(lossOf(*t0) / kLoss - 1) > 1e-3);
    const WeightReport report = loadVit(*t0->stream, t0->model, scratch / "dinov2.safetensors");
    QVERIFY(report.unexpected.empty() && report.missing.empty());
    QVERIFY(std::abs(lossOf(*t0) / kLoss - 1) < 2e-4);
}

void TestFvlmWeights::faultsAreNamed()
{
    const Scratch scratch;
    T0 source(Variant::Captions, DType::F32);
    saveCheckpointWeights(*source.stream, source.model, scratch / "a.safetensors", {}, {});
    const auto whole = tensorsOf(scratch / "a.safetensors");
    const auto load = [&](const std::vector<HostTensor>& tensors) {
        writeSafetensors(scratch / "b.safetensors", tensors);
        const auto t0 = blank();
        const auto before = t0->values("q_init");
        try {
            loadCheckpointWeights(*t0->stream, t0->model, scratch / "b.safetensors");
        } catch (const InputError&) {
            QCOMPARE(t0->values("q_init"), before); // nothing was written
            throw;
        }
    };
    auto missing = whole;
    std::erase_if(missing, [](const HostTensor& tensor) { return tensor.name == "q_static"; });
    VERGENCE_THROWS(InputError, "`q_static` is missing", load(missing));
    auto transposed = whole;
    std::swap(named(transposed, "dino_to_llm.weight").shape[0],
              named(transposed, "dino_to_llm.weight").shape[1]);
    VERGENCE_THROWS(InputError, "`dino_to_llm.weight` is [8, 12] in the file and [12, 8]",
                    load(transposed));
    auto twice = whole;
    HostTensor alias = named(twice, "encoder.output_proj.bias");
    alias.name = "encoder.query_output_proj.bias";
    twice.push_back(alias);
    VERGENCE_THROWS(InputError, "both", load(twice));
}

void TestFvlmWeights::extrasAreReported()
{
    const Scratch scratch;
    T0 source(Variant::Captions, DType::F32);
    saveForOthers(*source.stream, source.model, scratch.path(), {}, {});
    auto tensors = tensorsOf(scratch / "vit" / "model.safetensors");
    for (HostTensor& tensor : tensors)
        tensor.name = "dinov2." + tensor.name;
    tensors.push_back(HostTensor::from<float>("classifier.bias", {2}, std::vector<float>{1, 2}));
    std::erase_if(tensors, [](const HostTensor& tensor) {
        return tensor.name.ends_with("mask_token"); // read by no pass, may be missing
    });
    writeSafetensors(scratch / "c.safetensors", tensors);
    const auto t0 = blank();
    const WeightReport report = loadVit(*t0->stream, t0->model, scratch / "c.safetensors");
    QCOMPARE(report.unexpected, std::vector<std::string>{"classifier.bias"});
    QCOMPARE(report.missing, std::vector<std::string>{"encoder.dino.embeddings.mask_token"});
    QCOMPARE(report.loaded.size(), tensors.size() - 1);
}

void TestFvlmWeights::unfitConfigurationsAreRefused()
{
    const Scratch scratch;
    T0 source(Variant::Captions, DType::F32);
    saveForOthers(*source.stream, source.model, scratch.path(), {}, {});
    const auto change = [&](const char* part, const char* key, const nlohmann::json& value) {
        const auto file = scratch.path() / part / "config.json";
        nlohmann::json json;
        std::ifstream(file) >> json;
        json[key] = value;
        std::ofstream(file) << json.dump();
    };
    change("llm", "hidden_act", "gelu");
    VERGENCE_THROWS(InputError, "`silu`", llmOfFolder(scratch / "llm"));
    change("vit", "use_swiglu_ffn", true);
    VERGENCE_THROWS(InputError, "use_swiglu_ffn", vitOfFolder(scratch / "vit"));
    change("vit", "use_swiglu_ffn", false);
    change("vit", "hidden_act", "gelu_new");
    VERGENCE_THROWS(InputError, "erf-GELU", vitOfFolder(scratch / "vit"));
}

VERGENCE_TEST(TestFvlmWeights)
#include "tst_fvlm_weights.moc"
