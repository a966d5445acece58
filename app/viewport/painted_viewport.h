#pragma once

#include <memory>

#include <QWidget>

#include "app/viewport/gl_viewport.h"

namespace vergence {

/// Shows (`viewport`) what a GlViewport that is never shown itself has drawn. A window that holds
/// an OpenGL widget is composed with OpenGL as a whole, whenever any part of it changes; a driver
/// without a GPU takes longer for that than for the picture, and competes with the run for the
/// cores. Here it draws the picture alone, only when that has changed.
class PaintedViewport : public QWidget {
    Q_OBJECT
public:
    explicit PaintedViewport(ViewScene& scene, QWidget* parent = nullptr);
    ~PaintedViewport() override;

    GlViewport& gl() { return *m_gl; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void redraw();

    std::unique_ptr<GlViewport> m_gl;
    QImage m_picture;
    bool m_isOld = true; ///< m_picture is not what the scene holds
};

} // namespace vergence
