#include <QTemporaryDir>
#include <QTest>

#include "core/base/file.h"
#include "plugins/sugar/io/synthetic_scene.h"
#include "plugins/sugar/pipeline/inspection.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
namespace fs = std::filesystem;

/// What is said of a scene before anything is learnt from it.
class SugarInspectionTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        m_root = m_folder->path().toStdString();
        m_scene = syntheticScene({40, 30, false, 1});
        m_scene.views.resize(5);
        m_scene.points.resize(1'212);
    }
    void builtInSceneIsNoData() { QVERIFY(inspectedScene({}).key.empty()); }
    void wholeSceneIsOneLine()
    {
        const auto summaryOf = [this](SceneFormat format, const char* name) {
            writeScene(m_root / name, m_scene, format);
            const DataReport report = inspectedScene(configOf(m_root / name));
            return report.issues.empty() && report.key == "scene" ? report.summary : "";
        };
        const char* const colmap = "COLMAP, 5 images, 1 camera, 1,212 points";
        QCOMPARE(summaryOf(SceneFormat::ColmapText, "text"), colmap);
        QCOMPARE(summaryOf(SceneFormat::ColmapBinary, "binary"), colmap);
        QCOMPARE(summaryOf(SceneFormat::TransformsJson, "json"),
                 "transforms.json, 5 images, 1 camera, 1,212 points");
    }
    void damagedLinesAreErrorsUnlessTheyAreSkipped()
    {
        writeText();
        spoil("images.txt", 4);     // the first image
        spoil("points3D.txt", 100); // and a point
        const DataReport stopped = inspectedScene(configOf(m_root));
        QCOMPARE(stopped.summary, "COLMAP, 4 of 5 images, 1 camera, 1,211 points");
        QCOMPARE(stopped.remedy, "damaged_lines=skip");
        QCOMPARE(stopped.issues.size(), 2u);
        QVERIFY(hasErrors(stopped.issues));
        QVERIFY(stopped.issues[0].text().starts_with("sparse/0/images.txt line 4: \"oops\" is no"));
        QVERIFY(stopped.issues[1].text().starts_with("sparse/0/points3D.txt line 100: "));

        SugarConfig config = configOf(m_root);
        config.damagedLines = "skip";
        const DataReport skipped = inspectedScene(config);
        QCOMPARE(skipped.summary, stopped.summary);
        QVERIFY(skipped.remedy.empty());
        QCOMPARE(skipped.issues.size(), 2u);
        QVERIFY(!hasErrors(skipped.issues));
    }
    void manyDamagedLinesAreCounted()
    {
        writeText();
        for (int line = 10; line < 40; ++line)
            spoil("points3D.txt", line);
        const DataReport report = inspectedScene(configOf(m_root));
        QCOMPARE(report.issues.size(), 21u);
        QCOMPARE(report.issues.back().sentence, "10 further lines cannot be read either.");
    }
    void missingPhotographsAreNamed()
    {
        writeText();
        fs::remove(m_root / "images" / m_scene.views[1].name);
        const DataReport one = inspectedScene(configOf(m_root));
        QCOMPARE(one.issues.size(), 1u);
        QCOMPARE(one.issues[0].rule, "E-MISSING");
        QVERIFY(one.issues[0].severity == IssueSeverity::Warning);
        QCOMPARE(one.issues[0].sentence,
                 "1 of 5 photographs is missing and left out: " + m_scene.views[1].name + ".");
        QCOMPARE(one.summary, "COLMAP, 4 of 5 images, 1 camera, 1,212 points");

        fs::remove_all(m_root / "images");
        const DataReport all = inspectedScene(configOf(m_root));
        QCOMPARE(all.issues.size(), 1u);
        QCOMPARE(all.issues[0].rule, "E-MISSING");
        QVERIFY(hasErrors(all.issues));
        QVERIFY(all.issues[0].sentence.find("None of the 5 photographs") != std::string::npos);
    }
    void brokenPhotographIsAWarning()
    {
        writeText();
        writeFileAtomic(m_root / "images" / m_scene.views[2].name, std::string_view("no picture"));
        const DataReport report = inspectedScene(configOf(m_root));
        QCOMPARE(report.issues.size(), 1u);
        QCOMPARE(report.issues[0].rule, "E-DATA");
        QVERIFY(!hasErrors(report.issues));
        QCOMPARE(report.summary, "COLMAP, 4 of 5 images, 1 camera, 1,212 points");
    }
    void tornModelIsAnErrorWithoutRemedy()
    {
        writeScene(m_root, m_scene, SceneFormat::ColmapBinary);
        fs::resize_file(m_root / "sparse/0/images.bin", 100);
        const DataReport report = inspectedScene(configOf(m_root));
        QCOMPARE(report.key, "scene");
        QVERIFY(report.summary.empty() && report.remedy.empty());
        QCOMPARE(report.issues.size(), 1u);
        QCOMPARE(report.issues[0].rule, "E-DATA");
        QVERIFY(report.issues[0].sentence.find("images.bin") != std::string::npos);
    }

private:
    static SugarConfig configOf(const fs::path& scene)
    {
        SugarConfig config;
        config.scene = scene;
        return config;
    }
    void writeText() const { writeScene(m_root, m_scene, SceneFormat::ColmapText); }
    /// Replaces the second field of a line, counted from 1.
    void spoil(const char* name, int number) const
    {
        const fs::path file = m_root / "sparse/0" / name;
        QStringList lines = QString::fromStdString(readFile(file)).split('\n');
        QStringList fields = lines[number - 1].split(' ');
        fields[1] = "oops";
        lines[number - 1] = fields.join(' ');
        writeFileAtomic(file, lines.join('\n').toStdString());
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    fs::path m_root;
    Scene m_scene;
};

VERGENCE_TEST(SugarInspectionTest)
#include "tst_sugar_inspection.moc"
