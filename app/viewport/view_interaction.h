#pragma once

#include <optional>
#include <string>

#include <QKeyEvent>
#include <QMouseEvent>
#include <QObject>
#include <QWheelEvent>
#include <QWidget>

#include "app/viewport/view_scene.h"

namespace vergence {

/// Mouse and keys of the canvas, whichever widget draws it: zoom, pan, orbit, wipe, selection of
/// layers. Scenes have a SceneNavigator in front of it.
class ViewInteraction : public QObject {
    Q_OBJECT
public:
    /// Installs itself on `canvas`, which it takes as parent.
    ViewInteraction(ViewScene& scene, QWidget* canvas);

    void fit();
    void oneToOne(); ///< one picture pixel on one screen pixel
    void frameAll(); ///< 3-D: the whole stack in view, direction kept
    void resetCamera();
    void stepLayer(int by);

Q_SIGNALS:
    void pointerMoved(const QString& stream, int layer, double x, double y); ///< picture pixels
    void pointerLeft();
    void picked(const QString& stream, int layer, double x, double y); ///< a click in a grid
    void digitPressed(int digit);
    void playToggled();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    bool press(const QMouseEvent& event);
    bool move(const QMouseEvent& event);
    bool release(const QMouseEvent& event);
    bool doubleClick(const QMouseEvent& event);
    bool wheel(const QWheelEvent& event);
    bool key(const QKeyEvent& event, bool isDown);
    bool cameraKey(const QKeyEvent& event);
    void zoomAt(QPointF point, double factor);
    void pan(QPointF pixels);
    void probe(QPointF point);
    QSizeF canvasSize() const { return m_canvas->size(); }
    ViewMode mode() const { return m_scene.settings().mode; }

    enum class Drag { None, Pan, Wipe, Orbit, Truck };
    ViewScene& m_scene;
    QWidget* m_canvas;
    Drag m_drag = Drag::None;
    QPointF m_last, m_pressed;
};

} // namespace vergence
