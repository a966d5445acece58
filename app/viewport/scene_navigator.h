#pragma once

#include <optional>
#include <set>

#include <QElapsedTimer>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QObject>
#include <QTimer>
#include <QWheelEvent>
#include <QWidget>

#include "app/viewport/scene_camera.h"
#include "app/viewport/view_scene.h"

namespace vergence {

/// Moves the camera of streams of kind Splats, or of a mesh, with mouse and keys. The run draws the
/// pictures of splats, so what comes out is words to it: camera, size and whether the viewer still
/// moves. Idle in other modes.
///
/// Left drag circles the target, right, middle and Shift+left drag shift the view, the wheel comes
/// nearer, with Shift it changes the field of view; W A S D Q E fly, arrows circle, Home returns.
class SceneNavigator : public QObject {
    Q_OBJECT
public:
    explicit SceneNavigator(ViewScene& scene, ViewMode mode = ViewMode::Splats,
                            QObject* parent = nullptr);

    /// Listens to another widget. What this does not use goes on to the filters that were installed
    /// before.
    void attach(QWidget* canvas);
    /// Takes the camera of the first frame, and of frames after which the run has moved it.
    void takeFrame(const FrameInfo& info);
    void forgetCamera(); ///< another run follows
    /// Looks from somewhere else; `isHome`: the key Home returns there.
    void look(const ScenePose& pose, bool isHome);

    const std::optional<SceneCamera>& camera() const { return m_camera; }
    QSize viewport() const; ///< device pixels of the canvas
    bool isMoving() const;

Q_SIGNALS:
    void moved(); ///< camera(), viewport() or isMoving() has changed: the run should hear
    void fitRequested();
    void focusRequested(QPointF pixel);                ///< of the picture shown
    void picked(const QString& stream, QPointF pixel); ///< of the picture; of a mesh, of the canvas

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    enum class Drag { None, Undecided, Orbit, Pan };

    bool isActive() const { return m_scene.settings().mode == m_mode; }
    bool handle(QEvent& event);
    bool press(const QMouseEvent& event);
    bool move(const QMouseEvent& event);
    bool release(const QMouseEvent& event);
    bool doubleClick(const QMouseEvent& event);
    bool wheel(const QWheelEvent& event);
    bool keyPress(const QKeyEvent& event);
    bool keyRelease(const QKeyEvent& event);
    bool isOfFlight(const QKeyEvent& event) const;
    void fly();
    void stop();
    void nudge();
    QRectF pictureOnCanvas() const;
    std::optional<QPointF> pixelAt(QPointF point) const;

    ViewScene& m_scene;
    ViewMode m_mode;
    QWidget* m_canvas = nullptr;
    std::optional<SceneCamera> m_camera, m_home; ///< m_home: of the first frame
    std::optional<std::int64_t> m_jump;
    Drag m_drag = Drag::None;
    QPointF m_last, m_pressed;
    std::set<int> m_keys; ///< of flight, held down
    QTimer m_flight, m_settling, m_resizing;
    QElapsedTimer m_sinceFlown;
};

} // namespace vergence
