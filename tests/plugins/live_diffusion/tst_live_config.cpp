#include <algorithm>
#include <filesystem>

#include <QTest>

#include "core/base/file.h"
#include "core/config/config.h"
#include "plugins/live_diffusion/live_diffusion_config.h"
#include "plugins/live_diffusion/session/settings.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::live;

namespace {

ConfigBuilder::Result built(const QStringList& assignments)
{
    ConfigBuilder builder(liveDiffusionSchema());
    for (const QString& assignment : assignments)
        builder.addAssignment(assignment.toStdString());
    return builder.build();
}

bool hasError(const ConfigBuilder::Result& result, const std::string& key)
{
    return std::ranges::any_of(result.issues, [&](const ConfigIssue& issue) {
        return issue.severity == IssueSeverity::Error && issue.key == key;
    });
}

} // namespace

/// Schema, rules and presets of the live-stream diffusion lab.
class TestLiveConfig : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void defaultsAreValid()
    {
        const auto result = built({});
        for (const ConfigIssue& issue : result.issues)
            QVERIFY2(issue.severity != IssueSeverity::Error, issue.sentence.c_str());
    }

    void presetsAreValid()
    {
        const std::filesystem::path folder =
            std::filesystem::path(VERGENCE_SOURCE_DIR) / "resources/presets/live_diffusion";
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            ConfigBuilder builder(liveDiffusionSchema());
            builder.addToml(readFile(entry.path()), entry.path().filename().string());
            const auto result = builder.build();
            for (const ConfigIssue& issue : result.issues)
                QVERIFY2(issue.severity != IssueSeverity::Error,
                         (entry.path().filename().string() + ": " + issue.sentence).c_str());
            ++count;
        }
        QCOMPARE(count, 19);
    }

    void whatCannotBeIsNamed_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::addColumn<QString>("key");
        const auto row = [](const char* name, const QStringList& assignments, const char* key) {
            QTest::newRow(name) << assignments << QString(key);
        };
        row("part that is not there", {"parts=[\"dance\"]"}, "parts");
        row("part twice", {"parts=[\"stream\", \"stream\"]"}, "parts");
        row("replica that streams", {"network=replica_a"}, "parts");
        row("oracle with weights", {"network=oracle", "parts=[\"onnx\"]"}, "parts");
        row("drift of random weights", {"weights=bench", "model_size=s", "parts=[\"drift\"]"},
            "parts");
        row("frame beside the grid", {"frame_size=100"}, "frame_size");
        row("frame below the grid", {"model_size=s", "frame_size=32", "weights=bench"},
            "frame_size");
        row("weights of another size", {"model_size=s"}, "weights");
        row("nothing trained", {"weights=trained"}, "weights");
        row("file that is not there", {"weights=file", "weights_file=/nowhere.safetensors"},
            "weights_file");
        row("file without a name", {"weights=file"}, "weights_file");
        row("shipped weights predict v", {"prediction=epsilon"}, "prediction");
        row("twin of Pico", {"misaligned=true", "weights=bench"}, "model_size");
        row("warm-up without end", {"parts=[\"train\"]", "train_updates=60"}, "warmup");
        row("no steps", {"steps=0"}, "steps");
        row("more steps than times", {"strength=0.001", "steps=2"}, "steps");
        row("opset that is not written", {"onnx_opset=18"}, "onnx_opset");
        row("noise that says nothing",
            {"network=oracle", "prediction=epsilon", "zero_terminal_snr=true", "strength=1"},
            "prediction");
    }
    void whatCannotBeIsNamed()
    {
        QFETCH(QStringList, assignments);
        QFETCH(QString, key);
        QVERIFY(hasError(built(assignments), key.toStdString()));
    }

    void whatJustFitsIsAllowed()
    {
        QVERIFY(built({"strength=0.002", "steps=2"}).config);
        QVERIFY(built({"strength=0.001", "steps=2", "sampler=turbo"}).config);
        const QStringList epsilon{"network=oracle", "prediction=epsilon"};
        QVERIFY(built(epsilon + QStringList{"strength=1"}).config);
        QVERIFY(built(epsilon + QStringList{"strength=0.99", "zero_terminal_snr=true"}).config);
    }

    void ownWeightsAreJudgedOnOtherFilms_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::addColumn<bool>("isLearnt");
        QTest::newRow("trained here")
            << QStringList{"weights=trained", "parts=[\"train\", \"stream\", \"drift\"]"} << true;
        QTest::newRow("distilled here")
            << QStringList{"parts=[\"distill\", \"stream\", \"drift\"]"} << true;
        QTest::newRow("others are trained")
            << QStringList{"parts=[\"train\", \"stream\", \"drift\"]"} << false;
    }
    void ownWeightsAreJudgedOnOtherFilms()
    {
        QFETCH(QStringList, assignments);
        QFETCH(bool, isLearnt);
        // As many films to learn from as there may be.
        const auto result = built(assignments + QStringList{"train_clips=100000"});
        QVERIFY(result.config);
        const LiveDiffusionConfig config = readLiveDiffusionConfig(*result.config);
        for (const SceneSettings& shown : {sceneSettings(config), sourceSettings(config).scene}) {
            const auto film = std::int64_t{shown.seed} - static_cast<std::int64_t>(config.seed);
            QCOMPARE(film >= config.trainClips, isLearnt);
            QCOMPARE(film == 0, !isLearnt);
        }
    }

    /// Whether it can be read is no matter of the configuration; see LabInspector.
    void aMissingVideoIsNoMatterOfTheRules()
    {
        const auto result = built({"source=video", "path=/nowhere.mp4"});
        QVERIFY(result.config);
        for (const ConfigIssue& issue : result.issues)
            QVERIFY2(issue.key != "path", issue.sentence.c_str());
    }
};

VERGENCE_TEST(TestLiveConfig)
#include "tst_live_config.moc"
