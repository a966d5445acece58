#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <QWidget>

namespace vergence {

/// Collects the repaints of a window: after one, the next waits about as long as that one took.
/// With OpenGL in software each of them composes the whole window, whatever has changed (25 ms of
/// processor time at 1280 × 800), and a picture, every chart and every line of the status bar would
/// ask for their own. Where the GPU composes, the pause is too short to be seen.
class PaintPacer : public QObject {
    Q_OBJECT
public:
    /// Lives as long as `window`, a top-level widget.
    explicit PaintPacer(QWidget& window);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void paint();

    QWidget& m_window;
    QTimer m_pause;
    bool m_isPainting = false, m_isWanted = false;
};

} // namespace vergence
