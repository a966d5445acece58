#include <algorithm>
#include <filesystem>

#include <QTest>

#include "core/base/file.h"
#include "plugins/light_field/light_field_config.h"
#include "plugins/light_field/sweep.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::light_field;

namespace {

ConfigBuilder::Result build(const std::vector<std::string>& assignments,
                            const std::string& toml = {})
{
    ConfigBuilder builder(lightFieldSchema());
    if (!toml.empty())
        builder.addToml(toml, "preset");
    for (const auto& assignment : assignments)
        builder.addAssignment(assignment);
    return builder.build();
}

std::string presetText(const std::string& name)
{
    return readFile(std::filesystem::path(VERGENCE_SOURCE_DIR) / "resources/presets/light_field" /
                    (name + ".toml"));
}

} // namespace

/// Parameters of the light-field lab: defaults, presets, contradictions, items of a sweep.
class TestLightFieldConfig : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void defaultsAreTheDemo()
    {
        const auto result = build({});
        QVERIFY(result.config.has_value());
        QVERIFY(result.issues.empty());
        const LightFieldConfig config = readLightFieldConfig(*result.config);
        QCOMPARE(config.boards, (std::vector<int>{26, 32, 38, 44, 52, 60}));
        const auto items = sweepItems(config, *result.config);
        const Optics optics = opticsOf(config, items.front().scene);
        QCOMPARE(optics.focalLengths.size(), std::size_t(8));
        QVERIFY(std::abs(optics.focalLengths.front() - 40.645) < 1e-3);
        QVERIFY(std::abs(optics.focalLengths.back() - 33.521) < 1e-3);
        const auto states = trainingStates(eyeStatesOf(config, items.front().scene));
        QCOMPARE(states.size(), std::size_t(3));
        QVERIFY(std::abs(states.front().accommodation - 1000.0 / 150) < 1e-9);
        QVERIFY(std::abs(states.back().accommodation - 5.0) < 1e-9);
    }

    void everyPresetIsValid_data()
    {
        QTest::addColumn<QString>("name");
        for (const auto& entry : std::filesystem::directory_iterator(
                 std::filesystem::path(VERGENCE_SOURCE_DIR) / "resources/presets/light_field"))
            QTest::newRow(entry.path().stem().c_str())
                << QString::fromStdString(entry.path().stem());
    }
    void everyPresetIsValid()
    {
        QFETCH(QString, name);
        const std::string text = presetText(name.toStdString());
        QVERIFY(text.rfind("# title: ", 0) == 0);
        const auto result = build({}, text);
        for (const auto& issue : result.issues)
            QVERIFY2(issue.severity != IssueSeverity::Error, issue.text().c_str());
        const LightFieldConfig config = readLightFieldConfig(*result.config);
        for (const SweepItem& item : sweepItems(config, *result.config))
            QCOMPARE(opticsOf(item.config, item.scene).planes(), item.config.planes);
    }

    void contradictionsAreNamed_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("rule");
        QTest::newRow("lenslets before the lens") << QStringList{"mla_z=40"} << "mla_z"
                                                  << "geometry";
        QTest::newRow("even lenslet count") << QStringList{"mla_count=50"} << "mla_count"
                                            << "geometry";
        QTest::newRow("more headroom than planes") << QStringList{"planes=4"} << "headroom"
                                                   << "geometry";
        QTest::newRow("eye in the sphere") << QStringList{"sphere_radius=300"} << "sphere_radius"
                                           << "geometry";
        QTest::newRow("collimating lenslets") << QStringList{"panel_gap=1"} << "panel_gap"
                                              << "plane_spacing";
        QTest::newRow("planes swapped") << QStringList{"depth_near=300"} << "depth_near"
                                        << "plane_spacing";
        QTest::newRow("too few focal lengths")
            << QStringList{"plane_spacing=list", "focal_lengths=[30.0]"} << "focal_lengths"
            << "plane_spacing";
        QTest::newRow("unknown scene")
            << QStringList{"sweep=scenes", "scenes=[\"nowhere\"]"} << "scenes"
            << "scene";
        QTest::newRow("not a number to sweep")
            << QStringList{"sweep=parameter", "sweep_key=solver"} << "sweep_key"
            << "scene";
        QTest::newRow("half a plane")
            << QStringList{"sweep=parameter", "sweep_values=[2.5]"} << "sweep_values"
            << "scene";
        QTest::newRow("no picture") << QStringList{"sweep=image"} << "color_image"
                                    << "scene";
        QTest::newRow("a picture in the seed profile")
            << QStringList{"profile=seed", "sweep=image"} << "sweep"
            << "profile";
        QTest::newRow("smooth planes by conjugate gradients")
            << QStringList{"solver=cg", "smoothness=0.01"} << "smoothness"
            << "solver";
        QTest::newRow("weights that SIRT cannot heed")
            << QStringList{"solver=os_sirt", "bg_weight=0.5"} << "bg_weight"
            << "solver";
        QTest::newRow("equal planes to blend between")
            << QStringList{"init=direct", "planes=2", "headroom=2", "plane_spacing=list",
                           "focal_lengths=[30.0, 30.0]"}
            << "focal_lengths"
            << "solver";
        QTest::newRow("planes all in one place")
            << QStringList{"solver=direct", "plane_spacing=linear", "focal_first=40",
                           "focal_last=40"}
            << "focal_last"
            << "solver";
        QTest::newRow("a sweep to more headroom than planes")
            << QStringList{"sweep=parameter", "sweep_key=headroom", "sweep_values=[2.0, 9.0]"}
            << "sweep_values"
            << "geometry";
        QTest::newRow("competitor in the seed profile")
            << QStringList{"profile=seed", "solver=direct"} << "solver"
            << "profile";
        QTest::newRow("blended texels in the seed profile")
            << QStringList{"profile=seed", "sampling=bilinear"} << "sampling"
            << "profile";
        QTest::newRow("absorbed light in the seed profile")
            << QStringList{"profile=seed", "missing_policy=absorb"} << "missing_policy"
            << "profile";
    }
    void contradictionsAreNamed()
    {
        QFETCH(QStringList, assignments);
        QFETCH(QString, key);
        QFETCH(QString, rule);
        std::vector<std::string> list;
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const auto result = build(list);
        QVERIFY(!result.config.has_value());
        const bool found =
            std::any_of(result.issues.begin(), result.issues.end(), [&](const ConfigIssue& issue) {
                return issue.key == key.toStdString() && issue.rule == rule.toStdString() &&
                       issue.severity == IssueSeverity::Error;
            });
        QVERIFY(found);
    }

    void policiesFollowTheProfile_data()
    {
        QTest::addColumn<QStringList>("assignments");
        QTest::addColumn<bool>("floors");
        QTest::addColumn<bool>("renormalises");
        QTest::newRow("physical") << QStringList{} << false << false;
        QTest::newRow("seed") << QStringList{"profile=seed"} << true << true;
        QTest::newRow("physical, nearest texels")
            << QStringList{"sampling=nearest_floor"} << true << false;
        QTest::newRow("physical, renormalised")
            << QStringList{"missing_policy=renormalise"} << false << true;
        QTest::newRow("physical, both named")
            << QStringList{"sampling=bilinear", "missing_policy=absorb"} << false << false;
        QTest::newRow("seed, both named")
            << QStringList{"profile=seed", "sampling=nearest_floor", "missing_policy=renormalise"}
            << true << true;
    }
    void policiesFollowTheProfile()
    {
        QFETCH(QStringList, assignments);
        QFETCH(bool, floors);
        QFETCH(bool, renormalises);
        std::vector<std::string> list;
        for (const QString& assignment : assignments)
            list.push_back(assignment.toStdString());
        const auto written = build(list);
        QVERIFY(written.config.has_value());
        const auto read = build({}, emitToml(*written.config));
        QVERIFY(read.config.has_value());
        for (const Config& config : {*written.config, *read.config}) {
            const LightFieldConfig c = readLightFieldConfig(config);
            const Optics optics = opticsOf(c, sweepItems(c, config).front().scene);
            QCOMPARE(optics.sampling == TexelSampling::NearestFloor, floors);
            QCOMPARE(optics.missing == MissingPolicy::Renormalise, renormalises);
        }
        QVERIFY(difference(*written.config, *read.config).empty());
    }

    void evaluationByThePatternOfTrainingIsWarnedOf()
    {
        QVERIFY(build({"eval_rays=64", "rays_per_pixel=16"}).issues.empty());
        const auto result = build({"eval_rays=16", "rays_per_pixel=16"});
        QVERIFY(result.config.has_value());
        QCOMPARE(result.issues.size(), std::size_t(1));
        QCOMPARE(result.issues.front().key, std::string("eval_rays"));
        QVERIFY(result.issues.front().severity == IssueSeverity::Warning);
    }

    /// Nothing in this lab is random, but files of earlier runs have one.
    void filesWithASeedAreRead() { QVERIFY(build({}, "[general]\nseed = 42\n").config); }

    void singleStateFitIsWarnedOf()
    {
        const auto result = build({"acc_count=1"});
        QVERIFY(result.config.has_value());
        QVERIFY(!result.issues.empty());
        QCOMPARE(QString::fromStdString(result.issues.front().sentence),
                 QString("Single-state fit: quality elsewhere is not constrained."));
    }

    void equalBoardsAreSolvedOnce()
    {
        const auto result = build({}, presetText("seed-a100"));
        const auto items = sweepItems(readLightFieldConfig(*result.config), *result.config);
        QCOMPARE(items.size(), std::size_t(18));
        QCOMPARE(std::count_if(items.begin(), items.end(),
                               [](const SweepItem& item) { return item.sameAs < 0; }),
                 std::ptrdiff_t(16));
        QCOMPARE(items[12].folder, std::string("n50"));
        QCOMPARE(items[static_cast<std::size_t>(items[12].sameAs)].folder, std::string("n48"));
    }

    void parameterSweepVariesOneKey()
    {
        const auto result = build({}, presetText("plane-count-study"));
        const auto items = sweepItems(readLightFieldConfig(*result.config), *result.config);
        QCOMPARE(items.size(), std::size_t(5));
        QCOMPARE(items[0].config.planes, 1);
        QCOMPARE(items[0].config.headroom, 1.0);
        QCOMPARE(items[4].config.planes, 12);
        QCOMPARE(items[4].config.headroom, 8.0);
        QCOMPARE(items[0].label, std::string("planes = 1 (headroom 1)"));
        QCOMPARE(items[4].label, std::string("planes = 12"));
        QCOMPARE(items[2].folder, std::string("planes-4"));
    }
};

VERGENCE_TEST(TestLightFieldConfig)
#include "tst_light_field_config.moc"
