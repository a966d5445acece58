#include <QComboBox>
#include <QLabel>
#include <QMouseEvent>
#include <QOpenGLContext>
#include <QOpenGLFunctions>
#include <QOpenGLVersionFunctionsFactory>
#include <QSignalSpy>
#include <QSlider>
#include <QTemporaryDir>
#include <QToolButton>
#include <QtTest>

#include "app/viewport/gl_viewport.h"
#include "app/viewport/mesh/mesh_buffers.h"
#include "app/viewport/mesh/mesh_overlay.h"
#include "app/viewport/mesh/mesh_renderer.h"
#include "app/viewport/view_panel.h"
#include "tests/app/viewport/mesh_fixtures.h"
#include "tests/app/viewport/synthetic_frames.h"
#include "tests/app/viewport/viewport_of.h"

using namespace vergence;

/// Needs a display with OpenGL 3.3; Mesa's software renderer under Xvfb will do.
class MeshViewTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup();

    void everyShadingShowsTheBox_data();
    void everyShadingShowsTheBox();
    void theTextureIsUprightAndUnlit();
    void vertexColoursAreShown();
    void theWireframeAddsLines();
    void theCheckerAlternates();
    void aCutRemovesPixels();
    void backsOfFacesAreTinted();
    void openEdgesAreMarked();
    void partsAreTinted();
    void theLayoutShowsThePictureAndItsTriangles();
    void twoClicksMeasure();
    void keysMoveTheCamera();
    void keysChooseWhatIsShown();
    void anotherUpTurnsTheView();
    void aNewVersionKeepsTheCamera();
    void severalMeshesCanBeChosen();
    void damageIsSaidInsteadOfAPicture();
    void meshesStandBesideStreams();
    void otherWindowsKeepTheMesh();
    void piecesReachTheCardOneByOne();
    void aLargeMeshGrowsBesideTheScreen_data();
    void aLargeMeshGrowsBesideTheScreen();

private:
    MeshChoice make(const QString& name, const QByteArray& bytes, const QString& version = "1");
    void open(const MeshChoice& choice);
    void openBox(std::size_t sides = 6) { open(make("cube.glb", test::boxGlb(sides).bytes())); }
    void edit(const std::function<void(MeshSettings&)>& change);
    QImage grab();
    QColor middle();
    /// Pixels that differ from the background in the corner.
    int covered(const QImage& image) const;
    static int countNear(const QImage& image, const QColor& colour, int tolerance = 24);
    void press(int key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(viewport(), static_cast<Qt::Key>(key), modifiers);
    }
    void drag(QPoint by);
    MeshScene& scene() { return const_cast<MeshScene&>(m_panel->meshes()); }
    QWidget* viewport() { return test::viewportOf(*m_panel); }
    template <class T>
    T* find(const char* name)
    {
        return m_panel->findChild<T*>(QLatin1String(name));
    }

    QTemporaryDir m_folder;
    std::unique_ptr<ViewPanel> m_panel;
};

void MeshViewTest::initTestCase()
{
    QPalette palette = QApplication::palette();
    palette.setColor(QPalette::Window, QColor(10, 12, 14));
    QApplication::setPalette(palette);
}

void MeshViewTest::init()
{
    m_panel = std::make_unique<ViewPanel>();
    m_panel->resize(640, 520);
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    QVERIFY2(viewport() != nullptr, "this test needs OpenGL 3.3");
}

void MeshViewTest::cleanup()
{
    if (viewport() != nullptr && test::glOf(*m_panel).context() != nullptr) {
        test::glOf(*m_panel).makeCurrent();
        QCOMPARE(test::glOf(*m_panel).context()->functions()->glGetError(), GLenum(GL_NO_ERROR));
        test::glOf(*m_panel).doneCurrent();
    }
    m_panel.reset();
}

MeshChoice MeshViewTest::make(const QString& name, const QByteArray& bytes, const QString& version)
{
    const QString path = m_folder.filePath(name);
    test::write(path, bytes);
    return {path.toStdString(), name, version};
}

void MeshViewTest::open(const MeshChoice& choice)
{
    m_panel->setMeshes({choice});
    QTRY_VERIFY(scene().mesh() && !scene().isLoading());
    QTRY_VERIFY(viewport()->isVisible());
}

void MeshViewTest::edit(const std::function<void(MeshSettings&)>& change)
{
    scene().edit(change);
}

QImage MeshViewTest::grab()
{
    QCoreApplication::processEvents();
    return m_panel->grabView();
}

QColor MeshViewTest::middle()
{
    const QImage image = grab();
    return image.pixelColor(image.rect().center());
}

int MeshViewTest::covered(const QImage& image) const
{
    const QRgb background = image.pixel(1, 1);
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            count += image.pixel(x, y) != background ? 1 : 0;
    return count;
}

int MeshViewTest::countNear(const QImage& image, const QColor& colour, int tolerance)
{
    int count = 0;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            const QColor at = image.pixelColor(x, y);
            count += qAbs(at.red() - colour.red()) <= tolerance &&
                             qAbs(at.green() - colour.green()) <= tolerance &&
                             qAbs(at.blue() - colour.blue()) <= tolerance
                         ? 1
                         : 0;
        }
    }
    return count;
}

void MeshViewTest::drag(QPoint by)
{
    const QPoint from = viewport()->rect().center(), to = from + by;
    QTest::mousePress(viewport(), Qt::LeftButton, {}, from);
    QMouseEvent move(QEvent::MouseMove, to, viewport()->mapToGlobal(to), Qt::NoButton,
                     Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(viewport(), &move);
    QTest::mouseRelease(viewport(), Qt::LeftButton, {}, to);
}

void MeshViewTest::everyShadingShowsTheBox_data()
{
    QTest::addColumn<int>("shading");
    const char* const names[] = {"smooth",  "flat",   "texture", "vertex colours",
                                 "normals", "matcap", "checker", "layout"};
    for (int i = 0; i < kMeshShadingCount; ++i)
        QTest::newRow(names[i]) << i;
}

void MeshViewTest::everyShadingShowsTheBox()
{
    QFETCH(int, shading);
    if (shading == static_cast<int>(MeshShading::VertexColour))
        open(make("cube.ply", test::boxPly("ascii")));
    else
        openBox();
    edit([&](MeshSettings& s) { s.shading = static_cast<MeshShading>(shading); });
    QVERIFY(static_cast<int>(scene().settings().shading) == shading);
    const QImage image = grab();
    const int pixels = covered(image), all = image.width() * image.height();
    QVERIFY2(pixels > all / 20 && pixels < all * 9 / 10, qPrintable(QString::number(pixels)));
    QSet<QRgb> colours;
    for (int x = 0; x < image.width(); ++x)
        colours.insert(image.pixel(x, image.height() / 2));
    QVERIFY(colours.size() > 2);
}

void MeshViewTest::theTextureIsUprightAndUnlit()
{
    openBox();
    QVERIFY(scene().settings().shading == MeshShading::Texture);
    // The side x = 1 alone: in the file u runs along y, v along z; z is up in the view.
    edit([](MeshSettings& s) { s.tintsBackFaces = false; });
    press(Qt::Key_3, Qt::KeypadModifier);
    const QImage image = grab();
    const QPoint at = image.rect().center(), right(20, 0), down(0, 20);
    QVERIFY(countNear(image.copy(QRect(at - right - down, QSize(1, 1))), QColor(220, 40, 40), 2));
    QVERIFY(countNear(image.copy(QRect(at + right - down, QSize(1, 1))), QColor(40, 200, 60), 2));
    QVERIFY(countNear(image.copy(QRect(at - right + down, QSize(1, 1))), QColor(50, 80, 230), 2));
    QVERIFY(countNear(image.copy(QRect(at + right + down, QSize(1, 1))), QColor(230, 210, 40), 2));
}

void MeshViewTest::vertexColoursAreShown()
{
    open(make("cube.ply", test::boxPly("binary_little_endian")));
    QVERIFY(scene().settings().shading == MeshShading::VertexColour);
    const QImage image = grab();
    QVERIFY(countNear(image, QColor(255, 0, 0), 2) > 500);  // the side x = 1
    QVERIFY(countNear(image, QColor(128, 128, 0), 8) > 50); // between them
}

void MeshViewTest::theWireframeAddsLines()
{
    openBox();
    edit([](MeshSettings& s) { s.shading = MeshShading::Flat; });
    const int before = countNear(grab(), QColor("#15181c"), 40);
    press(Qt::Key_Z);
    QVERIFY(scene().settings().hasWireframe);
    QVERIFY(find<QToolButton>("meshWireButton")->isChecked());
    const int after = countNear(grab(), QColor("#15181c"), 40);
    // The background is as dark, so only what is added counts.
    QVERIFY2(after > before + 200, qPrintable(QStringLiteral("%1, %2").arg(before).arg(after)));
}

void MeshViewTest::theCheckerAlternates()
{
    openBox();
    edit([](MeshSettings& s) {
        s.shading = MeshShading::Checker;
        s.checkerCells = 8;
    });
    press(Qt::Key_3, Qt::KeypadModifier); // one side, 8 squares from left to right
    QVERIFY(find<QComboBox>("meshCheckerCombo")->isVisible());
    const QImage image = grab();
    int changes = 0;
    const int y = image.height() / 2 + 5;
    bool wasBright = image.pixelColor(0, y).lightness() > 110;
    for (int x = 1; x < image.width(); ++x) {
        const bool isBright = image.pixelColor(x, y).lightness() > 110;
        changes += isBright != wasBright ? 1 : 0;
        wasBright = isBright;
    }
    QVERIFY2(changes >= 7 && changes <= 9, qPrintable(QString::number(changes)));
}

void MeshViewTest::aCutRemovesPixels()
{
    openBox();
    press(Qt::Key_1, Qt::KeypadModifier); // from the front, x to the right
    const int whole = covered(grab());
    press(Qt::Key_C);
    QCOMPARE(scene().settings().sectionAxis, 0);
    auto* slider = find<QSlider>("meshSectionSlider");
    QVERIFY(slider->isVisible());
    slider->setValue(slider->maximum() / 4);
    QCOMPARE(scene().settings().sectionOffset, 0.25);
    const int quarter = covered(grab());
    QVERIFY2(quarter > whole / 6 && quarter < whole * 2 / 5,
             qPrintable(QStringLiteral("%1 of %2").arg(quarter).arg(whole)));
    press(Qt::Key_BracketRight);
    QVERIFY(covered(grab()) > quarter);
    for (int i = 0; i < 3; ++i)
        press(Qt::Key_C);
    QCOMPARE(scene().settings().sectionAxis, -1);
    QCOMPARE(covered(grab()), whole);
}

void MeshViewTest::backsOfFacesAreTinted()
{
    openBox();
    edit([](MeshSettings& s) {
        s.shading = MeshShading::Texture;
        s.sectionAxis = 2;
        s.sectionOffset = 0.5;
    });
    press(Qt::Key_1, Qt::KeypadModifier); // into the half that is left
    const auto isViolet = [](const QColor& c) {
        return c.red() > 50 && c.blue() > c.red() + 20 && c.red() > c.green() + 15;
    };
    QVERIFY(isViolet(middle()));
    press(Qt::Key_B);
    QVERIFY(!isViolet(middle()));
}

void MeshViewTest::openEdgesAreMarked()
{
    openBox(5);
    const int before = countNear(grab(), boundaryColour());
    find<QToolButton>("meshEdgesButton")->click();
    QVERIFY(scene().settings().marksEdges);
    QVERIFY(countNear(grab(), boundaryColour()) > before + 100);
    QCOMPARE(scene().mesh()->boundary.size(), std::size_t{4});
}

void MeshViewTest::partsAreTinted()
{
    const QByteArray far = "ply\nformat ascii 1.0\nelement vertex 6\nproperty float x\n"
                           "property float y\nproperty float z\nelement face 2\n"
                           "property list uchar int vertex_indices\nend_header\n"
                           "0 0 0\n1 0 0\n0 0 1\n2 0 0\n3 0 0\n2 0 1\n3 0 1 2\n3 3 4 5\n";
    open(make("pieces.ply", far));
    press(Qt::Key_1, Qt::KeypadModifier);
    edit([](MeshSettings& s) { s.shading = MeshShading::Flat; });
    const auto huesOf = [](const QImage& image) {
        QSet<int> hues;
        for (int y = 0; y < image.height(); y += 2)
            for (int x = 0; x < image.width(); x += 2)
                if (const QColor c = image.pixelColor(x, y); c.saturation() > 60 && c.value() > 90)
                    hues.insert(c.hue() / 20);
        return hues.size();
    };
    QCOMPARE(huesOf(grab()), qsizetype(0));
    press(Qt::Key_P);
    QVERIFY(huesOf(grab()) >= 2);
}

void MeshViewTest::theLayoutShowsThePictureAndItsTriangles()
{
    openBox();
    press(Qt::Key_8);
    QVERIFY(scene().settings().shading == MeshShading::UvLayout);
    QVERIFY(!find<QToolButton>("meshWireButton")->isVisible());
    const QImage image = grab();
    const QPoint centre = image.rect().center();
    const int step = image.height() / 5;
    // Off the diagonal, which is an edge; the triangles lie on the picture as a thin veil.
    const QColor red = image.pixelColor(centre + QPoint(-step, -step / 2));
    QVERIFY(red.red() > 150 && red.green() < 90);
    const QColor yellow = image.pixelColor(centre + QPoint(step, step / 2));
    QVERIFY(yellow.red() > 150 && yellow.green() > 150);
    QVERIFY(countNear(image, boundaryColour(), 50) > 100);
    drag({60, 0});
    QVERIFY(grab() != image);
    press(Qt::Key_Home);
    QVERIFY(grab() == image);
}

void MeshViewTest::twoClicksMeasure()
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
    QVERIFY(grab() == before);
}

void MeshViewTest::keysMoveTheCamera()
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

void MeshViewTest::keysChooseWhatIsShown()
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

void MeshViewTest::anotherUpTurnsTheView()
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

void MeshViewTest::aNewVersionKeepsTheCamera()
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

void MeshViewTest::severalMeshesCanBeChosen()
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

void MeshViewTest::damageIsSaidInsteadOfAPicture()
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

void MeshViewTest::meshesStandBesideStreams()
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

void MeshViewTest::otherWindowsKeepTheMesh()
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
    QCOMPARE(test::glOf(*m_panel).contextCount(), 1);
    QVERIFY(qAbs(covered(grab()) - before) < before / 10);
    m_panel->setParent(nullptr);
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    QCOMPARE(test::glOf(*m_panel).contextCount(), 1);
    QVERIFY(qAbs(covered(grab()) - before) < before / 10);
}

/// A mesh of several pieces is not sent in one go where the time for it is short.
void MeshViewTest::piecesReachTheCardOneByOne()
{
    openBox();
    PreparedMesh large = *scene().mesh();
    auto& corners = large.surface.corners;
    while (corners.size() * sizeof(MeshCorner) < (8U << 20)) {
        const auto half = corners;
        corners.insert(corners.end(), half.begin(), half.end());
    }
    test::glOf(*m_panel).makeCurrent();
    {
        auto* gl = QOpenGLVersionFunctionsFactory::get<QOpenGLFunctions_3_3_Core>(
            test::glOf(*m_panel).context());
        MeshBuffers buffers(*gl, std::make_shared<const PreparedMesh>(std::move(large)));
        QVERIFY(!buffers.isComplete());
        int parts = 0;
        double last = 0;
        while (!buffers.advance(0.0)) {
            QVERIFY(buffers.fraction() > last && buffers.fraction() < 1);
            last = buffers.fraction();
            ++parts;
        }
        QVERIFY(parts >= 4);
        QVERIFY(buffers.surface().size() >= 4);
        QCOMPARE(buffers.fraction(), 1.0);
    }
    test::glOf(*m_panel).doneCurrent();
}

void MeshViewTest::aLargeMeshGrowsBesideTheScreen_data()
{
    QTest::addColumn<MeshShading>("shading");
    QTest::newRow("flat") << MeshShading::Flat;
    QTest::newRow("layout") << MeshShading::UvLayout;
}

/// First the coarse form; once all slices are drawn, the same picture as one drawn at once.
void MeshViewTest::aLargeMeshGrowsBesideTheScreen()
{
    QFETCH(MeshShading, shading);
    openBox(); // so that there is a context
    MeshScene large;
    large.setMesh(std::make_shared<const PreparedMesh>(prepareMesh(test::waves(300), "waves")));
    QVERIFY(large.mesh()->triangleCount() == 180'000);
    const std::size_t coarse = large.mesh()->coarse.triangleCount();
    QVERIFY2(coarse > 2'000 && coarse < 30'000, qPrintable(QString::number(coarse)));
    large.edit([&](MeshSettings& s) { s.shading = shading; });
    const QSize size(320, 240);
    const ScenePose pose = homePose(*large.mesh(), large.up(), size);
    large.setCamera({pose.viewToWorld, pose.focal});
    test::glOf(*m_panel).makeCurrent();
    {
        auto* gl = QOpenGLVersionFunctionsFactory::get<QOpenGLFunctions_3_3_Core>(
            test::glOf(*m_panel).context());
        QOpenGLFramebufferObject screen(size, QOpenGLFramebufferObject::CombinedDepthStencil);
        MeshRenderer renderer(*gl);
        MeshRenderer::Target target{size, 1, QApplication::palette(), true};
        const QColor background = target.palette.color(QPalette::Window);
        const auto drawn = [&] {
            screen.bind();
            gl->glViewport(0, 0, size.width(), size.height());
            gl->glClearColor(background.redF(), background.greenF(), background.blueF(), 1);
            gl->glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
            renderer.draw(large, target);
            return screen.toImage().convertToFormat(QImage::Format_RGB32);
        };
        const auto finished = [&] {
            for (int i = 0; i < 10'000; ++i) {
                while (!renderer.refine(large, target))
                    ;
                const QImage image = drawn();
                if (renderer.isComplete())
                    return image;
            }
            return QImage();
        };
        drawn();
        QVERIFY(!renderer.isComplete()); // it is on its way to the card
        const QImage grown = finished();
        QVERIFY(covered(grown) > 5000);
        target.isForScreen = false;
        QVERIFY(drawn() == grown);
        target.isForScreen = true;
        MeshCamera nearer = large.camera();
        nearer.focal *= 1.2;
        large.setCamera(nearer);
        large.setUvWindow({{0.5, 0.5}, 1.2});
        const QImage moving = drawn();
        QVERIFY(!renderer.isComplete());
        QVERIFY(covered(moving) > 5000); // never nothing
        const QImage still = finished();
        QVERIFY(still != moving && still != grown);
        QCOMPARE(gl->glGetError(), GLenum(GL_NO_ERROR));
        screen.release();
    }
    test::glOf(*m_panel).doneCurrent();
}

QTEST_MAIN(MeshViewTest)
#include "tst_mesh_view.moc"
