#include "app/viewport/mesh_interaction.h"

#include <cmath>

namespace vergence {
namespace {

constexpr double kSectionStep = 0.02;

} // namespace

MeshInteraction::MeshInteraction(ViewScene& scene, MeshScene& meshes, QObject* parent)
    : QObject(parent),
      m_scene(scene),
      m_meshes(meshes)
{
}

void MeshInteraction::attach(QWidget* canvas)
{
    m_canvas = canvas;
    canvas->installEventFilter(this);
}

bool MeshInteraction::eventFilter(QObject* watched, QEvent* event)
{
    return watched == m_canvas && m_scene.settings().mode == ViewMode::Mesh && handle(*event);
}

bool MeshInteraction::handle(QEvent& event)
{
    if (event.type() == QEvent::KeyPress && key(static_cast<QKeyEvent&>(event)))
        return true;
    return m_meshes.settings().shading == MeshShading::UvLayout && handleLayout(event);
}

bool MeshInteraction::keypad(const QKeyEvent& event)
{
    const int digits[] = {Qt::Key_1, Qt::Key_3, Qt::Key_7};
    for (int i = 0; i < 3; ++i) {
        if (event.key() != digits[i])
            continue;
        Q_EMIT axisRequested(i, event.modifiers() & Qt::ControlModifier);
        return true;
    }
    return false;
}

bool MeshInteraction::key(const QKeyEvent& event)
{
    if (event.modifiers() & Qt::KeypadModifier)
        return keypad(event);
    if (event.modifiers() & ~Qt::ShiftModifier)
        return false;
    const int digit = event.key() - Qt::Key_1;
    if (digit >= 0 && digit < kMeshShadingCount) {
        m_meshes.edit([&](MeshSettings& s) { s.shading = static_cast<MeshShading>(digit); });
        return true;
    }
    return toggle(event.key());
}

bool MeshInteraction::toggle(int key)
{
    const auto flip = [this](bool MeshSettings::*flag) {
        m_meshes.edit([flag](MeshSettings& s) { s.*flag = !(s.*flag); });
        return true;
    };
    switch (key) {
    case Qt::Key_Z:
        return flip(&MeshSettings::hasWireframe);
    case Qt::Key_B:
        return flip(&MeshSettings::tintsBackFaces);
    case Qt::Key_N:
        return flip(&MeshSettings::marksEdges);
    case Qt::Key_P:
        return flip(&MeshSettings::tintsGroups);
    case Qt::Key_M:
        return flip(&MeshSettings::measures);
    case Qt::Key_C:
        m_meshes.edit([](MeshSettings& s) { s.sectionAxis = (s.sectionAxis + 2) % 4 - 1; });
        return true;
    case Qt::Key_BracketLeft:
    case Qt::Key_BracketRight:
        m_meshes.edit([key](MeshSettings& s) {
            s.sectionOffset += key == Qt::Key_BracketLeft ? -kSectionStep : kSectionStep;
        });
        return true;
    case Qt::Key_Escape:
        if (!m_meshes.settings().measures)
            return false;
        return flip(&MeshSettings::measures);
    default:
        return false;
    }
}

void MeshInteraction::zoomLayout(QPointF point, double factor)
{
    UvWindow window = m_meshes.uvWindow();
    const QSizeF size = m_canvas->size();
    const auto placeOf = [&](const UvWindow& of) {
        const QSizeF half = uvHalfSize(of, size);
        return of.centre + QPointF((2 * point.x() / size.width() - 1) * half.width(),
                                   (2 * point.y() / size.height() - 1) * half.height());
    };
    const QPointF before = placeOf(window);
    window.zoom *= factor;
    m_meshes.setUvWindow(window);
    window = m_meshes.uvWindow();
    window.centre += before - placeOf(window);
    m_meshes.setUvWindow(window);
}

/// The layout lies flat: dragging moves it, the wheel zooms at the pointer.
bool MeshInteraction::handleLayout(QEvent& event)
{
    switch (event.type()) {
    case QEvent::MouseButtonPress:
        m_isDragging = true;
        m_last = static_cast<QMouseEvent&>(event).position();
        return true;
    case QEvent::MouseButtonRelease:
        m_isDragging = false;
        return true;
    case QEvent::MouseMove: {
        const QPointF at = static_cast<QMouseEvent&>(event).position();
        if (m_isDragging) {
            UvWindow window = m_meshes.uvWindow();
            const QSizeF half = uvHalfSize(window, m_canvas->size());
            const QPointF moved = at - m_last;
            window.centre -= QPointF(moved.x() * 2 * half.width() / m_canvas->width(),
                                     moved.y() * 2 * half.height() / m_canvas->height());
            m_meshes.setUvWindow(window);
        }
        m_last = at;
        return true;
    }
    case QEvent::Wheel: {
        const auto& wheel = static_cast<QWheelEvent&>(event);
        zoomLayout(wheel.position(), std::exp2(wheel.angleDelta().y() / 360.0));
        return true;
    }
    case QEvent::MouseButtonDblClick:
        m_meshes.setUvWindow({});
        return true;
    case QEvent::KeyPress: {
        const int key = static_cast<QKeyEvent&>(event).key();
        if (key == Qt::Key_F || key == Qt::Key_Home)
            m_meshes.setUvWindow({});
        else if (key == Qt::Key_Plus || key == Qt::Key_Equal || key == Qt::Key_Minus)
            zoomLayout(QRectF(m_canvas->rect()).center(), key == Qt::Key_Minus ? 0.8 : 1.25);
        else
            return false;
        return true;
    }
    default:
        return false;
    }
}

} // namespace vergence
