#include "app/charts/chart_overlay.h"

#include <QChart>
#include <QGraphicsItem>
#include <QGraphicsLineItem>
#include <QGraphicsRectItem>
#include <QGraphicsTextItem>
#include <QPainter>
#include <QPen>
#include <QTextDocument>

namespace vergence {
namespace {

constexpr double kMarkHeight = 7;
constexpr double kGap = 6; // between line and label

} // namespace

/// Red ticks at the top of the plot. They differ from curves by place, so that they do not rest on
/// colour alone.
class MarkItem : public QGraphicsItem {
public:
    using QGraphicsItem::QGraphicsItem;

    void set(std::vector<double> xs, const QRectF& plot)
    {
        prepareGeometryChange();
        m_xs = std::move(xs);
        m_area = QRectF(plot.left() - 2, plot.top(), plot.width() + 4, kMarkHeight);
    }
    void setColour(const QColor& colour)
    {
        m_colour = colour;
        update();
    }
    int count() const { return static_cast<int>(m_xs.size()); }

    QRectF boundingRect() const override { return m_area; }
    void paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) override
    {
        for (const double x : m_xs)
            painter->fillRect(QRectF(x - 1, m_area.top(), 2, kMarkHeight), m_colour);
    }

private:
    std::vector<double> m_xs;
    QRectF m_area;
    QColor m_colour;
};

ChartOverlay::ChartOverlay(QChart* chart)
    : m_line(new QGraphicsLineItem(chart)),
      m_back(new QGraphicsRectItem(chart)),
      m_text(new QGraphicsTextItem(m_back)),
      m_marks(new MarkItem(chart))
{
    m_marks->setZValue(10);
    m_line->setZValue(20);
    m_back->setZValue(21);
    m_text->document()->setDocumentMargin(3);
    for (QGraphicsItem* item :
         {static_cast<QGraphicsItem*>(m_line), static_cast<QGraphicsItem*>(m_back),
          static_cast<QGraphicsItem*>(m_text)})
        item->setAcceptedMouseButtons(Qt::NoButton);
    hideCross();
}

void ChartOverlay::setColours(const Colours& colours)
{
    m_line->setPen(QPen(colours.line, 1, Qt::DashLine));
    m_back->setPen(QPen(colours.line, 1));
    m_back->setBrush(colours.back);
    m_text->setDefaultTextColor(colours.text);
    m_marks->setColour(colours.mark);
}

void ChartOverlay::showCross(double x, const QRectF& plot, const QString& html)
{
    m_line->setLine(x, plot.top(), x, plot.bottom());
    m_text->setHtml(html);
    const QSizeF size = m_text->boundingRect().size();
    m_back->setRect(QRectF(QPointF(), size));
    const bool fitsRight = x + kGap + size.width() <= plot.right();
    const double leftSide = std::max(plot.left(), x - kGap - size.width());
    m_back->setPos(fitsRight ? x + kGap : leftSide, plot.top() + kMarkHeight);
    m_line->show();
    m_back->setVisible(!html.isEmpty());
}

void ChartOverlay::hideCross()
{
    m_line->hide();
    m_back->hide();
}

bool ChartOverlay::isCrossShown() const
{
    return m_line->isVisible();
}

QString ChartOverlay::crossText() const
{
    return m_text->toPlainText();
}

void ChartOverlay::setMarks(std::vector<double> xs, const QRectF& plot)
{
    m_marks->set(std::move(xs), plot);
}

int ChartOverlay::markCount() const
{
    return m_marks->count();
}

} // namespace vergence
