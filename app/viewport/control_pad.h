#pragma once

#include <QPointF>
#include <QWidget>

#include "core/view/frame.h"

namespace vergence {

/// Field in which a point is moved in two dimensions by mouse or arrow keys (`controls/<id>`), y
/// up. Double click resets.
class ControlPad : public QWidget {
    Q_OBJECT
public:
    explicit ControlPad(const ViewControl& control, QWidget* parent = nullptr);

    QPointF value() const { return m_value; }
    void setValue(QPointF value); ///< clamped into the field
    void reset() { setValue(m_default); }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

Q_SIGNALS:
    void valueChanged(QPointF value);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QRectF field() const;
    QPointF toWidget(QPointF value) const;
    QPointF toValue(QPointF position) const;

    ViewControl m_control;
    QRectF m_range; ///< top is the smallest y
    QPointF m_value, m_default;
};

} // namespace vergence
