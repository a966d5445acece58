#include <algorithm>
#include <filesystem>
#include <set>

#include <QTest>

#include "core/base/file.h"
#include "plugins/mc_embedding/mc_embedding_config.h"
#include "plugins/mc_embedding/study/plan.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

ConfigBuilder::Result built(const std::vector<std::string>& assignments)
{
    ConfigBuilder builder(mcEmbeddingSchema());
    for (const auto& assignment : assignments)
        builder.addAssignment(assignment);
    return builder.build();
}

McEmbeddingConfig demo()
{
    McEmbeddingConfig config;
    config.models = {"tiny_clip", "tiny_siglip"};
    config.experiment = {"exp0"};
    return config;
}

} // namespace

/// Schema, rules and plan of the MC embedding study.
class TestMcConfig : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void batchesAreWholeTiles()
    {
        for (const TowerShape& tower : modelZoo()) {
            if (tower.family == Family::ToyLinear) // has no products
                continue;
            for (const bool isCpu : {true, false}) {
                const BatchSize size = chosenBatch(McEmbeddingConfig{}, tower, isCpu, 64);
                const Index sequences = Index{size.images} * size.passes;
                QVERIFY2(sequences % sequencesPerTile(tower, isCpu) == 0, tower.key.c_str());
            }
        }
    }

    void contradictionsAreTold_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::addColumn<QString>("key");
        const QString demoModel = "models=[\"tiny_clip\"]";
        QTest::newRow("unknown model") << QStringList{"models=[\"clip_x\"]"} << "models";
        QTest::newRow("model twice")
            << QStringList{"models=[\"tiny_clip\", \"tiny_clip\"]"} << "models";
        QTest::newRow("unknown experiment")
            << QStringList{demoModel, "experiment=[\"exp99\"]"} << "experiment";
        QTest::newRow("unknown score") << QStringList{demoModel, "metrics=[\"size\"]"} << "metrics";
        QTest::newRow("judged model is not measured")
            << QStringList{demoModel, "exp5_models=[\"tiny_siglip\"]"} << "exp5_models";
        QTest::newRow("passes descend") << QStringList{demoModel, "passes=[16, 4]"} << "passes";
        QTest::newRow("no pictures") << QStringList{"models=[\"clip_b32\"]"} << "folder";
        QTest::newRow("folder is not there")
            << QStringList{demoModel, "folder=/no/such/folder"} << "folder";
        QTest::newRow("list without a file")
            << QStringList{demoModel, "sampling=manifest"} << "manifest";
        QTest::newRow("weights are not there")
            << QStringList{"models=[\"clip_b32\"]", "folder_clip_b32=/no/such/folder"}
            << "folder_clip_b32";
        QTest::newRow("sites without the placement")
            << QStringList{demoModel, "sites=[4]"} << "sites";
        QTest::newRow("placement without sites")
            << QStringList{demoModel, "placement=sites"} << "sites";
        QTest::newRow("branches without coins")
            << QStringList{demoModel, "kind=stochastic_depth"} << "kind";
        QTest::newRow("block that is not there")
            << QStringList{demoModel, "blocks=[77]"} << "placement";
        QTest::newRow("unknown degradation")
            << QStringList{demoModel, "degradations=[\"melt\"]"} << "degradations";
        QTest::newRow("template without a place")
            << QStringList{demoModel, "templates=[\"a photo\"]"} << "templates";
        QTest::newRow("exp1 with one rate")
            << QStringList{demoModel, "experiment=[\"exp1\"]", "exp1_rates=[0.1]"} << "exp1_rates";
        QTest::newRow("exp11 without masks")
            << QStringList{demoModel, "experiment=[\"exp11\"]", "kind=gaussian"} << "kind";
        QTest::newRow("unknown placement of exp3")
            << QStringList{demoModel, "exp3_placements=[\"mlp_only\", \"everywhere\"]"}
            << "exp3_placements";
        QTest::newRow("noise on attention probabilities")
            << QStringList{demoModel, "kind=gaussian", "extra_sites=[\"attention_probabilities\"]"}
            << "placement";
        QTest::newRow("noise on attention probabilities of one placement")
            << QStringList{demoModel, "kind=gaussian", "magnitude=0.1",
                           "compare_placements=[\"all_linear\", "
                           "\"all_linear+attention_probabilities\"]"}
            << "compare_placements";
        QTest::newRow("frames are not there")
            << QStringList{demoModel, "exp9_frames=/no/such/file"} << "exp9_frames";
    }
    void contradictionsAreTold()
    {
        QFETCH(QStringList, assignments);
        QFETCH(QString, key);
        std::vector<std::string> list;
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const auto result = built(list);
        QVERIFY(!result.config);
        const bool isTold =
            std::any_of(result.issues.begin(), result.issues.end(), [&](const ConfigIssue& issue) {
                return issue.severity == IssueSeverity::Error && issue.key == key.toStdString();
            });
        QVERIFY2(isTold, result.issues.front().text().c_str());
    }

    /// Said before anything is measured; exp3 would fail after the clean measurement.
    void placementOfExp3MustSuitItsKind_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::addColumn<QString>("told"); // empty: it suits
        const QString gaussian = "kind=gaussian", magnitude = "magnitude=0.1",
                      extra = "extra_sites=[\"after_activation\"]",
                      attention = "exp3_placements=[\"all_linear\", "
                                  "\"all_linear+attention_probabilities\"]",
                      depth = "exp3_placements=[\"mlp_only\", \"stochastic_depth\"]";
        QTest::newRow("noise on attention probabilities")
            << QStringList{gaussian, magnitude, attention}
            << "exp3_placements, all_linear+attention_probabilities: block 0 attention "
               "probabilities of tiny_clip takes dropout alone";
        QTest::newRow("coins on values") << QStringList{extra, depth}
                                         << "exp3_placements, stochastic_depth: block 0 after "
                                            "activation of tiny_clip takes dropout or noise";
        QTest::newRow("masks on attention probabilities") << QStringList{attention} << "";
        QTest::newRow("noise, and coins for branches")
            << QStringList{gaussian, magnitude, depth} << "";
        QTest::newRow("coins, and masks for values")
            << QStringList{"kind=stochastic_depth", "placement=stochastic_depth", depth} << "";
        QTest::newRow("only SigLIP has it")
            << QStringList{"exp3_placements=[\"all_linear\", \"siglip_transformers\"]"} << "";
    }
    void placementOfExp3MustSuitItsKind()
    {
        QFETCH(QStringList, assignments);
        QFETCH(QString, told);
        std::vector<std::string> list{"models=[\"tiny_clip\"]", "experiment=[\"exp3\"]"};
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const auto result = built(list);
        QCOMPARE(result.config.has_value(), told.isEmpty());
        QCOMPARE(result.issues.size(), std::size_t(told.isEmpty() ? 0 : 1));
        if (told.isEmpty())
            return;
        const ConfigIssue& issue = result.issues.front();
        QCOMPARE(issue.key, std::string("exp3_placements"));
        QVERIFY2(issue.sentence.starts_with(told.toStdString()), issue.sentence.c_str());
    }

    void modelWithoutWeightsIsAWarning()
    {
        const auto result =
            built({"models=[\"clip_b32\", \"tiny_clip\"]", "folder=" VERGENCE_SOURCE_DIR});
        QVERIFY(result.config);
        QCOMPARE(result.issues.size(), std::size_t(1));
        QVERIFY(result.issues.front().severity == IssueSeverity::Warning);
        QCOMPARE(result.issues.front().key, std::string("folder_clip_b32"));
    }

    void everyFieldHasHelp()
    {
        const ConfigSchema schema = mcEmbeddingSchema();
        for (const Field& field : schema.fields())
            QVERIFY2(field.help.size() > 20 && field.help.ends_with("."), field.key.c_str());
    }

    void presetsAreValidOncePicturesAreNamed()
    {
        const std::filesystem::path folder =
            std::filesystem::path(VERGENCE_SOURCE_DIR) / "resources/presets/mc_embedding";
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            const std::string text = readFile(entry.path());
            QVERIFY(text.starts_with("# title: "));
            QVERIFY(text.find("\n# summary: ") != std::string::npos);
            ConfigBuilder builder(mcEmbeddingSchema());
            builder.addToml(text, entry.path().filename().string());
            const bool isDemo =
                entry.path().stem() == "demo" || entry.path().stem() == "all_experiments";
            if (!isDemo) {
                QVERIFY2(!builder.build().config, entry.path().c_str());
                QVERIFY(text.find("Needs") != std::string::npos);
                builder.addAssignment(std::string("folder=") + VERGENCE_SOURCE_DIR);
            }
            // Numbers of certain pictures: a list is asked for, and taken from its front.
            static const std::set<std::string> kListed{"mnist_grid", "published_clip",
                                                       "published_siglip2"};
            if (kListed.contains(entry.path().stem().string())) {
                QVERIFY2(!builder.build().config, entry.path().c_str());
                builder.addAssignment("manifest=" VERGENCE_SOURCE_DIR "/README.md");
            }
            const auto result = builder.build();
            for (const auto& issue : result.issues)
                QVERIFY2(issue.severity != IssueSeverity::Error, issue.text().c_str());
            QVERIFY(!makePlan(readMcEmbeddingConfig(*result.config)).models.empty());
            ++count;
        }
        QCOMPARE(count, 14);
    }

    void experimentsShareTheirPasses()
    {
        McEmbeddingConfig config = demo();
        config.experiment = {"exp0", "exp0b", "exp4", "degradation"};
        config.degradations = {"blur5", "down4"};
        const StudyPlan plan = makePlan(config);
        QCOMPARE(plan.models.size(), std::size_t(2));
        const ModelPlan& model = plan.models.front();
        QCOMPARE(model.measurements.size(), std::size_t(3));
        QCOMPARE(model.measurements[0].degradation, std::string("none"));
        QCOMPARE(model.measurements[0].geometryTrials, 5);
        const auto& scores = model.measurements[0].scores;
        QVERIFY(std::find(scores.begin(), scores.end(), "angular_var") != scores.end());
        QCOMPARE(model.measurements[2].scores, std::vector<std::string>{"trace_pre"});
    }

    void phase1MeasuresExp5OnImagesOfItsOwn()
    {
        McEmbeddingConfig config = demo();
        config.experiment = {"phase1"};
        config.models = {"tiny_clip"};
        config.exp5Count = 5000;
        const StudyPlan plan = makePlan(config);
        QCOMPARE(plan.models.size(), std::size_t(2));
        QCOMPARE(plan.models[1].label, std::string("tiny_clip-exp5"));
        QVERIFY(!plan.models[0].judges && plan.models[1].judges);
        QCOMPARE(plan.models[1].measurements.front().images, 5000);
        QCOMPARE(plan.models[1].measurements.front().trials, 1);
        QCOMPARE(plan.models[1].measurements.front().passes, std::vector<int>{64});
        QCOMPARE(plan.images, 5000);
    }

    void variantsAreTheProductOfTheLists()
    {
        McEmbeddingConfig config = demo();
        config.comparePlacements = {"all_linear", "block_output+final_projection"};
        config.compareP = {0.01, 0.1};
        const auto variants = variantsOf(config);
        QCOMPARE(variants.size(), std::size_t(4));
        QCOMPARE(variants[3].suffix, std::string("-block_output+final_projection-p0.1"));
        QCOMPARE(variants[3].p, 0.1);
        QVERIFY(variants[3].placement.finalProjection && !variants[0].placement.finalProjection);
    }

    void blocksReachOverPassCountsAndTrials()
    {
        MeasurementPlan plan;
        plan.trials = 2;
        plan.passes = {4, 16};
        QCOMPARE(blocksOf(plan, {4, 8}, 8), std::int64_t(2 * 4));
        QCOMPARE(blocksOf(plan, {4, 3}, 5), std::int64_t(2 * 11));
        plan.trials = 0; // features alone
        QCOMPARE(blocksOf(plan, {4, 3}, 5), std::int64_t(2));
    }

    void sizesMustGiveTheModelsPatches_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("size");
        QTest::addColumn<bool>("fits");
        QTest::newRow("own") << "siglip2_so400m" << 384 << true;
        QTest::newRow("that of open_clip") << "siglip2_so400m" << 378 << true;
        QTest::newRow("a patch less") << "siglip2_so400m" << 377 << false;
        QTest::newRow("a patch more") << "siglip2_so400m" << 392 << false;
        QTest::newRow("tiny") << "tiny_clip" << 39 << true;
        QTest::newRow("toy") << "toy_linear" << 64 << false;
    }
    void sizesMustGiveTheModelsPatches()
    {
        QFETCH(QString, model);
        QFETCH(int, size);
        QFETCH(bool, fits);
        QCOMPARE(fitsSize(*towerShape(model.toStdString()), size), fits);
        const auto result = built({"models=[\"" + model.toStdString() + "\"]", "folder=/",
                                   "size=" + std::to_string(size)});
        const bool isTold =
            std::any_of(result.issues.begin(), result.issues.end(),
                        [](const ConfigIssue& issue) { return issue.key == "size"; });
        QCOMPARE(isTold, !fits);
    }
};

VERGENCE_TEST(TestMcConfig)
#include "tst_mc_config.moc"
