#include <algorithm>
#include <filesystem>

#include <QTest>

#include "core/base/file.h"
#include "core/config/config.h"
#include "plugins/foveated_vlm/foveated_vlm_config.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

ConfigBuilder::Result built(const QStringList& assignments)
{
    ConfigBuilder builder(foveatedVlmSchema());
    for (const QString& assignment : assignments)
        builder.addAssignment(assignment.toStdString());
    return builder.build();
}

} // namespace

/// Schema, rules and presets of the foveated VLM trainer.
class TestFvlmConfig : public QObject {
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
            std::filesystem::path(VERGENCE_SOURCE_DIR) / "resources/presets/foveated_vlm";
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            ConfigBuilder builder(foveatedVlmSchema());
            builder.addToml(readFile(entry.path()), entry.path().filename().string());
            const auto result = builder.build();
            for (const ConfigIssue& issue : result.issues)
                QVERIFY2(issue.severity != IssueSeverity::Error,
                         (entry.path().filename().string() + ": " + issue.sentence).c_str());
            ++count;
        }
        QVERIFY(count >= 19);
    }

    void lengthFollowsFromEitherKey()
    {
        FoveatedVlmConfig config;
        config.batch = 10;
        config.microSteps = 50;
        config.samples = 0;
        QCOMPARE(config.totalMicroSteps(), std::int64_t(50));
        config.microSteps = 0;
        config.samples = 101;
        QCOMPARE(config.totalMicroSteps(), std::int64_t(11));
    }

    /// A run whose length is in samples presents them, or says that it may not.
    void batchesThatAreCutAreTold()
    {
        const auto isTold = [](const ConfigBuilder::Result& result) {
            return std::ranges::any_of(
                result.issues, [](const ConfigIssue& issue) { return issue.key == "samples"; });
        };
        QVERIFY(!isTold(built({"batch=4", "frames=64"})));
        QVERIFY(isTold(built({"batch=8", "frames=64"})));
        QVERIFY(!isTold(built({"batch=8", "frames=64", "samples=0", "micro_steps=9"})));
        for (const char* preset : {"release-1", "release-2", "release-3", "demo-ask"}) {
            const std::filesystem::path file = std::filesystem::path(VERGENCE_SOURCE_DIR) /
                                               "resources/presets/foveated_vlm" /
                                               (std::string(preset) + ".toml");
            ConfigBuilder builder(foveatedVlmSchema());
            builder.addToml(readFile(file), preset);
            QVERIFY2(!isTold(builder.build()), preset);
        }
    }

    void contradictionsAreTold_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::addColumn<QString>("key");
        QTest::newRow("unknown encoder") << QStringList{"vit=dinov3"} << "vit";
        QTest::newRow("unknown language model") << QStringList{"llm=gpt"} << "llm";
        QTest::newRow("weights without a folder") << QStringList{"weights=hf_dir"} << "vit";
        QTest::newRow("checkpoint is not there")
            << QStringList{"weights=checkpoint", "checkpoint=/no/such/file"} << "checkpoint";
        QTest::newRow("no frames") << QStringList{"frames=0"} << "frames";
        QTest::newRow("batch above the clips")
            << QStringList{"clip_count=4", "batch=8", "max_epochs=1e6"} << "batch";
        QTest::newRow("both lengths") << QStringList{"micro_steps=5", "samples=5"} << "micro_steps";
        QTest::newRow("neither length")
            << QStringList{"micro_steps=0", "samples=0"} << "micro_steps";
        QTest::newRow("too many epochs")
            << QStringList{"clip_count=813", "samples=500000"} << "max_epochs";
        QTest::newRow("clips are not there") << QStringList{"clips=/no/such/folder"} << "clips";
        QTest::newRow("captions are not there")
            << QStringList{"captions=/no/such/file"} << "captions";
        QTest::newRow("text of clips without text") << QStringList{"task=next"} << "task";
        QTest::newRow("latents without a path")
            << QStringList{"variant=A", "task=next", "latents=vae"} << "latents_path";
        QTest::newRow("latents of drawn clips")
            << QStringList{"variant=A", "task=next", "latents=file"} << "latents";
        QTest::newRow("no next frame")
            << QStringList{"variant=A", "task=next", "frames=1"} << "frames";
        QTest::newRow("nothing learns")
            << QStringList{"freeze_vit=true", "freeze_llm=true", "lr_connector=0"}
            << "lr_connector";
        QTest::newRow("text alone without text")
            << QStringList{"variant=A", "task=next", "text_only=0.2"} << "text_only";
        QTest::newRow("text alone without preferences")
            << QStringList{"variant=dpo", "text_only=0.2"} << "text_only";
        QTest::newRow("preferences of one look")
            << QStringList{"variant=dpo", "control=coarse_only"} << "control";
        QTest::newRow("control of preferences beside")
            << QStringList{"variant=dpo", "control=beside"} << "control";
        QTest::newRow("no matched control among the controls")
            << QStringList{"control=beside", "control_tokens=[4]"} << "control_tokens";
        QTest::newRow("the same control twice")
            << QStringList{"control=beside", "control_tokens=[1, 1]"} << "control_tokens";
        QTest::newRow("many tokens of a clip")
            << QStringList{"control=beside", "control_tokens=[1, 4]", "task=sign"}
            << "control_tokens";
        QTest::newRow("two controls")
            << QStringList{"control=beside", "compare_with=/"} << "compare_with";
        QTest::newRow("more cells than pixels")
            << QStringList{"task=cell", "cells=33", "size=64"} << "cells";
        QTest::newRow("cells too small for letters")
            << QStringList{"task=letter", "cells=10", "size=64"} << "cells";
        QTest::newRow("cells too small for signs")
            << QStringList{"task=sign", "cells=17", "size=64"} << "cells";
        QTest::newRow("cells without words") << QStringList{"task=cell", "variant=A"} << "task";
        QTest::newRow("no prompt to ask with")
            << QStringList{"first_query=prompt"} << "first_query";
        QTest::newRow("the prompt comes last")
            << QStringList{"first_query=prompt", "order=prompt_frames_answer", "variant=joint"}
            << "first_query";
        QTest::newRow("control is not there")
            << QStringList{"compare_with=/no/such/run"} << "compare_with";
    }

    void contradictionsAreTold()
    {
        QFETCH(QStringList, assignments);
        QFETCH(QString, key);
        const auto result = built(assignments);
        const auto isMeant = [&](const ConfigIssue& issue) {
            return issue.severity == IssueSeverity::Error && issue.key == key.toStdString();
        };
        QVERIFY(std::any_of(result.issues.begin(), result.issues.end(), isMeant));
    }
};

VERGENCE_TEST(TestFvlmConfig)
#include "tst_fvlm_config.moc"
