#include <QComboBox>
#include <QDropEvent>
#include <QFrame>
#include <QLabel>
#include <QMimeData>
#include <QTest>
#include <QToolButton>
#include <QUrl>

#include "app/viewport/mesh/mesh_scene.h"
#include "core/base/file.h"
#include "tests/app/scenarios/hands.h"
#include "tests/app/viewport/mesh_fixtures.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
using test::choose;

namespace {

/// Share of the pixels that are not background.
double coveredShare(const QImage& image)
{
    const QRgb background = image.pixel(2, 2);
    int count = 0;
    for (int y = 0; y < image.height(); y += 2)
        for (int x = 0; x < image.width(); x += 2)
            count += image.pixel(x, y) != background ? 1 : 0;
    return 4.0 * count / (image.width() * image.height());
}

/// A run that has ended, with meshes and stages in its manifest.
RunFolder finishedRun(const QString& at)
{
    const RunFolder folder = RunFolder::createAt(at.toStdString());
    writeFileAtomic(folder.config(), std::string_view("[run]\n"));
    RunStatus status;
    status.state = "Completed";
    status.plugin = "chaos";
    writeStatus(folder, status);
    std::filesystem::create_directories(folder.artifacts() / "mesh");
    const QString artifacts = QString::fromStdString(folder.artifacts().string());
    test::write(artifacts + "/mesh/coarse.ply", test::boxPly("ascii"));
    test::write(artifacts + "/mesh/refined.glb", test::boxGlb().bytes());
    writeFileAtomic(folder.manifest(),
                    std::string_view(R"({"format": "vergence-manifest/1", "artifacts": [
        {"path": "artifacts/mesh/coarse.ply", "role": "mesh", "title": "Coarse", "bytes": 900},
        {"path": "artifacts/mesh/refined.glb", "role": "mesh", "title": "Refined", "bytes": 9000},
        {"path": "artifacts/summary.txt", "role": "summary", "title": "Summary", "bytes": 9}],
        "tables": [{"id": "stages", "title": "Stages",
            "columns": ["stage", "state", "seconds", "note"],
            "rows": [["S0 Import", "reused", 0.4, "same photographs"],
                     ["S3 Gaussians", "done", 161, ""], ["S5 Mesh", "skipped", null, ""]]}]})"));
    return folder;
}

} // namespace

/// S16: I look at results in 3D. Here a mesh: the window draws it itself.
class TestMesh : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aFileIsOpenedAndLookedAtInEveryWay()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString path = GuiHarness::folder() + "/cube.glb";
        test::write(path, test::boxGlb().bytes());
        gui.window().openPath(path);
        ViewPanel* panel = gui.window().views().currentPanel();
        QVERIFY(panel != nullptr);
        QTRY_VERIFY(panel->meshes().mesh());
        auto* canvas = panel->findChild<QWidget*>("viewport");
        QVERIFY2(canvas != nullptr, "this scenario needs OpenGL 3.3");
        QTRY_VERIFY(canvas->isVisible());
        QTRY_VERIFY(coveredShare(panel->grabView()) > 0.05);
        gui.shoot("mesh_texture");

        const char* const names[] = {"smooth",  "flat",   "texture", "none",
                                     "normals", "matcap", "checker", "layout"};
        for (int digit = 1; digit <= 8; ++digit) {
            if (digit == 4) // the file has no colours of vertices
                continue;
            QTest::keyClick(canvas, static_cast<Qt::Key>(Qt::Key_0 + digit));
            QCOMPARE(static_cast<int>(panel->meshes().settings().shading), digit - 1);
            QVERIFY(coveredShare(panel->grabView()) > 0.05);
            gui.shoot(QString("mesh_%1").arg(names[digit - 1]));
        }
        QTest::keyClick(canvas, Qt::Key_3);
        const QImage home = panel->grabView();
        QTest::keyClick(canvas, Qt::Key_Left);
        QVERIFY(panel->grabView() != home);
        QTest::keyClick(canvas, Qt::Key_Home);
        QVERIFY(panel->grabView() == home);
        QTest::keyPress(canvas, Qt::Key_W);
        QTRY_VERIFY(coveredShare(panel->grabView()) > coveredShare(home) + 0.02);
        QTest::keyRelease(canvas, Qt::Key_W);
        QTest::keyClick(canvas, Qt::Key_F);
        QTRY_VERIFY(std::abs(coveredShare(panel->grabView()) - coveredShare(home)) < 0.02);

        // Opened again it is the same tab; the screenshot goes to the pictures.
        gui.window().openPath(path);
        QCOMPARE(gui.window().views().count(), 1);
        QVERIFY(gui.findAction("screenshot")->isEnabled());
        gui.window().views().setCurrentIndex(0);
        Q_EMIT gui.window().views().tabCloseRequested(0);
        QCOMPARE(gui.window().views().count(), 0);
        QVERIFY(!gui.findAction("screenshot")->isEnabled());
    }

    void aDroppedFileThatIsDamagedIsAProblem()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const QString path = GuiHarness::folder() + "/broken.glb";
        test::write(path, "glTF");
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(path)});
        QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton,
                              Qt::NoModifier);
        QCoreApplication::sendEvent(&gui.window(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&gui.window(), &drop);
        QTRY_COMPARE(gui.window().problems().rowCount(), 1);
        QVERIFY(gui.window().problems().problem(0).sentence.startsWith("broken.glb"));
        QCOMPARE(GuiHarness::visibleDialogs(), 0);
        QTRY_VERIFY(gui.textOf("viewMessage").startsWith("broken.glb"));
        gui.shoot("mesh_broken");
    }

    void filesOfGaussiansAreNoMeshWhereNoLabOpensThem()
    {
        ShellOptions options;
        options.isSafeMode = true;
        GuiHarness gui(options);
        const QString path = GuiHarness::folder() + "/splats.ply";
        test::write(path, test::splatPly());
        gui.window().openPath(path);
        QTRY_COMPARE(gui.window().problems().rowCount(), 1);
        QVERIFY(gui.window().problems().problem(0).sentence.contains("Gaussians"));
    }

    void aRunShowsItsMeshesAndStages()
    {
        GuiHarness gui;
        QVERIFY(gui.waitForPlugins());
        const RunFolder folder = finishedRun(GuiHarness::folder() + "/runs/meshed");
        const QString run = gui.window().runs().addFolder(folder);
        gui.window().openRun(run, false);
        auto* modes = gui.find<QComboBox>("viewModeCombo");
        QTRY_VERIFY(modes->findText("Mesh") >= 0);
        choose(*modes, "Mesh");
        ViewPanel& panel = gui.window().views().current()->panel();
        QTRY_VERIFY(panel.meshes().mesh());
        QCOMPARE(panel.meshes().mesh()->name, QString("refined.glb")); // before the PLY
        auto* files = gui.find<QComboBox>("meshCombo");
        QCOMPARE(files->count(), 2);
        choose(*files, "mesh/coarse.ply, Coarse");
        QTRY_COMPARE(panel.meshes().mesh()->name, QString("coarse.ply"));
        auto* strip = gui.find<QWidget>("runStageStrip");
        QVERIFY(strip != nullptr && strip->isVisible());
        QCOMPARE(strip->findChildren<QFrame*>("runStage").size(), 3);
        gui.shoot("mesh_of_run");
    }
};

VERGENCE_GUI_TEST(TestMesh)
#include "tst_s16_mesh.moc"
