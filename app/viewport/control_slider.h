#pragma once

#include <QElapsedTimer>
#include <QSlider>
#include <QTimer>

#include "core/view/frame.h"

namespace vergence {

/// Slider over real numbers with marks under the groove (`controls/<id>`). Double click
/// resets, play goes back and forth over the range.
class ControlSlider : public QSlider {
    Q_OBJECT
public:
    explicit ControlSlider(const ViewControl& control, QWidget* parent = nullptr);

    double realValue() const; ///< the default exactly where no other step is nearer to it
    void setRealValue(double value);
    void reset();
    bool isPlaying() const { return m_timer.isActive(); }
    void setPlaying(bool playing);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void realValueChanged(double value);
    void playingChanged(bool playing);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    void advance();
    int stepOf(double value) const; ///< the nearest one
    double xOf(double value) const; ///< middle of the handle at `value`

    ViewControl m_control;
    double m_low, m_high, m_default;
    QTimer m_timer;
    QElapsedTimer m_clock;
    double m_phase = 0; ///< 0 … 2: there and back
};

} // namespace vergence
