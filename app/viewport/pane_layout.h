#pragma once

#include <string>
#include <vector>

#include <QRectF>
#include <QString>

namespace vergence {

/// Where flat pictures are seen: zoom relative to fitting the pane, and the point of the picture in
/// the pane's centre.
struct ImageTransform {
    double zoom = 1; ///< 1 fits the whole picture
    /// Fraction of width and height, so that pictures of different sizes stay together.
    QPointF centre{0.5, 0.5};
};

/// One flat picture, or the difference of two, in a rectangle of the view (logical pixels).
struct Pane {
    enum class Operation { Picture, AbsoluteDifference, SignedDifference };
    QRectF area;                   ///< the picture is fitted into this
    QRectF clip;                   ///< only this part is drawn
    std::string stream{}, other{}; ///< `other`: subtracted in differences
    int layer = 0, otherLayer = 0;
    Operation operation = Operation::Picture;
    QString label{};
    bool isSelected = false;
};

/// Scale (logical pixels per picture pixel) that fits a picture into an area.
double fitScale(QSizeF area, QSizeF picture);
/// Rectangle that the whole picture covers.
QRectF pictureRect(const QRectF& area, QSizeF picture, const ImageTransform& transform);
/// Picture pixel under a point of the view, not clamped.
QPointF toPicture(QPointF point, const QRectF& area, QSizeF picture,
                  const ImageTransform& transform);
/// The transform with `factor` times the zoom that keeps what is under `point` where it is.
ImageTransform zoomedAt(const ImageTransform& transform, QPointF point, const QRectF& area,
                        QSizeF picture, double factor);
ImageTransform panned(const ImageTransform& transform, QPointF pixels, const QRectF& area,
                      QSizeF picture);

/// Cells of a grid for `count` pictures of one aspect, as large as possible, row by row.
std::vector<QRectF> gridCells(QSizeF viewport, int count, QSizeF picture);

} // namespace vergence
