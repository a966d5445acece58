#include <QComboBox>
#include <QOpenGLFramebufferObject>
#include <QOpenGLFunctions_3_3_Core>
#include <QOpenGLVersionFunctionsFactory>
#include <QSlider>
#include <QToolButton>

#include "app/viewport/mesh/mesh_buffers.h"
#include "app/viewport/mesh/mesh_overlay.h"
#include "app/viewport/mesh/mesh_renderer.h"
#include "tests/app/viewport/mesh_view_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// What is drawn of a mesh.
class MeshViewTest : public test::MeshViewBench {
    Q_OBJECT
private Q_SLOTS:
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
    void piecesReachTheCardOneByOne();
    void aLargeMeshGrowsBesideTheScreen_data();
    void aLargeMeshGrowsBesideTheScreen();
};

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
    // The row of the slider gives its room back in a later event.
    QTRY_COMPARE(covered(grab()), whole);
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
    const QImage image = settled();
    const QPoint centre = image.rect().center();
    const int step = image.height() / 5;
    // Off the diagonal, which is an edge; the triangles lie on the picture as a thin veil.
    const QColor red = image.pixelColor(centre + QPoint(-step, -step / 2));
    QVERIFY(red.red() > 150 && red.green() < 90);
    const QColor yellow = image.pixelColor(centre + QPoint(step, step / 2));
    QVERIFY(yellow.red() > 150 && yellow.green() > 150);
    QVERIFY(countNear(image, boundaryColour(), 50) > 100);
    drag({60, 0});
    QVERIFY(settled() != image);
    press(Qt::Key_Home);
    QVERIFY(settled() == image);
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
    canvas().makeCurrent();
    {
        auto* gl =
            QOpenGLVersionFunctionsFactory::get<QOpenGLFunctions_3_3_Core>(canvas().context());
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
    canvas().doneCurrent();
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
    canvas().makeCurrent();
    {
        auto* gl =
            QOpenGLVersionFunctionsFactory::get<QOpenGLFunctions_3_3_Core>(canvas().context());
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
    canvas().doneCurrent();
}

VERGENCE_WINDOW_TEST(MeshViewTest)
#include "tst_mesh_view.moc"
