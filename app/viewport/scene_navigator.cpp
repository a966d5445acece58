#include "app/viewport/scene_navigator.h"

#include <cmath>
#include <utility>

#include <QApplication>

namespace vergence {
namespace {

constexpr int kFlightMilliseconds = 16;
constexpr int kSettleMilliseconds = 150; ///< so long after the last turn of the wheel all is still
constexpr double kExtentsPerSecond = 0.5;
constexpr double kFast = 4, kSlow = 0.25; ///< with Shift, with Ctrl
constexpr double kKeyTurn = 20;           ///< px of a drag per arrow key
constexpr double kKeyDolly = 1.25;

/// Right, up, forward; zero for other keys.
Point3 directionOf(int key)
{
    switch (key) {
    case Qt::Key_W:
        return {0, 0, 1};
    case Qt::Key_S:
        return {0, 0, -1};
    case Qt::Key_A:
        return {-1, 0, 0};
    case Qt::Key_D:
        return {1, 0, 0};
    case Qt::Key_Q:
        return {0, -1, 0};
    case Qt::Key_E:
        return {0, 1, 0};
    default:
        return {};
    }
}

} // namespace

SceneNavigator::SceneNavigator(ViewScene& scene, ViewMode mode, QObject* parent)
    : QObject(parent),
      m_scene(scene),
      m_mode(mode)
{
    m_flight.setInterval(kFlightMilliseconds);
    m_settling.setInterval(kSettleMilliseconds);
    m_settling.setSingleShot(true);
    m_resizing.setInterval(kSettleMilliseconds);
    m_resizing.setSingleShot(true);
    connect(&m_flight, &QTimer::timeout, this, &SceneNavigator::fly);
    connect(&m_settling, &QTimer::timeout, this, &SceneNavigator::moved);
    connect(&m_resizing, &QTimer::timeout, this, &SceneNavigator::moved);
    connect(&scene, &ViewScene::visibleStreamsChanged, this, [this] {
        if (isActive())
            Q_EMIT moved();
        else
            stop();
    });
}

void SceneNavigator::attach(QWidget* canvas)
{
    m_canvas = canvas;
    canvas->installEventFilter(this);
}

void SceneNavigator::takeFrame(const FrameInfo& info)
{
    const auto pose = readScenePose(info);
    if (!pose)
        return;
    const bool hasJumped = pose->jump && pose->jump != m_jump;
    if (m_camera && !hasJumped)
        return;
    m_jump = pose->jump;
    m_camera = SceneCamera(*pose);
    if (!m_home)
        m_home = m_camera;
    Q_EMIT moved(); // so that the run goes on with this camera, not with one sent before
}

void SceneNavigator::forgetCamera()
{
    stop();
    m_camera.reset();
    m_home.reset();
    m_jump.reset();
}

void SceneNavigator::look(const ScenePose& pose, bool isHome)
{
    m_camera.emplace(pose);
    if (isHome)
        m_home = m_camera;
    Q_EMIT moved();
}

QSize SceneNavigator::viewport() const
{
    if (m_canvas == nullptr || !m_canvas->isVisible())
        return {};
    return (QSizeF(m_canvas->size()) * m_canvas->devicePixelRatioF()).toSize();
}

bool SceneNavigator::isMoving() const
{
    return m_drag == Drag::Orbit || m_drag == Drag::Pan || !m_keys.empty() || m_settling.isActive();
}

bool SceneNavigator::eventFilter(QObject* watched, QEvent* event)
{
    return watched == m_canvas && isActive() && handle(*event);
}

bool SceneNavigator::handle(QEvent& event)
{
    switch (event.type()) {
    case QEvent::MouseButtonPress:
        return press(static_cast<QMouseEvent&>(event));
    case QEvent::MouseMove:
        return move(static_cast<QMouseEvent&>(event));
    case QEvent::MouseButtonRelease:
        return release(static_cast<QMouseEvent&>(event));
    case QEvent::MouseButtonDblClick:
        return doubleClick(static_cast<QMouseEvent&>(event));
    case QEvent::Wheel:
        return wheel(static_cast<QWheelEvent&>(event));
    case QEvent::ShortcutOverride: // Ctrl flies slowly: while a key of flight is down it is no
                                   // other
        if (m_keys.empty() || !isOfFlight(static_cast<QKeyEvent&>(event)))
            return false;
        event.accept();
        return true;
    case QEvent::KeyPress:
        return keyPress(static_cast<QKeyEvent&>(event));
    case QEvent::KeyRelease:
        return keyRelease(static_cast<QKeyEvent&>(event));
    case QEvent::FocusOut:
    case QEvent::Hide:
        stop();
        return false;
    case QEvent::Show:
    case QEvent::Resize:
        m_resizing.start();
        return false;
    default:
        return false;
    }
}

bool SceneNavigator::press(const QMouseEvent& event)
{
    m_last = m_pressed = event.position();
    m_drag = Drag::Undecided;
    return true;
}

bool SceneNavigator::move(const QMouseEvent& event)
{
    if (event.buttons() == Qt::NoButton && m_drag != Drag::None)
        stop(); // the release went elsewhere
    if (m_drag == Drag::None)
        return false;
    const bool isFar =
        (event.position() - m_pressed).manhattanLength() >= QApplication::startDragDistance();
    if (m_drag == Drag::Undecided && isFar) {
        const bool isOrbit =
            event.buttons() == Qt::LeftButton && !(event.modifiers() & Qt::ShiftModifier);
        m_drag = isOrbit ? Drag::Orbit : Drag::Pan;
    }
    if (m_drag == Drag::Undecided)
        return true;
    const QPointF delta = event.position() - m_last;
    m_last = event.position();
    if (m_camera && m_drag == Drag::Orbit)
        m_camera->orbit(delta);
    else if (m_camera)
        m_camera->pan(delta, pictureOnCanvas().height());
    Q_EMIT moved();
    return true;
}

bool SceneNavigator::release(const QMouseEvent& event)
{
    const Drag drag = std::exchange(m_drag, Drag::None);
    if (drag == Drag::Orbit || drag == Drag::Pan)
        Q_EMIT moved();
    else if (drag == Drag::Undecided && event.button() == Qt::LeftButton)
        if (const auto pixel = pixelAt(event.position()))
            Q_EMIT picked(QString::fromStdString(m_scene.settings().stream), *pixel);
    return true;
}

bool SceneNavigator::doubleClick(const QMouseEvent& event)
{
    m_drag = Drag::None; // the release that follows is no click
    if (const auto pixel = pixelAt(event.position()); pixel && event.button() == Qt::LeftButton)
        Q_EMIT focusRequested(*pixel);
    return true;
}

bool SceneNavigator::wheel(const QWheelEvent& event)
{
    const QPoint turned = event.angleDelta();
    const double factor = std::exp2((turned.y() != 0 ? turned.y() : turned.x()) / 360.0);
    if (!m_camera)
        return true;
    if (event.modifiers() & Qt::ShiftModifier)
        m_camera->zoom(factor);
    else
        m_camera->dolly(factor);
    nudge();
    return true;
}

bool SceneNavigator::isOfFlight(const QKeyEvent& event) const
{
    return directionOf(event.key()) != Point3{} && !(event.modifiers() & Qt::AltModifier);
}

bool SceneNavigator::keyPress(const QKeyEvent& event)
{
    if (isOfFlight(event)) {
        if (event.isAutoRepeat())
            return true;
        if (m_keys.empty())
            m_sinceFlown.start();
        m_keys.insert(event.key());
        m_flight.start();
        return true;
    }
    if (event.modifiers() & (Qt::ControlModifier | Qt::AltModifier))
        return false;
    switch (event.key()) {
    case Qt::Key_F:
        Q_EMIT fitRequested();
        return true;
    case Qt::Key_Home:
        m_camera = m_home;
        Q_EMIT moved();
        return true;
    case Qt::Key_Left:
    case Qt::Key_Right:
        if (m_camera)
            m_camera->orbit({event.key() == Qt::Key_Left ? -kKeyTurn : kKeyTurn, 0});
        break;
    case Qt::Key_Up:
    case Qt::Key_Down:
        if (m_camera)
            m_camera->orbit({0, event.key() == Qt::Key_Up ? -kKeyTurn : kKeyTurn});
        break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_Minus:
        if (m_camera)
            m_camera->dolly(event.key() == Qt::Key_Minus ? 1 / kKeyDolly : kKeyDolly);
        break;
    default:
        return false;
    }
    nudge();
    return true;
}

bool SceneNavigator::keyRelease(const QKeyEvent& event)
{
    if (directionOf(event.key()) == Point3{})
        return false;
    if (!event.isAutoRepeat() && m_keys.contains(event.key())) {
        fly(); // up to now
        if (m_keys.size() == 1)
            stop();
        m_keys.erase(event.key());
    }
    return true;
}

void SceneNavigator::fly()
{
    const double seconds = static_cast<double>(m_sinceFlown.nsecsElapsed()) * 1e-9;
    m_sinceFlown.start();
    const auto modifiers = QGuiApplication::keyboardModifiers();
    const double speed = kExtentsPerSecond * (modifiers & Qt::ShiftModifier     ? kFast
                                              : modifiers & Qt::ControlModifier ? kSlow
                                                                                : 1);
    Point3 direction{};
    for (const int key : m_keys)
        for (int axis = 0; axis < 3; ++axis)
            direction[axis] += directionOf(key)[axis] * speed * seconds;
    if (m_camera)
        m_camera->fly(direction);
    Q_EMIT moved();
}

/// Ends what goes on, and says so.
void SceneNavigator::stop()
{
    const bool wasMoving = isMoving();
    m_keys.clear();
    m_flight.stop();
    m_settling.stop();
    m_drag = Drag::None;
    if (wasMoving && isActive())
        Q_EMIT moved();
}

/// After a single movement, which ends when no other follows.
void SceneNavigator::nudge()
{
    m_settling.start();
    Q_EMIT moved();
}

QRectF SceneNavigator::pictureOnCanvas() const
{
    const QRectF area(QPointF(), m_canvas->size());
    const auto shown = m_scene.frame(m_scene.settings().stream);
    return shown && m_mode != ViewMode::Mesh ? pictureRect(area, shown->size(), {}) : area;
}

std::optional<QPointF> SceneNavigator::pixelAt(QPointF point) const
{
    if (m_mode == ViewMode::Mesh)
        return point;
    const auto shown = m_scene.frame(m_scene.settings().stream);
    const QRectF rect = pictureOnCanvas();
    if (!shown || !rect.contains(point))
        return std::nullopt;
    const QPointF at = point - rect.topLeft();
    return QPointF(at.x() / rect.width() * shown->size().width(),
                   at.y() / rect.height() * shown->size().height());
}

} // namespace vergence
