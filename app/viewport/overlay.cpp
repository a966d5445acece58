#include "app/viewport/overlay.h"

#include <algorithm>
#include <cmath>

#include <QFontMetricsF>

namespace vergence {
namespace {

QString number(double value)
{
    return QString::number(std::abs(value) < 1e-12 ? 0.0 : value, 'g', 4);
}

/// Text on a plate of the window's colour, so that it can be read on any picture.
void paintChip(QPainter& painter, QPointF corner, const QString& text, const QPalette& palette,
               Qt::Alignment alignment = Qt::AlignLeft)
{
    const QFontMetricsF metrics(painter.font());
    QRectF plate(corner, QSizeF(metrics.horizontalAdvance(text) + 12, metrics.height() + 4));
    if (alignment & Qt::AlignRight)
        plate.moveRight(corner.x());
    if (alignment & Qt::AlignHCenter)
        plate.moveLeft(corner.x() - plate.width() / 2);
    QColor fill = palette.color(QPalette::Window);
    fill.setAlphaF(0.82F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRoundedRect(plate, 3, 3);
    painter.setPen(palette.color(QPalette::WindowText));
    painter.drawText(plate, Qt::AlignCenter, text);
}

void paintGridLabel(QPainter& painter, const Pane& pane, const QPalette& palette)
{
    const QRectF line(pane.area.left(), pane.area.top() - 20, pane.area.width(), 20);
    const QFontMetricsF metrics(painter.font());
    painter.setPen(palette.color(QPalette::WindowText));
    painter.drawText(line, Qt::AlignCenter,
                     metrics.elidedText(pane.label, Qt::ElideRight, line.width()));
}

void paintPaneMarks(QPainter& painter, const ViewScene& scene, const Pane& pane,
                    const QPalette& palette)
{
    const ViewSettings& settings = scene.settings();
    const auto shown = scene.frame(pane.stream);
    if (settings.mode == ViewMode::StackGrid)
        paintGridLabel(painter, pane, palette);
    else if (!pane.label.isEmpty() && pane.clip.width() > 30) {
        const bool isRight = settings.compare.mode == CompareMode::Wipe && pane.clip.left() > 0;
        painter.save();
        painter.setClipRect(pane.clip);
        paintChip(painter,
                  isRight ? pane.clip.topRight() + QPointF(-8, 8)
                          : pane.clip.topLeft() + QPointF(8, 8),
                  pane.label, palette, isRight ? Qt::AlignRight : Qt::AlignLeft);
        painter.restore();
    }
    if (pane.isSelected && shown) {
        const QRectF rect = pictureRect(pane.area, shown->size(), settings.transform) & pane.clip;
        painter.setPen(QPen(palette.color(QPalette::Highlight), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect.adjusted(-1, -1, 1, 1));
    }
}

void paintWipeLine(QPainter& painter, double x, QSizeF viewport, const QPalette& palette)
{
    painter.setPen(QPen(palette.color(QPalette::Window), 3));
    painter.drawLine(QPointF(x, 0), QPointF(x, viewport.height()));
    painter.setPen(QPen(palette.color(QPalette::Highlight), 1));
    painter.drawLine(QPointF(x, 0), QPointF(x, viewport.height()));
    painter.setBrush(palette.color(QPalette::Highlight));
    painter.setPen(QPen(palette.color(QPalette::HighlightedText), 1));
    painter.drawEllipse(QPointF(x, viewport.height() / 2), 7, 7);
}

void paintColourBar(QPainter& painter, FalseColour map, ValueRange range, QSizeF viewport,
                    const QPalette& palette)
{
    constexpr double kWidth = 12;
    const double height = std::min(180.0, viewport.height() - 60);
    if (height < 40)
        return;
    const QFontMetricsF metrics(painter.font());
    const double step = (range.high - range.low) / 4;
    double textWidth = 0;
    for (int i = 0; i <= 4; ++i)
        textWidth = std::max(textWidth, metrics.horizontalAdvance(number(range.low + i * step)));
    const QRectF bar(viewport.width() - textWidth - kWidth - 18, viewport.height() - height - 18,
                     kWidth, height);
    QColor fill = palette.color(QPalette::Window);
    fill.setAlphaF(0.82F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRoundedRect(bar.adjusted(-6, -10, textWidth + 10, 10), 3, 3);
    for (int y = 0; y < static_cast<int>(height); ++y)
        painter.fillRect(QRectF(bar.left(), bar.bottom() - y - 1, kWidth, 1),
                         QColor(mapColour(map, y / (height - 1))));
    painter.setPen(palette.color(QPalette::WindowText));
    for (int i = 0; i <= 4; ++i) {
        const double y = bar.bottom() - height * i / 4;
        painter.drawLine(QPointF(bar.right(), y), QPointF(bar.right() + 3, y));
        painter.drawText(QPointF(bar.right() + 6, y + metrics.ascent() / 2 - 1),
                         number(range.low + i * step));
    }
}

/// Bar of the first pane that shows single numbers.
void paintColourBarOf(QPainter& painter, const ViewScene& scene, const std::vector<Pane>& panes,
                      QSizeF viewport, const QPalette& palette)
{
    const ViewSettings& settings = scene.settings();
    for (const Pane& pane : panes) {
        const auto shown = scene.frame(pane.stream);
        const auto other = scene.frame(pane.other);
        if (!shown)
            continue;
        const double factor = std::exp2(-settings.tone.exposure);
        ValueRange range = rangeFor(settings.tone, *shown);
        const bool isScalar = shown->isScalar();
        if (pane.operation == Pane::Operation::Picture && isScalar) {
            range = {range.low * factor, range.high * factor};
            paintColourBar(painter, mapFor(settings.tone, *shown), range, viewport, palette);
            return;
        }
        const bool isScalarPair = isScalar && other && other->isScalar();
        const double span =
            (isScalarPair ? (range.high - range.low) * factor : 1.0) / settings.compare.gain;
        if (pane.operation == Pane::Operation::SignedDifference) {
            paintColourBar(painter, FalseColour::Diverging, {-span, span}, viewport, palette);
            return;
        }
        if (pane.operation == Pane::Operation::AbsoluteDifference && isScalarPair) {
            paintColourBar(painter, mapFor(settings.tone, *shown), {0, span}, viewport, palette);
            return;
        }
    }
}

/// Axis of the 3-D stack: a projected line with ticks at `values`, which stand at the world points
/// `at`.
struct ProjectedAxis {
    std::vector<QVector3D> at;
    QStringList values;
    QString title;
    QVector3D outward; ///< direction of ticks and text
};

void paintAxis(QPainter& painter, const ProjectedAxis& axis, const ViewScene& scene,
               QSizeF viewport, const QPalette& palette)
{
    const OrbitCamera& camera = scene.settings().camera;
    const auto project = [&](const QVector3D& point) { return camera.project(point, viewport); };
    painter.setPen(QPen(palette.color(QPalette::WindowText), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawLine(project(axis.at.front()), project(axis.at.back()));
    const QFontMetricsF metrics(painter.font());
    std::vector<QRectF> taken;
    for (std::size_t i = 0; i < axis.at.size(); ++i) {
        painter.drawLine(project(axis.at[i]), project(axis.at[i] + axis.outward * 0.03F));
        QRectF box(QPointF(),
                   QSizeF(metrics.horizontalAdvance(axis.values[static_cast<int>(i)]) + 4,
                          metrics.height()));
        box.moveCenter(project(axis.at[i] + axis.outward * 0.09F));
        if (!taken.empty() && taken.back().intersects(box))
            continue;
        taken.push_back(box);
        painter.drawText(box, Qt::AlignCenter, axis.values[static_cast<int>(i)]);
    }
    // Beside the middle of the axis, as near as the numbers leave room.
    const QVector3D middle = (axis.at.front() + axis.at.back()) / 2;
    const QSizeF size(metrics.horizontalAdvance(axis.title) + 16, metrics.height() + 6);
    QRectF title(QPointF(), size);
    for (float out = 0.12F; out < 0.8F; out += 0.04F) {
        title.moveCenter(project(middle + axis.outward * out));
        if (std::ranges::none_of(taken, [&](const QRectF& box) { return box.intersects(title); }))
            break;
    }
    paintChip(painter, QPointF(title.center().x(), title.top()), axis.title, palette,
              Qt::AlignHCenter);
}

void paintStackAxes(QPainter& painter, const ViewScene& scene, QSizeF viewport,
                    const QPalette& palette)
{
    const auto shown = scene.frame(scene.settings().stream);
    const auto planes = scene.planes();
    if (!shown || planes.empty())
        return;
    const StackMeta& meta = shown->meta;
    float halfWidth = 0, halfHeight = 0;
    for (const StackPlane& plane : planes) {
        halfWidth = std::max(halfWidth, static_cast<float>(plane.halfSize.width()));
        halfHeight = std::max(halfHeight, static_cast<float>(plane.halfSize.height()));
    }
    const auto [near, far] = std::ranges::minmax(meta.depth);
    const auto stretch = static_cast<float>(scene.settings().depthStretch);
    if (far > near) {
        // The axis stands on the side that is turned to the viewer.
        const float side = scene.settings().camera.yawDegrees > 0 ? -1.0F : 1.0F;
        ProjectedAxis axis{.at = {}, .values = {}, .title = meta.depthTitle, .outward = {0, -1, 0}};
        for (const double tick : niceTicks(near, far, 5)) {
            const auto z = static_cast<float>((tick - near) / (far - near) - 0.5) * stretch;
            axis.at.emplace_back(side * halfWidth, -halfHeight - 0.03F, z);
            axis.values << number(tick);
        }
        if (axis.at.size() > 1)
            paintAxis(painter, axis, scene, viewport, palette);
    }
    if (!meta.knowsWidth)
        return;
    const double widest = std::ranges::max(meta.width);
    const float z = far > near ? -0.5F * stretch : 0.0F;
    ProjectedAxis axis{.at = {}, .values = {}, .title = meta.widthTitle, .outward = {0, 1, 0}};
    for (const double tick : niceTicks(-widest / 2, widest / 2, 4)) {
        axis.at.emplace_back(static_cast<float>(tick / widest), halfHeight + 0.03F, z);
        axis.values << number(tick);
    }
    if (axis.at.size() > 1)
        paintAxis(painter, axis, scene, viewport, palette);
}

} // namespace

std::vector<double> niceTicks(double low, double high, int count)
{
    std::vector<double> ticks;
    if (!(high > low) || count < 1)
        return ticks;
    const double raw = (high - low) / count;
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    const double fraction = raw / power;
    const double step = power * (fraction <= 1 ? 1 : fraction <= 2 ? 2 : fraction <= 5 ? 5 : 10);
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
        ticks.push_back(i * step);
    return ticks;
}

void paintOverlay(QPainter& painter, const ViewScene& scene, QSizeF viewport,
                  const QPalette& palette)
{
    painter.setRenderHint(QPainter::Antialiasing);
    const ViewSettings& settings = scene.settings();
    if (settings.mode == ViewMode::Stack3d) {
        paintStackAxes(painter, scene, viewport, palette);
        return;
    }
    const auto panes = scene.panes(viewport);
    for (const Pane& pane : panes)
        paintPaneMarks(painter, scene, pane, palette);
    if (settings.mode == ViewMode::Compare && settings.compare.mode == CompareMode::Wipe &&
        scene.hasPicture())
        paintWipeLine(painter, settings.compare.wipe * viewport.width(), viewport, palette);
    paintColourBarOf(painter, scene, panes, viewport, palette);
}

} // namespace vergence
