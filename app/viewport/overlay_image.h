#pragma once

#include <QImage>
#include <QPalette>

#include "app/viewport/mesh/mesh_scene.h"
#include "app/viewport/view_scene.h"

namespace vergence {

/// What paintOverlay() paints, as a picture to be laid over the others. Qt's painter for OpenGL
/// would compile a shader for each kind of stroke.
class OverlayImage {
public:
    /// `viewport` in logical pixels, `meshes` for the mode Mesh. True where the picture is another
    /// one than before.
    bool paint(const ViewScene& scene, const MeshScene* meshes, QSize viewport, double pixelRatio,
               const QPalette& palette);
    bool isEmpty() const { return m_isEmpty; }
    /// RGBA8888, not premultiplied.
    const QImage& image() const { return m_image; }

private:
    QImage m_canvas, m_before; // premultiplied, as the painter is fastest
    QImage m_image;
    bool m_isEmpty = true;
};

} // namespace vergence
