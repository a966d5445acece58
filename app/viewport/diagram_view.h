#pragma once

#include <optional>
#include <vector>

#include <QPainter>
#include <QWidget>

#include "core/view/diagram.h"

namespace vergence {

/// Draws a Diagram to scale (`diagramView`): wheel zooms at the cursor, drag pans, double click
/// fits, hovering names lines and shapes, shapes that edit a parameter can be dragged along x.
class DiagramView : public QWidget {
    Q_OBJECT
public:
    explicit DiagramView(QWidget* parent = nullptr);

    void setDiagram(Diagram diagram);
    void clear();
    bool hasDiagram() const { return m_diagram.has_value(); }
    void fit();
    /// Widget position of a point of the diagram.
    QPointF toWidget(QPointF point) const;
    QPointF toDiagram(QPointF position) const;

Q_SIGNALS:
    void parameterDragged(const QString& key,
                          double value); ///< x of the shape, in the diagram's unit
    void clicked(double x, double y);    ///< in the diagram's units; a press without a drag

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QPointF scale() const; ///< logical pixels per unit, x and y
    double grain() const;  ///< factor on widths of lines and radii of marks
    QRectF plot() const;   ///< part of the widget above the axis
    QColor colour(const std::string& name) const;
    QRectF rectOf(const Diagram::Shape& shape) const;
    QString labelAt(QPointF position) const;
    std::optional<std::size_t> draggableAt(QPointF position) const;
    void zoomAt(QPointF position, double factor);
    QPolygonF outline(const std::vector<double>& x, const std::vector<double>& y) const;
    void paintPolygon(QPainter& painter, const Diagram::Polygon& polygon) const;
    void paintPoints(QPainter& painter, const Diagram::Points& points) const;
    void paintLine(QPainter& painter, const Diagram::Line& line) const;
    void paintShape(QPainter& painter, const Diagram::Shape& shape) const;
    void paintText(QPainter& painter, const Diagram::Text& text, std::vector<QRectF>& taken) const;
    void paintAxis(QPainter& painter) const;

    std::optional<Diagram> m_diagram;
    double m_zoom = 1;
    QPointF m_offset; ///< px that the fitted drawing is moved by
    QPointF m_last, m_pressed;
    std::optional<std::size_t> m_dragged;
    double m_draggedFrom = 0; ///< x of the dragged shape before
    bool m_isPanning = false;
};

} // namespace vergence
