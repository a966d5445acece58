#include "app/viewport/overlay_image.h"

#include <algorithm>
#include <utility>

#include <QPainter>

#include "app/viewport/mesh/mesh_overlay.h"
#include "app/viewport/overlay.h"

namespace vergence {

bool OverlayImage::paint(const ViewScene& scene, const MeshScene* meshes, QSize viewport,
                         double pixelRatio, const QPalette& palette)
{
    const QSize pixels = viewport * pixelRatio;
    std::swap(m_canvas, m_before);
    if (m_canvas.size() != pixels)
        m_canvas = QImage(pixels, QImage::Format_ARGB32_Premultiplied);
    m_canvas.setDevicePixelRatio(pixelRatio);
    m_canvas.fill(Qt::transparent);
    QPainter painter(&m_canvas);
    if (meshes != nullptr && scene.settings().mode == ViewMode::Mesh)
        paintMeshOverlay(painter, *meshes, viewport, palette);
    else
        paintOverlay(painter, scene, viewport, palette);
    painter.end();
    if (m_canvas == m_before && !m_image.isNull())
        return false;
    m_image = m_canvas.convertToFormat(QImage::Format_RGBA8888);
    const uchar* bytes = m_image.constBits();
    m_isEmpty = std::all_of(bytes, bytes + m_image.sizeInBytes(), [](uchar b) { return b == 0; });
    return true;
}

} // namespace vergence
