#pragma once

#include <QKeyEvent>
#include <QMouseEvent>
#include <QObject>
#include <QWheelEvent>
#include <QWidget>

#include "app/viewport/mesh/mesh_scene.h"
#include "app/viewport/view_scene.h"

namespace vergence {

/// Keys of the mesh view, and the mouse over its UV layout; the camera is the business of a
/// SceneNavigator behind it. Idle in other modes.
///
/// 1 to 8 choose the shading, Z draws the edges of all triangles, B tints the back of faces, N
/// marks boundary and non-manifold edges, P tints the parts, M measures, C cuts along x, y, z and
/// not at all, [ and ] move the cut, the digits of the keypad 1, 3 and 7 look from the front, the
/// right and the top, with Ctrl from the opposite side.
class MeshInteraction : public QObject {
    Q_OBJECT
public:
    MeshInteraction(ViewScene& scene, MeshScene& meshes, QObject* parent = nullptr);

    /// Listens to another widget, before the filters that were installed there.
    void attach(QWidget* canvas);

Q_SIGNALS:
    void axisRequested(int index, bool isOpposite); ///< 0 front, 1 right, 2 top

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    bool handle(QEvent& event);
    bool key(const QKeyEvent& event);
    bool keypad(const QKeyEvent& event);
    bool toggle(int key);
    bool handleLayout(QEvent& event);
    void zoomLayout(QPointF point, double factor);

    ViewScene& m_scene;
    MeshScene& m_meshes;
    QWidget* m_canvas = nullptr;
    bool m_isDragging = false;
    QPointF m_last;
};

} // namespace vergence
