#include "tests/app/viewport/mesh_view_bench.h"

#include <QMouseEvent>
#include <QOpenGLContext>
#include <QOpenGLFunctions>

#include "tests/support/patience.h"

namespace vergence::test {

void MeshViewBench::initTestCase()
{
    QPalette palette = QApplication::palette();
    palette.setColor(QPalette::Window, QColor(10, 12, 14));
    QApplication::setPalette(palette);
}

void MeshViewBench::init()
{
    m_panel = std::make_unique<ViewPanel>();
    m_panel->resize(640, 520);
    m_panel->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    QVERIFY2(viewport() != nullptr, "this test needs OpenGL 3.3");
}

void MeshViewBench::cleanup()
{
    if (viewport() != nullptr && canvas().context() != nullptr) {
        canvas().makeCurrent();
        QCOMPARE(canvas().context()->functions()->glGetError(), GLenum(GL_NO_ERROR));
        canvas().doneCurrent();
    }
    m_panel.reset();
}

MeshChoice MeshViewBench::make(const QString& name, const QByteArray& bytes, const QString& version)
{
    const QString path = m_folder.filePath(name);
    write(path, bytes);
    return {path.toStdString(), name, version};
}

void MeshViewBench::open(const MeshChoice& choice)
{
    m_panel->setMeshes({choice});
    QTRY_VERIFY(scene().mesh() && !scene().isLoading());
    QTRY_VERIFY(viewport()->isVisible());
}

void MeshViewBench::edit(const std::function<void(MeshSettings&)>& change)
{
    scene().edit(change);
}

QImage MeshViewBench::grab()
{
    QCoreApplication::processEvents();
    return m_panel->grabView();
}

QImage MeshViewBench::settled()
{
    QImage last = grab();
    const auto standsStill = [&] {
        QImage next = grab();
        next.swap(last);
        return next == last;
    };
    if (!QTest::qWaitFor(standsStill, kGuardMilliseconds))
        qWarning("the picture does not stand still");
    return last;
}

QColor MeshViewBench::middle()
{
    const QImage image = grab();
    return image.pixelColor(image.rect().center());
}

int MeshViewBench::covered(const QImage& image) const
{
    const QRgb background = image.pixel(1, 1);
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            count += image.pixel(x, y) != background ? 1 : 0;
    return count;
}

int MeshViewBench::countNear(const QImage& image, const QColor& colour, int tolerance)
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

void MeshViewBench::drag(QPoint by)
{
    const QPoint from = viewport()->rect().center(), to = from + by;
    QTest::mousePress(viewport(), Qt::LeftButton, {}, from);
    QMouseEvent move(QEvent::MouseMove, to, viewport()->mapToGlobal(to), Qt::NoButton,
                     Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(viewport(), &move);
    QTest::mouseRelease(viewport(), Qt::LeftButton, {}, to);
}

} // namespace vergence::test
