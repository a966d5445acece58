#include "app/viewport/pane_layout.h"

#include <algorithm>
#include <cmath>

namespace vergence {
namespace {

constexpr double kGap = 6;
constexpr double kLabelHeight = 20;
constexpr double kSmallestZoom = 0.1, kLargestZoom = 200;

} // namespace

double fitScale(QSizeF area, QSizeF picture)
{
    if (picture.isEmpty())
        return 1;
    return std::max(1e-6,
                    std::min(area.width() / picture.width(), area.height() / picture.height()));
}

QRectF pictureRect(const QRectF& area, QSizeF picture, const ImageTransform& transform)
{
    const double scale = fitScale(area.size(), picture) * transform.zoom;
    const QSizeF size = picture * scale;
    const QPointF offset(transform.centre.x() * size.width(), transform.centre.y() * size.height());
    // Whole pixels, so that 1:1 copies pixels and halves of a wipe never overlap by a fraction.
    const QPointF corner = area.center() - offset;
    return QRectF(QPointF(std::round(corner.x()), std::round(corner.y())), size);
}

QPointF toPicture(QPointF point, const QRectF& area, QSizeF picture,
                  const ImageTransform& transform)
{
    const QRectF rect = pictureRect(area, picture, transform);
    return {(point.x() - rect.left()) / rect.width() * picture.width(),
            (point.y() - rect.top()) / rect.height() * picture.height()};
}

ImageTransform zoomedAt(const ImageTransform& transform, QPointF point, const QRectF& area,
                        QSizeF picture, double factor)
{
    ImageTransform result = transform;
    result.zoom = std::clamp(transform.zoom * factor, kSmallestZoom, kLargestZoom);
    const QPointF from = point - area.center();
    const QSizeF fitted = picture * fitScale(area.size(), picture);
    const double shrink = 1 / transform.zoom - 1 / result.zoom;
    result.centre +=
        QPointF(from.x() / fitted.width() * shrink, from.y() / fitted.height() * shrink);
    return result;
}

ImageTransform panned(const ImageTransform& transform, QPointF pixels, const QRectF& area,
                      QSizeF picture)
{
    ImageTransform result = transform;
    const QSizeF size = picture * fitScale(area.size(), picture) * transform.zoom;
    result.centre -= QPointF(pixels.x() / size.width(), pixels.y() / size.height());
    result.centre.setX(std::clamp(result.centre.x(), 0.0, 1.0));
    result.centre.setY(std::clamp(result.centre.y(), 0.0, 1.0));
    return result;
}

std::vector<QRectF> gridCells(QSizeF viewport, int count, QSizeF picture)
{
    int bestColumns = 1;
    double bestScale = 0;
    for (int columns = 1; columns <= count; ++columns) {
        const int rows = (count + columns - 1) / columns;
        const QSizeF cell(viewport.width() / columns - kGap,
                          viewport.height() / rows - kGap - kLabelHeight);
        if (cell.isEmpty())
            continue;
        const double scale = fitScale(cell, picture);
        if (scale > bestScale) {
            bestScale = scale;
            bestColumns = columns;
        }
    }
    const int rows = std::max(1, (count + bestColumns - 1) / bestColumns);
    const double width = viewport.width() / bestColumns, height = viewport.height() / rows;
    std::vector<QRectF> cells;
    for (int i = 0; i < count; ++i)
        cells.emplace_back((i % bestColumns) * width + kGap / 2,
                           (i / bestColumns) * height + kGap / 2 + kLabelHeight, width - kGap,
                           std::max(1.0, height - kGap - kLabelHeight));
    return cells;
}

} // namespace vergence
