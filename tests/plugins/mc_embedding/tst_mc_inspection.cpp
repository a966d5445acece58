#include <fstream>
#include <functional>
#include <numeric>

#include <nlohmann/json.hpp>

#include "core/artifact/safetensors.h"
#include "plugins/mc_embedding/study/inspection.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;
namespace fs = std::filesystem;

/// Folders of weights whose config.json is right, wrong, or of another model: before a run, in
/// `validate`, and when a run is started.
class TestMcInspection : public test::CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void noFolderIsNoData()
    {
        QVERIFY(inspectedModels({}).key.empty());
        QVERIFY(inspectedModels({}).issues.empty());
    }

    void folderIsOneLine()
    {
        const DataReport report = inspectedModels(configOf(folderWith("quick_gelu")));
        QCOMPARE(report.key, std::string("folder_clip_b32"));
        QCOMPARE(report.summary,
                 std::string("clip_b32: transformers layout, pictures of 224 px, quick_gelu"));
        QVERIFY(report.issues.empty());
    }

    /// As OpenCLIP's checkpoints in this layout say.
    void otherActivationIsSaid()
    {
        const DataReport report = inspectedModels(configOf(folderWith("gelu")));
        QVERIFY(report.summary.ends_with("gelu"));
        QCOMPARE(report.issues.size(), std::size_t{1});
        QVERIFY(report.issues[0].severity == IssueSeverity::Note);
        QVERIFY(report.issues[0].sentence.find("activation is gelu") != std::string::npos);
        QVERIFY(!hasErrors(report.issues));
    }

    void contradictionsAreErrors()
    {
        McEmbeddingConfig config = configOf(folderWith("relu"));
        config.models = {"clip_b32", "tiny_clip"}; // also where another model could be measured
        const DataReport report = inspectedModels(config);
        QVERIFY(hasErrors(report.issues));
        QCOMPARE(report.issues[0].key, std::string("folder_clip_b32"));
        QVERIFY(report.issues[0].sentence.find("`hidden_act` is relu") != std::string::npos);
    }

    void otherWeightsAreWarningsUntilNothingIsLeft()
    {
        McEmbeddingConfig config;
        config.models = {"clip_l14", "tiny_clip"};
        config.folderClipL14 = folderWith("quick_gelu");
        DataReport report = inspectedModels(config);
        QCOMPARE(report.issues.size(), std::size_t{1});
        QVERIFY(report.issues[0].severity == IssueSeverity::Warning);
        QVERIFY(report.issues[0].sentence.find("clip_l14 will be left out: ") == 0);
        config.models = {"clip_l14"};
        report = inspectedModels(config);
        QVERIFY(hasErrors(report.issues));
    }

    void validateAndRunEndWithSix_data()
    {
        QTest::addColumn<QString>("command");
        for (const char* command : {"validate", "run"})
            QTest::newRow(command) << command;
    }
    void validateAndRunEndWithSix()
    {
        QFETCH(QString, command);
        const fs::path folder = folderWith("relu");
        QStringList arguments{
            command,    "mc_embedding",
            "--preset", "demo",
            "--set",    R"(models=["clip_b32", "tiny_clip"])",
            "--set",    "folder_clip_b32=" + QString::fromStdString(folder.string()),
            "--set",    "folder=" + home()};
        if (command == "run")
            arguments += {"--device", "cpu", "--run-dir", path("run")};
        const test::Outcome outcome = vergence(arguments);
        QCOMPARE(outcome.code, 6);
        const QString said = outcome.out + outcome.err;
        QVERIFY2(said.contains("config.json, vision_config: `hidden_act` is relu; the lab computes "
                               "quick_gelu, gelu and gelu_pytorch_tanh."),
                 qPrintable(said));
    }

private:
    static McEmbeddingConfig configOf(const fs::path& folder)
    {
        McEmbeddingConfig config;
        config.models = {"clip_b32"};
        config.folderClipB32 = folder;
        return config;
    }

    /// Names and shapes that tell CLIP B/32, and a config.json with this activation.
    fs::path folderWith(const std::string& activation) const
    {
        const fs::path folder = path("weights").toStdString();
        fs::create_directories(folder);
        const std::vector<float> values(std::size_t{768} * 3 * 32 * 32);
        const auto tensor = [&](const std::string& name, const std::vector<Index>& shape) {
            return HostTensor::from<float>(
                name, shape,
                std::span(values).first(static_cast<std::size_t>(
                    std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>()))));
        };
        const std::string model = "vision_model.";
        writeSafetensors(folder / "model.safetensors",
                         {tensor(model + "embeddings.patch_embedding.weight", {768, 3, 32, 32}),
                          tensor(model + "embeddings.class_embedding", {768}),
                          tensor(model + "embeddings.position_embedding.weight", {50, 768}),
                          tensor(model + "encoder.layers.11.mlp.fc2.bias", {768})});
        const nlohmann::json config{{"model_type", "clip"},
                                    {"vision_config", {{"hidden_act", activation}}}};
        std::ofstream(folder / "config.json") << config.dump();
        return folder;
    }
};

VERGENCE_TEST(TestMcInspection)
#include "tst_mc_inspection.moc"
