#pragma once

#include <functional>
#include <memory>

#include <QTemporaryDir>
#include <QtTest>

#include "app/viewport/gl_viewport.h"
#include "app/viewport/view_panel.h"
#include "tests/app/viewport/mesh_fixtures.h"
#include "tests/app/viewport/viewport_of.h"

namespace vergence::test {

/// Base of the tests that look at meshes: a panel, a new one for each test. Needs a display with
/// OpenGL 3.3; Mesa's software renderer under Xvfb will do.
class MeshViewBench : public QObject {
    Q_OBJECT

protected:
    MeshChoice make(const QString& name, const QByteArray& bytes, const QString& version = "1");
    void open(const MeshChoice& choice);
    void openBox(std::size_t sides = 6) { open(make("cube.glb", boxGlb(sides).bytes())); }
    void edit(const std::function<void(MeshSettings&)>& change);
    QImage grab();
    /// Once the window has its last size and nothing moves any more.
    QImage settled();
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
    QWidget* viewport() { return viewportOf(*m_panel); }
    GlViewport& canvas() { return glOf(*m_panel); } ///< what draws there
    template <class T>
    T* find(const char* name)
    {
        return m_panel->findChild<T*>(QLatin1String(name));
    }

    QTemporaryDir m_folder;
    std::unique_ptr<ViewPanel> m_panel;

private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup();
};

} // namespace vergence::test
