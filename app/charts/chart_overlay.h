#pragma once

#include <vector>

#include <QColor>
#include <QRectF>
#include <QString>

class QChart;
class QGraphicsLineItem;
class QGraphicsRectItem;
class QGraphicsTextItem;

namespace vergence {

class MarkItem;

/// What lies over the curves of a card: the cross-hair with its label, and red ticks where a value
/// is not finite.
class ChartOverlay {
public:
    explicit ChartOverlay(QChart* chart);

    struct Colours {
        QColor line, text, back, mark;
    };
    void setColours(const Colours& colours);
    /// The cross-hair at `x` pixels with `html` beside it.
    void showCross(double x, const QRectF& plot, const QString& html);
    void hideCross();
    bool isCrossShown() const;
    QString crossText() const;
    /// Ticks hanging from the top of the plot at these pixels.
    void setMarks(std::vector<double> xs, const QRectF& plot);
    int markCount() const;

private:
    QGraphicsLineItem* m_line;
    QGraphicsRectItem* m_back;
    QGraphicsTextItem* m_text;
    MarkItem* m_marks;
};

} // namespace vergence
