#include "app/viewport/view_interaction.h"

#include <cmath>

#include <QApplication>

namespace vergence {
namespace {

constexpr double kWipeReach = 9; ///< px around the wipe line that take hold of it
constexpr double kKeyPan = 40;   ///< px per arrow key
constexpr double kKeyZoom = 1.25;

} // namespace

ViewInteraction::ViewInteraction(ViewScene& scene, QWidget* canvas)
    : QObject(canvas),
      m_scene(scene),
      m_canvas(canvas)
{
    canvas->setMouseTracking(true);
    canvas->setFocusPolicy(Qt::StrongFocus);
    canvas->installEventFilter(this);
}

void ViewInteraction::fit()
{
    m_scene.edit([](ViewSettings& s) { s.transform = {}; });
}

void ViewInteraction::oneToOne()
{
    const auto panes = m_scene.panes(canvasSize());
    const auto shown = panes.empty() ? nullptr : m_scene.frame(panes.front().stream);
    if (!shown)
        return;
    const double fitted =
        fitScale(panes.front().area.size(), shown->size()) * m_canvas->devicePixelRatioF();
    m_scene.edit([&](ViewSettings& s) { s.transform.zoom = 1 / fitted; });
}

void ViewInteraction::frameAll()
{
    m_scene.edit([](ViewSettings& s) {
        s.camera.target = OrbitCamera{}.target;
        s.camera.distance = 1.8 + s.depthStretch;
    });
}

void ViewInteraction::resetCamera()
{
    m_scene.edit([](ViewSettings& s) { s.camera = OrbitCamera{}; });
}

void ViewInteraction::stepLayer(int by)
{
    m_scene.edit([by](ViewSettings& s) { s.layer += by; });
}

bool ViewInteraction::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_canvas)
        return false;
    switch (event->type()) {
    case QEvent::MouseButtonPress:
        return press(*static_cast<QMouseEvent*>(event));
    case QEvent::MouseMove:
        return move(*static_cast<QMouseEvent*>(event));
    case QEvent::MouseButtonRelease:
        return release(*static_cast<QMouseEvent*>(event));
    case QEvent::MouseButtonDblClick:
        return doubleClick(*static_cast<QMouseEvent*>(event));
    case QEvent::Wheel:
        return wheel(*static_cast<QWheelEvent*>(event));
    case QEvent::KeyPress:
        return key(*static_cast<QKeyEvent*>(event), true);
    case QEvent::KeyRelease:
        return key(*static_cast<QKeyEvent*>(event), false);
    case QEvent::Leave:
        Q_EMIT pointerLeft();
        return false;
    default:
        return false;
    }
}

bool ViewInteraction::press(const QMouseEvent& event)
{
    m_last = m_pressed = event.position();
    const CompareSettings& compare = m_scene.settings().compare;
    if (mode() == ViewMode::Stack3d) {
        const bool isTruck =
            event.button() != Qt::LeftButton || (event.modifiers() & Qt::ShiftModifier);
        m_drag = isTruck ? Drag::Truck : Drag::Orbit;
    } else if (mode() == ViewMode::Compare && compare.mode == CompareMode::Wipe &&
               std::abs(event.position().x() - compare.wipe * m_canvas->width()) < kWipeReach) {
        m_drag = Drag::Wipe;
    } else {
        m_drag = Drag::Pan;
    }
    return true;
}

bool ViewInteraction::move(const QMouseEvent& event)
{
    const QPointF delta = event.position() - m_last;
    m_last = event.position();
    if (event.buttons() == Qt::NoButton)
        m_drag = Drag::None;
    switch (m_drag) {
    case Drag::None:
        break;
    case Drag::Pan:
        pan(delta);
        break;
    case Drag::Wipe:
        m_scene.edit(
            [&](ViewSettings& s) { s.compare.wipe = event.position().x() / m_canvas->width(); });
        break;
    case Drag::Orbit:
        m_scene.edit([&](ViewSettings& s) { s.camera.orbit(delta); });
        break;
    case Drag::Truck:
        m_scene.edit([&](ViewSettings& s) { s.camera.pan(delta, canvasSize()); });
        break;
    }
    probe(event.position());
    return true;
}

bool ViewInteraction::release(const QMouseEvent& event)
{
    const bool isClick =
        (event.position() - m_pressed).manhattanLength() < QApplication::startDragDistance();
    const bool wasPan = m_drag == Drag::Pan;
    m_drag = Drag::None;
    const bool isGrid = mode() == ViewMode::StackGrid;
    if (!isClick || !wasPan || (!isGrid && mode() != ViewMode::Image))
        return true;
    const auto pane = m_scene.paneAt(event.position(), canvasSize());
    const auto shown = pane ? m_scene.frame(pane->stream) : nullptr;
    if (!shown)
        return true;
    if (isGrid)
        m_scene.edit([&](ViewSettings& s) { s.layer = pane->layer; });
    const QPointF at =
        toPicture(event.position(), pane->area, shown->size(), m_scene.settings().transform);
    Q_EMIT picked(QString::fromStdString(pane->stream), pane->layer, at.x(), at.y());
    return true;
}

bool ViewInteraction::doubleClick(const QMouseEvent& event)
{
    if (mode() == ViewMode::StackGrid) {
        if (const auto pane = m_scene.paneAt(event.position(), canvasSize()))
            m_scene.edit([&](ViewSettings& s) {
                s.layer = pane->layer;
                s.mode = ViewMode::Image;
            });
    } else if (mode() != ViewMode::Stack3d) {
        fit();
    }
    return true;
}

bool ViewInteraction::wheel(const QWheelEvent& event)
{
    const double factor = std::exp2(event.angleDelta().y() / 360.0);
    if (mode() == ViewMode::Stack3d)
        m_scene.edit([&](ViewSettings& s) { s.camera.zoom(factor); });
    else
        zoomAt(event.position(), factor);
    return true;
}

void ViewInteraction::zoomAt(QPointF point, double factor)
{
    const auto panes = m_scene.panes(canvasSize());
    if (panes.empty())
        return;
    const Pane pane = m_scene.paneAt(point, canvasSize()).value_or(panes.front());
    if (const auto shown = m_scene.frame(pane.stream))
        m_scene.edit([&](ViewSettings& s) {
            s.transform = zoomedAt(s.transform, point, pane.area, shown->size(), factor);
        });
}

void ViewInteraction::pan(QPointF pixels)
{
    const auto panes = m_scene.panes(canvasSize());
    const auto shown = panes.empty() ? nullptr : m_scene.frame(panes.front().stream);
    if (shown)
        m_scene.edit([&](ViewSettings& s) {
            s.transform = panned(s.transform, pixels, panes.front().area, shown->size());
        });
}

void ViewInteraction::probe(QPointF point)
{
    const auto pane = m_scene.paneAt(point, canvasSize());
    const auto shown = pane ? m_scene.frame(pane->stream) : nullptr;
    if (!shown) {
        Q_EMIT pointerLeft();
        return;
    }
    const QPointF at = toPicture(point, pane->area, shown->size(), m_scene.settings().transform);
    if (QRectF(QPointF(), shown->size()).contains(at) && at.x() < shown->size().width() &&
        at.y() < shown->size().height())
        Q_EMIT pointerMoved(QString::fromStdString(pane->stream), pane->layer, at.x(), at.y());
    else
        Q_EMIT pointerLeft();
}

bool ViewInteraction::key(const QKeyEvent& event, bool isDown)
{
    const bool isBlinkKey = event.key() == Qt::Key_Space && mode() == ViewMode::Compare;
    if (isBlinkKey) {
        if (!event.isAutoRepeat())
            m_scene.edit([&](ViewSettings& s) { s.compare.showsB = isDown; });
        return true;
    }
    const bool isPlain = !(event.modifiers() & (Qt::ControlModifier | Qt::AltModifier));
    if (!isDown)
        return false;
    if (mode() == ViewMode::Stack3d && cameraKey(event))
        return true;
    if (!isPlain)
        return false;
    const QPointF centre = m_canvas->rect().center();
    switch (event.key()) {
    case Qt::Key_F:
    case Qt::Key_Home:
        fit();
        return true;
    case Qt::Key_BracketLeft:
    case Qt::Key_BracketRight:
        stepLayer(event.key() == Qt::Key_BracketLeft ? -1 : 1);
        return true;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        zoomAt(centre, kKeyZoom);
        return true;
    case Qt::Key_Minus:
        zoomAt(centre, 1 / kKeyZoom);
        return true;
    case Qt::Key_Left:
    case Qt::Key_Right:
        pan(QPointF(event.key() == Qt::Key_Left ? kKeyPan : -kKeyPan, 0));
        return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
        pan(QPointF(0, event.key() == Qt::Key_Up ? kKeyPan : -kKeyPan));
        return true;
    case Qt::Key_Space:
        Q_EMIT playToggled();
        return true;
    default:
        break;
    }
    if (event.key() >= Qt::Key_0 && event.key() <= Qt::Key_9) {
        Q_EMIT digitPressed(event.key() - Qt::Key_0);
        return true;
    }
    return false;
}

bool ViewInteraction::cameraKey(const QKeyEvent& event)
{
    const bool isPad = event.modifiers() & Qt::KeypadModifier;
    const bool isOpposite = event.modifiers() & Qt::ControlModifier;
    const auto look = [&](double yaw, double pitch) {
        m_scene.edit([&](ViewSettings& s) { s.camera.lookFrom(yaw, pitch); });
        return true;
    };
    const auto turn = [&](double x, double y) {
        m_scene.edit([&](ViewSettings& s) { s.camera.orbit({x, y}); });
        return true;
    };
    switch (event.key()) {
    case Qt::Key_1:
        return isPad && look(isOpposite ? 180 : 0, 0);
    case Qt::Key_3:
        return isPad && look(isOpposite ? 90 : -90, 0);
    case Qt::Key_7:
        return isPad && look(0, isOpposite ? -90 : 90);
    case Qt::Key_5:
        if (isPad)
            m_scene.edit([](ViewSettings& s) { s.camera.isOrthographic ^= true; });
        return isPad;
    case Qt::Key_0:
        return isPad && look(OrbitCamera{}.yawDegrees, OrbitCamera{}.pitchDegrees);
    case Qt::Key_F:
        frameAll();
        return true;
    case Qt::Key_Home:
        resetCamera();
        return true;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_Minus:
        m_scene.edit([&](ViewSettings& s) {
            s.camera.zoom(event.key() == Qt::Key_Minus ? 1 / kKeyZoom : kKeyZoom);
        });
        return true;
    case Qt::Key_Left:
        return turn(-kKeyPan / 2, 0);
    case Qt::Key_Right:
        return turn(kKeyPan / 2, 0);
    case Qt::Key_Up:
        return turn(0, -kKeyPan / 2);
    case Qt::Key_Down:
        return turn(0, kKeyPan / 2);
    default:
        return false;
    }
}

} // namespace vergence
