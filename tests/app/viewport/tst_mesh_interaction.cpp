#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QToolButton>

#include "tests/app/viewport/mesh_view_bench.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// What keys, clicks, choices and streams do to a mesh.
class MeshInteractionTest : public test::MeshViewBench {
    Q_OBJECT
private Q_SLOTS:
    void twoClicksMeasure();
    void keysMoveTheCamera();
    void keysChooseWhatIsShown();
    void anotherUpTurnsTheView();
    void aNewVersionKeepsTheCamera();
    void severalMeshesCanBeChosen();
    void damageIsSaidInsteadOfAPicture();
    void meshesStandBesideStreams();
    void otherWindowsKeepTheMesh();
};

void MeshInteractionTest::twoClicksMeasure()
{
    openBox();
    press(Qt::Key_1, Qt::KeypadModifier);
    const QPoint middle = viewport()->rect().center();
    QTest::mouseClick(viewport(), Qt::LeftButton, {}, middle);
    QVERIFY(scene().measured().empty()); // not before it was asked for
    const QImage before = grab();
    press(Qt::Key_M);
    QTest::mouseClick(viewport(), Qt::LeftButton, {}, middle);
    QTest::mouseClick(viewport(), Qt::LeftButton, {}, middle + QPoint(0, 40));
    QCOMPARE(scene().measured().size(), std::size_t{2});
    const auto& points = scene().measured();
    for (const QVector3D& point : points)
        QVERIFY(qAbs(point.z() - 2) < 1e-3F); // on the front, which is at z = 2
    const float expected = 40.0F * (scene().camera().eye().z() - 2) /
                           static_cast<float>(scene().camera().focal * viewport()->height());
    QVERIFY(qAbs((points[1] - points[0]).length() - expected) < 1e-3F);
    QVERIFY(grab() != before);
    press(Qt::Key_Escape);
    QVERIFY(!scene().settings().measures);
    QTRY_VERIFY(grab() == before);
}

void MeshInteractionTest::keysMoveTheCamera()
{
    openBox();
    const QImage home = grab();
    drag({80, 20});
    const QImage turned = grab();
    QVERIFY(turned != home);
    press(Qt::Key_Plus);
    QVERIFY(covered(grab()) > covered(turned));
    press(Qt::Key_F);
    const QImage fitted = grab();
    QVERIFY(fitted != home); // the direction stays
    press(Qt::Key_Plus);
    QVERIFY(grab() != fitted);
    press(Qt::Key_F);
    QVERIFY(grab() == fitted);
    press(Qt::Key_Home);
    QVERIFY(grab() == home);
    QTest::keyPress(viewport(), Qt::Key_W);
    QTRY_VERIFY(covered(grab()) > covered(home));
    QTest::keyRelease(viewport(), Qt::Key_W);
    press(Qt::Key_Home);
    const QPoint off = viewport()->rect().center() + QPoint(30, 10);
    QTest::mouseDClick(viewport(), Qt::LeftButton, {}, off);
    QVERIFY(grab() != home);
    find<QToolButton>("fitButton")->click();
    QVERIFY(grab() == home); // the direction had stayed
}

void MeshInteractionTest::keysChooseWhatIsShown()
{
    openBox();
    std::vector<QImage> seen;
    for (const int shading : {1, 2, 3, 5, 6, 7}) { // 4: the file has no vertex colours
        press(Qt::Key_0 + shading);
        QCOMPARE(static_cast<int>(scene().settings().shading), shading - 1);
        QCOMPARE(find<QComboBox>("meshShadingCombo")->currentIndex(), shading - 1);
        seen.push_back(grab());
    }
    press(Qt::Key_4);
    QVERIFY(scene().settings().shading == MeshShading::Checker);
    for (std::size_t i = 0; i < seen.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) // a box is as smooth as it is flat
            QVERIFY2(seen[i] != seen[k] || (i == 1 && k == 0),
                     qPrintable(QStringLiteral("%1 and %2").arg(i).arg(k)));
}

void MeshInteractionTest::anotherUpTurnsTheView()
{
    openBox();
    const QImage upright = grab();
    auto* combo = find<QComboBox>("meshUpCombo");
    combo->setCurrentIndex(combo->findData(3)); // +z
    Q_EMIT combo->activated(combo->currentIndex());
    QVERIFY(scene().up() == QVector3D(0, 0, 1));
    QVERIFY(grab() != upright);
    QVERIFY(QVector3D::dotProduct(scene().camera().axis(1), {0, 0, 1}) < -0.5F);
}

void MeshInteractionTest::aNewVersionKeepsTheCamera()
{
    openBox();
    drag({100, 10});
    const auto camera = scene().camera().viewToWorld;
    QSignalSpy arrived(&scene(), &MeshScene::meshChanged);
    m_panel->setMeshes({make("cube.glb", test::boxGlb(5).bytes(), "2")});
    QVERIFY(arrived.wait());
    QCOMPARE(scene().mesh()->triangleCount(), std::size_t{10});
    QVERIFY(scene().camera().viewToWorld == camera);
    QVERIFY(covered(grab()) > 1000);
}

void MeshInteractionTest::severalMeshesCanBeChosen()
{
    const MeshChoice glb = make("cube.glb", test::boxGlb().bytes()),
                     ply = make("cube.ply", test::boxPly("ascii"));
    m_panel->setMeshes({glb, ply});
    QTRY_VERIFY(scene().mesh());
    auto* combo = find<QComboBox>("meshCombo");
    QVERIFY(combo->isVisible());
    QCOMPARE(combo->count(), 2);
    combo->setCurrentIndex(1);
    Q_EMIT combo->activated(1);
    QTRY_COMPARE(scene().mesh()->name, QStringLiteral("cube.ply"));
    QVERIFY(find<QLabel>("viewStatus")->text().contains("12 triangles"));
    m_panel->setMeshes({ply});
    QVERIFY(!combo->isVisible());
}

void MeshInteractionTest::damageIsSaidInsteadOfAPicture()
{
    QSignalSpy problems(m_panel.get(), &ViewPanel::problemFound);
    m_panel->setMeshes({make("bad.glb", "glTF and nothing")});
    QVERIFY(problems.wait());
    auto* message = find<QLabel>("viewMessage");
    QVERIFY(message->isVisible());
    QVERIFY(message->text().startsWith("bad.glb"));
    m_panel->setMeshes({make("bad.glb", test::boxGlb().bytes(), "2")});
    QTRY_VERIFY(viewport()->isVisible());
    QVERIFY(covered(grab()) > 1000);
}

void MeshInteractionTest::meshesStandBesideStreams()
{
    m_panel->setStreams(test::labStreams());
    m_panel->setFrame(test::makePlain("eye_view", 2, 2, {200, 0, 0}));
    QTRY_VERIFY(viewport()->isVisible());
    auto* modes = find<QComboBox>("viewModeCombo");
    QVERIFY(modes->findText("Mesh") < 0);
    m_panel->setMeshes({make("cube.glb", test::boxGlb().bytes())});
    QVERIFY(modes->findText("Mesh") >= 0);
    QCOMPARE(middle(), QColor(200, 0, 0)); // nobody asked for the mesh
    QVERIFY(!scene().mesh() && !scene().isLoading());
    modes->setCurrentIndex(modes->findText("Mesh"));
    Q_EMIT modes->activated(modes->currentIndex());
    QTRY_VERIFY(scene().mesh());
    QVERIFY(m_panel->visibleStreams().empty());
    QVERIFY(middle() != QColor(200, 0, 0));
    modes->setCurrentIndex(modes->findText("Image"));
    Q_EMIT modes->activated(modes->currentIndex());
    QCOMPARE(middle(), QColor(200, 0, 0));
}

void MeshInteractionTest::otherWindowsKeepTheMesh()
{
    openBox();
    const int before = covered(grab());
    m_panel->hide();
    auto window = std::make_unique<QWidget>();
    m_panel->setParent(window.get());
    window->resize(m_panel->size());
    window->show();
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowExposed(window.get()));
    QTRY_VERIFY(viewport()->isVisible());
    QCOMPARE(canvas().contextCount(), 1);
    QVERIFY(qAbs(covered(grab()) - before) < before / 10);
    m_panel->setParent(nullptr);
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    QCOMPARE(canvas().contextCount(), 1);
    QVERIFY(qAbs(covered(grab()) - before) < before / 10);
}

VERGENCE_WINDOW_TEST(MeshInteractionTest)
#include "tst_mesh_interaction.moc"
