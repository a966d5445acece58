#include "app/viewport/diagram_view.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>

#include "app/viewport/overlay.h"

namespace vergence {
namespace {

constexpr double kMargin = 16;
constexpr double kReach = 5; ///< px around a line that still hit it
constexpr double kGap = 8;   ///< px between texts of one line

QRectF box(const Diagram& diagram)
{
    return QRectF(QPointF(diagram.left, diagram.bottom), QPointF(diagram.right, diagram.top))
        .normalized();
}

double distanceToSegment(QPointF point, QPointF a, QPointF b)
{
    const QPointF along = b - a;
    const double length = QPointF::dotProduct(along, along);
    const double t =
        length > 0 ? std::clamp(QPointF::dotProduct(point - a, along) / length, 0.0, 1.0) : 0;
    const QPointF off = point - (a + t * along);
    return std::hypot(off.x(), off.y());
}

/// Where a line of text covers none of the others: at its place, or as near above or below as there
/// is room.
QRectF freePlace(const QRectF& wanted, const std::vector<QRectF>& taken)
{
    for (const int lines : {0, -1, 1, -2, 2}) {
        const QRectF place = wanted.translated(0, lines * wanted.height());
        if (std::ranges::none_of(taken, [&](const QRectF& t) {
                return t.adjusted(-kGap, 0, kGap, 0).intersects(place);
            }))
            return place;
    }
    return wanted;
}

QPainterPath lensPath(const QRectF& rect)
{
    QPainterPath path(QPointF(rect.center().x(), rect.top()));
    path.quadTo(QPointF(rect.right() + rect.width() / 2, rect.center().y()),
                QPointF(rect.center().x(), rect.bottom()));
    path.quadTo(QPointF(rect.left() - rect.width() / 2, rect.center().y()),
                QPointF(rect.center().x(), rect.top()));
    return path;
}

} // namespace

DiagramView::DiagramView(QWidget* parent) : QWidget(parent)
{
    setObjectName(QStringLiteral("diagramView"));
    setAccessibleName(tr("Diagram"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

void DiagramView::setDiagram(Diagram diagram)
{
    // A shape being dragged stays under the cursor; the run's next drawing shows the new place.
    if (m_dragged)
        return;
    m_diagram = std::move(diagram);
    update();
}

void DiagramView::clear()
{
    m_diagram.reset();
    m_dragged.reset();
    update();
}

void DiagramView::fit()
{
    m_zoom = 1;
    m_offset = {};
    update();
}

QRectF DiagramView::plot() const
{
    const double axis = m_diagram && !m_diagram->hasRuler ? kMargin : 2.4 * fontMetrics().height();
    return QRectF(rect()).adjusted(kMargin, kMargin, -kMargin, -axis);
}

QPointF DiagramView::scale() const
{
    const QRectF world = box(*m_diagram);
    const double x = plot().width() / std::max(1e-12, world.width());
    const double y = plot().height() / std::max(1e-12, world.height());
    const double same = std::min(x, y);
    return m_zoom * (m_diagram->keepsAspect ? QPointF(same, same) : QPointF(x, y));
}

/// A drawing with its own axes is laid out in pixels and shrinks as a whole.
double DiagramView::grain() const
{
    return m_diagram->hasRuler ? 1 : std::clamp(scale().y(), 0.35, 1.0);
}

QPointF DiagramView::toWidget(QPointF point) const
{
    const QPointF from = point - box(*m_diagram).center();
    return plot().center() + m_offset + QPointF(from.x() * scale().x(), -from.y() * scale().y());
}

QPointF DiagramView::toDiagram(QPointF position) const
{
    const QPointF from = position - plot().center() - m_offset;
    return box(*m_diagram).center() + QPointF(from.x() / scale().x(), -from.y() / scale().y());
}

QColor DiagramView::colour(const std::string& name) const
{
    if (name == "text")
        return palette().color(QPalette::WindowText);
    if (name == "accent")
        return palette().color(QPalette::Highlight);
    const bool isDark = palette().color(QPalette::Window).lightness() < 128;
    if (name == "warning")
        return isDark ? QColor(0xff, 0xb3, 0x40) : QColor(0xb2, 0x5e, 0x00);
    if (name.starts_with("series ")) {
        // Hues by the golden angle, so that neighbours differ; lightness fits the background.
        const int index = QString::fromStdString(name.substr(7)).toInt();
        return QColor::fromHslF(static_cast<float>(std::fmod(0.58 + index * 0.381966, 1.0)), 0.75F,
                                isDark ? 0.66F : 0.38F);
    }
    if (name.starts_with('#'))
        return QColor(QString::fromStdString(name));
    QColor muted = palette().color(QPalette::WindowText);
    muted.setAlphaF(name == "faint" ? 0.16F : 0.62F);
    return muted;
}

QRectF DiagramView::rectOf(const Diagram::Shape& shape) const
{
    const QPointF half(shape.width / 2, shape.height / 2), centre(shape.x, shape.y);
    return QRectF(toWidget(centre - half), toWidget(centre + half)).normalized();
}

QPolygonF DiagramView::outline(const std::vector<double>& x, const std::vector<double>& y) const
{
    QPolygonF points;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
        points << toWidget({x[i], y[i]});
    return points;
}

void DiagramView::paintPolygon(QPainter& painter, const Diagram::Polygon& polygon) const
{
    QColor fill = colour(polygon.colour);
    fill.setAlphaF(fill.alphaF() * static_cast<float>(std::clamp(polygon.opacity, 0.0, 1.0)));
    // Cells of a matrix touch: smooth edges would let the background shine through as a grid.
    painter.setRenderHint(QPainter::Antialiasing, polygon.x.size() != 4);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawPolygon(outline(polygon.x, polygon.y));
    painter.setRenderHint(QPainter::Antialiasing);
}

void DiagramView::paintPoints(QPainter& painter, const Diagram::Points& points) const
{
    QColor ink = colour(points.colour);
    ink.setAlphaF(ink.alphaF() * static_cast<float>(std::clamp(points.opacity, 0.0, 1.0)));
    const double r = points.radius * grain();
    const bool isFilled = points.mark == "disc" || points.mark == "diamond";
    painter.setPen(isFilled ? QPen(Qt::NoPen) : QPen(ink, 1.6 * grain()));
    painter.setBrush(isFilled ? QBrush(ink) : QBrush(Qt::NoBrush));
    for (const QPointF& at : outline(points.x, points.y)) {
        if (points.mark == "diamond") {
            painter.drawPolygon(QPolygonF{{at + QPointF(0, -r), at + QPointF(r, 0),
                                           at + QPointF(0, r), at + QPointF(-r, 0)}});
        } else if (points.mark == "cross") {
            painter.drawLine(at + QPointF(-r, -r), at + QPointF(r, r));
            painter.drawLine(at + QPointF(-r, r), at + QPointF(r, -r));
        } else {
            painter.drawEllipse(at, r, r);
        }
    }
}

void DiagramView::paintLine(QPainter& painter, const Diagram::Line& line) const
{
    const QPolygonF points = outline(line.x, line.y);
    painter.setPen(QPen(colour(line.colour), line.width * grain(),
                        line.isDashed ? Qt::DashLine : Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(points);
}

void DiagramView::paintShape(QPainter& painter, const Diagram::Shape& shape) const
{
    const QRectF rect = rectOf(shape);
    const QColor stroke = colour(shape.colour);
    QColor fill = stroke;
    fill.setAlphaF(stroke.alphaF() * 0.35F);
    painter.setPen(QPen(stroke, shape.editsKey.empty() ? 1.2 : 2.2));
    painter.setBrush(shape.isFilled ? QBrush(fill) : QBrush(Qt::NoBrush));
    if (shape.kind == "circle")
        painter.drawEllipse(rect);
    else if (shape.kind == "lens")
        painter.drawPath(lensPath(rect));
    else if (shape.kind == "eye") {
        painter.drawEllipse(rect);
        const QPointF pupil(rect.right() - rect.width() * 0.12, rect.center().y());
        painter.drawEllipse(pupil, rect.width() * 0.1, rect.height() * 0.2);
    } else
        painter.drawRect(rect);
}

/// Texts in the size of the window keep clear of each other; those that scale with the drawing stay
/// where they are.
void DiagramView::paintText(QPainter& painter, const Diagram::Text& text,
                            std::vector<QRectF>& taken) const
{
    const QString shown = QString::fromStdString(text.text);
    QFont face = font();
    if (text.size > 0)
        face.setPixelSize(std::max(1, static_cast<int>(std::lround(text.size * scale().y()))));
    face.setBold(text.isBold);
    const QFontMetricsF metrics(face);
    QRectF area(QPointF(), QSizeF(metrics.horizontalAdvance(shown) + 2, metrics.height()));
    area.moveCenter({});
    if (text.anchor == "left")
        area.moveLeft(0);
    else if (text.anchor == "right")
        area.moveRight(0);
    const QPointF origin = toWidget({text.x, text.y});
    if (text.size <= 0 && !text.isUpright) {
        const QRectF place = freePlace(area.translated(origin), taken);
        taken.push_back(place);
        area = place.translated(-origin);
    }
    painter.save();
    painter.translate(origin);
    painter.rotate(text.isUpright ? -90 : 0);
    painter.setFont(face);
    painter.setPen(colour(text.colour));
    painter.drawText(area, Qt::AlignCenter, shown);
    painter.restore();
}

void DiagramView::paintAxis(QPainter& painter) const
{
    const double y = height() - 2.1 * fontMetrics().height();
    const double low = toDiagram({plot().left(), 0}).x(), high = toDiagram({plot().right(), 0}).x();
    painter.fillRect(QRectF(0, y, width(), height() - y), palette().color(QPalette::Window));
    painter.setPen(colour("muted"));
    painter.drawLine(QPointF(plot().left(), y), QPointF(plot().right(), y));
    for (const double tick : niceTicks(low, high, std::max(2, width() / 110))) {
        const double x = toWidget({tick, 0}).x();
        painter.drawLine(QPointF(x, y), QPointF(x, y + 4));
        const QRectF label(x - 50, y + 4, 100, fontMetrics().height());
        painter.drawText(label, Qt::AlignCenter, QString::number(tick, 'g', 5));
    }
    const QRectF title(0, height() - fontMetrics().height(), width(), fontMetrics().height());
    painter.drawText(title, Qt::AlignCenter, QString::fromStdString(m_diagram->xTitle));
}

void DiagramView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), palette().color(QPalette::Window));
    if (!m_diagram)
        return;
    for (const Diagram::Polygon& polygon : m_diagram->polygons)
        paintPolygon(painter, polygon);
    for (const Diagram::Shape& shape : m_diagram->shapes)
        paintShape(painter, shape);
    for (const Diagram::Line& line : m_diagram->lines)
        paintLine(painter, line);
    for (const Diagram::Points& points : m_diagram->points)
        paintPoints(painter, points);
    std::vector<QRectF> taken;
    for (const Diagram::Text& text : m_diagram->texts)
        paintText(painter, text, taken);
    if (m_diagram->hasRuler)
        paintAxis(painter);
    if (hasFocus()) {
        painter.setPen(QPen(palette().color(QPalette::Highlight), 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

QString DiagramView::labelAt(QPointF position) const
{
    if (!m_diagram)
        return {};
    for (const Diagram::Points& points : m_diagram->points)
        for (const QPointF& at : outline(points.x, points.y))
            if (!points.label.empty() && std::hypot(at.x() - position.x(), at.y() - position.y()) <
                                             points.radius * grain() + 2)
                return QString::fromStdString(points.label);
    for (const Diagram::Line& line : m_diagram->lines)
        for (std::size_t i = 1; i < std::min(line.x.size(), line.y.size()); ++i)
            if (!line.label.empty() &&
                distanceToSegment(position, toWidget({line.x[i - 1], line.y[i - 1]}),
                                  toWidget({line.x[i], line.y[i]})) < kReach)
                return QString::fromStdString(line.label);
    for (auto shape = m_diagram->shapes.rbegin(); shape != m_diagram->shapes.rend(); ++shape)
        if (!shape->label.empty() &&
            rectOf(*shape).adjusted(-kReach, -kReach, kReach, kReach).contains(position))
            return QString::fromStdString(shape->label);
    for (auto polygon = m_diagram->polygons.rbegin(); polygon != m_diagram->polygons.rend();
         ++polygon)
        if (!polygon->label.empty() &&
            outline(polygon->x, polygon->y).containsPoint(position, Qt::OddEvenFill))
            return QString::fromStdString(polygon->label);
    return {};
}

std::optional<std::size_t> DiagramView::draggableAt(QPointF position) const
{
    if (!m_diagram)
        return std::nullopt;
    for (std::size_t i = m_diagram->shapes.size(); i-- > 0;) {
        const Diagram::Shape& shape = m_diagram->shapes[i];
        if (!shape.editsKey.empty() &&
            rectOf(shape).adjusted(-kReach, -kReach, kReach, kReach).contains(position))
            return i;
    }
    return std::nullopt;
}

bool DiagramView::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QString label = labelAt(help->pos());
        if (const auto shape = draggableAt(help->pos()))
            label += tr("\nDrag along x to change %1.")
                         .arg(QString::fromStdString(m_diagram->shapes[*shape].editsKey));
        QToolTip::showText(help->globalPos(), label.trimmed(), this);
        return true;
    }
    return QWidget::event(event);
}

void DiagramView::zoomAt(QPointF position, double factor)
{
    if (!m_diagram)
        return;
    const double zoom = std::clamp(m_zoom * factor, 0.2, 500.0);
    const QPointF from = position - plot().center() - m_offset;
    m_offset -= from * (zoom / m_zoom - 1);
    m_zoom = zoom;
    update();
}

void DiagramView::wheelEvent(QWheelEvent* event)
{
    zoomAt(event->position(), std::exp2(event->angleDelta().y() / 360.0));
}

void DiagramView::mousePressEvent(QMouseEvent* event)
{
    m_last = m_pressed = event->position();
    m_dragged = event->button() == Qt::LeftButton ? draggableAt(event->position()) : std::nullopt;
    m_isPanning = !m_dragged;
    if (m_dragged)
        m_draggedFrom = m_diagram->shapes[*m_dragged].x;
}

void DiagramView::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF delta = event->position() - m_last;
    m_last = event->position();
    if (m_dragged && m_diagram)
        m_diagram->shapes[*m_dragged].x += delta.x() / scale().x();
    else if (m_isPanning && event->buttons() != Qt::NoButton)
        m_offset += delta;
    else
        setCursor(draggableAt(event->position()) ? Qt::SizeHorCursor : Qt::ArrowCursor);
    if (event->buttons() != Qt::NoButton)
        update();
}

void DiagramView::mouseReleaseEvent(QMouseEvent* event)
{
    m_isPanning = false;
    if (!m_diagram)
        return;
    if (!m_dragged) {
        const QPointF at = toDiagram(event->position());
        if ((event->position() - m_pressed).manhattanLength() < QApplication::startDragDistance())
            Q_EMIT clicked(at.x(), at.y());
        return;
    }
    const Diagram::Shape shape = m_diagram->shapes[*m_dragged];
    m_dragged.reset();
    if (shape.x != m_draggedFrom)
        Q_EMIT parameterDragged(QString::fromStdString(shape.editsKey), shape.x);
}

void DiagramView::mouseDoubleClickEvent(QMouseEvent*)
{
    fit();
}

void DiagramView::keyPressEvent(QKeyEvent* event)
{
    constexpr double kStep = 40;
    switch (event->key()) {
    case Qt::Key_F:
    case Qt::Key_Home:
        return fit();
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoomAt(plot().center(), 1.25);
    case Qt::Key_Minus:
        return zoomAt(plot().center(), 1 / 1.25);
    case Qt::Key_Left:
    case Qt::Key_Right:
        m_offset.rx() += event->key() == Qt::Key_Left ? kStep : -kStep;
        return update();
    case Qt::Key_Up:
    case Qt::Key_Down:
        m_offset.ry() += event->key() == Qt::Key_Up ? kStep : -kStep;
        return update();
    default:
        QWidget::keyPressEvent(event);
    }
}

} // namespace vergence
