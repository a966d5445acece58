#include "app/charts/chart_card.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <QChart>
#include <QGraphicsLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QStyleOptionFocusRect>
#include <QStylePainter>
#include <QToolButton>

#include "app/charts/chart_colours.h"
#include "app/charts/chart_curves.h"
#include "app/charts/chart_overlay.h"
#include "app/charts/chart_view.h"
#include "app/charts/curve_range.h"

namespace vergence {
namespace {

constexpr int kSmoothlyDrawn = 3000;   // points up to which lines are antialiased
constexpr std::size_t kManyCurves = 4; // above, a column is two pixels wide
constexpr int kHeaderSpacing = 6, kTitleMinimumWidth = 40, kNameMinimumWidth = 24;

/// The declared group, or the part of a name before "/", as a heading; empty where the title says
/// it already.
QString groupOf(const QString& id, const QString& title, const QString& declared)
{
    QString group = id.contains(u'/') ? id.section(u'/', 0, 0) : QString();
    const auto letters = [](const QString& text) {
        QString kept;
        std::copy_if(text.begin(), text.end(), std::back_inserter(kept),
                     [](QChar c) { return c.isLetterOrNumber(); });
        return kept.toLower();
    };
    if (group.isEmpty() || letters(title).startsWith(letters(group)))
        return {};
    if (!declared.isEmpty())
        return declared;
    group.replace(u'_', u' ');
    group[0] = group[0].toUpper();
    return group;
}

QPolygonF toPlot(std::vector<QPointF> points, const ChartAxes& axes)
{
    if (axes.isLogY())
        for (QPointF& point : points)
            point.setY(axes.toPlotY(point.y()));
    return QPolygonF(QList<QPointF>(points.begin(), points.end()));
}

} // namespace

ChartCard::ChartCard(const QString& id, QWidget* parent)
    : QFrame(parent),
      m_id(id),
      m_chart(new QChart),
      m_view(new ChartView(m_chart, this)),
      m_axes(std::make_unique<ChartAxes>(m_chart)),
      m_curves(new ChartCurves(m_chart, *m_axes)),
      m_overlay(std::make_unique<ChartOverlay>(m_chart)),
      m_groupLabel(new QLabel(this)),
      m_titleLabel(new QLabel(this)),
      m_valueLabel(new QLabel(this)),
      m_legend(new QLabel(this)),
      m_note(new QLabel(tr("Values ≤ 0 are left out."), this)),
      m_pin(new QToolButton(this))
{
    setObjectName(QStringLiteral("chartCard/") + id);
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_chart->legend()->hide();
    m_chart->setMargins(QMargins(2, 5, 10, 0));
    m_chart->layout()->setContentsMargins(0, 0, 0, 0);
    m_chart->setBackgroundRoundness(0);
    m_chart->setAnimationOptions(QChart::NoAnimation);
    m_chart->setAcceptHoverEvents(false);
    buildHeader();
    connectView();
    restyle();
}

ChartCard::~ChartCard() = default;

void ChartCard::buildHeader()
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 2, 2, 2);
    column->setSpacing(0);
    auto* header = new QHBoxLayout;
    header->setSpacing(kHeaderSpacing);
    header->addWidget(m_groupLabel);
    header->addWidget(m_titleLabel);
    header->addWidget(m_valueLabel);
    header->addStretch(1);
    header->addWidget(m_pin);
    column->addLayout(header);
    column->addWidget(m_legend);
    column->addWidget(m_view, 1);
    column->addWidget(m_note);
    for (QLabel* label : {m_groupLabel, m_titleLabel, m_valueLabel})
        label->setMinimumWidth(1); // a long title must not make the card wider
    QFont bold = m_titleLabel->font();
    bold.setBold(true);
    m_titleLabel->setFont(bold);
    m_legend->setTextFormat(Qt::RichText);
    m_legend->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_legend->setObjectName(QStringLiteral("chartLegend"));
    m_valueLabel->setObjectName(QStringLiteral("chartValue"));
    m_note->setObjectName(QStringLiteral("chartNote"));
    m_note->hide();
    m_pin->setText(tr("Pin"));
    m_pin->setObjectName(QStringLiteral("chartPin"));
    m_pin->setCheckable(true);
    m_pin->setAutoRaise(true);
    m_pin->setToolTip(tr("Keep this chart at the top"));
    connect(m_pin, &QToolButton::toggled, this, &ChartCard::pinToggled);
}

void ChartCard::connectView()
{
    connect(m_view, &ChartView::hovered, this, [this](const QPointF& at) {
        const bool isInside = m_chart->plotArea().contains(at);
        Q_EMIT crossMoved(isInside ? std::optional(m_axes->xAtPixel(at.x())) : std::nullopt);
    });
    connect(m_view, &ChartView::left, this, [this] { Q_EMIT crossMoved(std::nullopt); });
    connect(m_view, &ChartView::boxDrawn, this, [this](const QRectF& box) {
        Q_EMIT zoomRequested(Range{m_axes->xAtPixel(box.left()), m_axes->xAtPixel(box.right())},
                             Range{m_axes->yAtPixel(box.bottom()), m_axes->yAtPixel(box.top())},
                             false);
    });
    connect(
        m_view, &ChartView::wheelTurned, this,
        [this](const QPointF& at, double factor, bool isVertical) {
            if (!isVertical)
                return Q_EMIT zoomRequested(
                    scaledAround(xRange(), m_axes->xAtPixel(at.x()), factor), std::nullopt, true);
            const QRectF plot =
                m_chart->plotArea(); // by pixels, so that it is right on a logarithmic axis as well
            const double top = at.y() + (plot.top() - at.y()) * factor;
            const double bottom = at.y() + (plot.bottom() - at.y()) * factor;
            Q_EMIT zoomRequested(std::nullopt,
                                 Range{m_axes->yAtPixel(bottom), m_axes->yAtPixel(top)}, true);
        });
    connect(m_view, &ChartView::panned, this, [this](const QPointF& by, bool isContinued) {
        const QRectF plot = m_chart->plotArea();
        Q_EMIT zoomRequested(
            Range{m_axes->xAtPixel(plot.left() - by.x()), m_axes->xAtPixel(plot.right() - by.x())},
            Range{m_axes->yAtPixel(plot.bottom() - by.y()), m_axes->yAtPixel(plot.top() - by.y())},
            isContinued);
    });
    connect(m_view, &ChartView::doubleClicked, this, &ChartCard::fitRequested);
    connect(m_view, &ChartView::clicked, this, &ChartCard::clickNear);
    connect(m_chart, &QChart::plotAreaChanged, this, [this] {
        m_curves->plotAreaMoved();
        markDirty();
        Q_EMIT redrawRequested();
    });
}

void ChartCard::setTitle(const QString& title, const QString& unit, const QString& group)
{
    m_title = title;
    m_unit = unit;
    m_group = group;
    const bool isTableId = m_id.startsWith(QLatin1String("table/"));
    m_groupLabel->setText(isTableId ? QString() : groupOf(m_id, title, group));
    m_titleLabel->setToolTip(tr("%1: %2").arg(m_id, m_title));
    fitHeader();
    m_pin->setAccessibleName(tr("Pin %1").arg(title));
    setAccessibleName(tr("Chart of %1").arg(title));
    m_view->setAccessibleName(tr("Chart of %1").arg(title));
    markDirty();
}

void ChartCard::setSources(Sources sources)
{
    m_curves->setCurves({});
    m_sources = std::move(sources);
    restyle();
    markDirty();
}

QString ChartCard::fullTitle() const
{
    const bool isSaid = m_unit.isEmpty() || !m_valueLabel->text().isEmpty();
    return isSaid ? m_title : tr("%1 (%2)").arg(m_title, m_unit);
}

void ChartCard::fitHeader()
{
    const auto widthOf = [](const QLabel* label, const QString& text) {
        return text.isEmpty() ? 0 : label->fontMetrics().horizontalAdvance(text) + kHeaderSpacing;
    };
    const QMargins margins = layout()->contentsMargins();
    int room = contentsRect().width() - margins.left() - margins.right() -
               m_pin->sizeHint().width() - kHeaderSpacing -
               widthOf(m_valueLabel, m_valueLabel->text());
    const int group = widthOf(m_groupLabel, m_groupLabel->text());
    const bool hasGroup = group > 0 && group + widthOf(m_titleLabel, fullTitle()) <= room;
    m_groupLabel->setVisible(hasGroup);
    if (hasGroup)
        room -= group;
    m_titleLabel->setText(m_titleLabel->fontMetrics().elidedText(
        fullTitle(), Qt::ElideRight, std::max(room - kHeaderSpacing, kTitleMinimumWidth)));
}

void ChartCard::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fitHeader();
}

ChartCard::Sources ChartCard::takeSources()
{
    m_curves->setCurves({}); // a curve is never without its source
    return std::exchange(m_sources, {});
}

bool ChartCard::isTable() const
{
    return !m_sources.empty() && !m_sources.front()->hasSteps();
}

bool ChartCard::isPinned() const
{
    return m_pin->isChecked();
}

QWidget* ChartCard::pinButton() const
{
    return m_pin;
}

void ChartCard::setDark(bool dark)
{
    m_isDark = dark;
    restyle();
}

void ChartCard::redraw(const ChartSettings& settings, Range x, std::optional<Range> y)
{
    m_view->fit();
    m_settings = settings;
    m_isDirty = false;
    x = widened(x);
    const double width = m_chart->plotArea().width();
    const int columns =
        std::max(20, static_cast<int>(m_sources.size() > kManyCurves ? width / 2 : width));
    std::vector<CurvePoints> curves;
    bool isLeftOut = false;
    std::vector<double> marks;
    for (const auto& source : m_sources) {
        curves.push_back(source->sample(settings, x, columns));
        if (settings.isLogY)
            isLeftOut = removeNotPositive(curves.back()) || isLeftOut;
        for (const double at : source->marks(settings.axis))
            if (at >= x.from && at <= x.to)
                marks.push_back(at);
    }
    if (y && settings.isLogY && y->from <= 0)
        y = std::nullopt;

    m_axes->setRanges(x, y.value_or(fittingY(curves, x, settings)), settings, !isTable());
    std::vector<ChartCurves::Curve> shown;
    for (CurvePoints& curve : curves) {
        // Rows of a table can be clicked, and a single point has no line.
        const bool hasDots = isTable() || curve.line.size() == 1;
        shown.push_back({toPlot(std::move(curve.band), *m_axes),
                         toPlot(std::move(curve.line), *m_axes), hasDots});
    }
    m_curves->setCurves(std::move(shown));
    m_view->setRenderHint(QPainter::Antialiasing, drawnPoints() <= kSmoothlyDrawn);

    const QRectF plot = m_chart->plotArea();
    for (double& mark : marks)
        mark = std::round(m_axes->pixelOf(mark, 1).x());
    std::sort(marks.begin(), marks.end());
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    m_overlay->setMarks(std::move(marks), plot);
    showFacts(isLeftOut);
    if (m_cross)
        showCross(m_cross);
}

void ChartCard::showFacts(bool isLeftOut)
{
    m_note->setVisible(isLeftOut);
    const auto last = m_sources.size() == 1 ? m_sources.front()->last() : std::nullopt;
    m_valueLabel->setText(last ? (valueText(*last) + u' ' + m_unit).trimmed() : QString());
    fitHeader();
    m_legend->setVisible(m_sources.size() > 1);
    if (m_sources.size() > 1)
        m_legend->setText(legendHtml());
}

QString ChartCard::legendHtml() const
{
    QStringList parts;
    const QFontMetrics metrics = m_legend->fontMetrics();
    int room = width() - 16;
    for (const auto& source : m_sources) {
        const bool isLast = parts.size() + 1 == static_cast<qsizetype>(m_sources.size());
        const int kept = metrics.horizontalAdvance(QStringLiteral("■   ")) +
                         (isLast ? 0 : metrics.horizontalAdvance(tr("+%1 more").arg(99)));
        const auto last = source->last();
        const QString value = last ? u' ' + valueText(*last) : QString();
        QString name = source->name;
        if (parts.isEmpty()) // the first is there in any case
            name = metrics.elidedText(
                name, Qt::ElideMiddle,
                std::max(kNameMinimumWidth, room - kept - metrics.horizontalAdvance(value)));
        const QString text = name + value;
        if (metrics.horizontalAdvance(text) + kept > room && !parts.isEmpty())
            break;
        room -= metrics.horizontalAdvance(text) + metrics.horizontalAdvance(QStringLiteral("■   "));
        const QColor colour = readableColour(source->colour, palette().color(QPalette::Base));
        parts.append(
            QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2")
                .arg(colour.name(), text.toHtmlEscaped().replace(u' ', QStringLiteral("&nbsp;"))));
    }
    const qsizetype more = static_cast<qsizetype>(m_sources.size()) - parts.size();
    if (more > 0)
        parts.append(tr("+%1 more").arg(more));
    return parts.join(QStringLiteral("&nbsp;&nbsp; "));
}

int ChartCard::markCount() const
{
    return m_overlay->markCount();
}

int ChartCard::drawnPoints() const
{
    return m_curves->pointCount();
}

void ChartCard::restyle()
{
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    m_chart->setBackgroundBrush(base);
    m_chart->setBackgroundPen(Qt::NoPen);
    m_view->setBackgroundBrush(base);
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.85);
    m_axes->restyle(palette(), small);
    m_overlay->setColours({quietTextColour(palette()), text, base, markColour(m_isDark)});
    m_view->setBoxColour(palette().color(QPalette::Highlight));
    QPalette quiet = palette();
    quiet.setColor(QPalette::WindowText, quietTextColour(palette()));
    m_note->setPalette(quiet);
    m_groupLabel->setPalette(quiet);
    std::vector<QColor> colours;
    for (const auto& source : m_sources)
        colours.push_back(readableColour(source->colour, base));
    m_curves->setColours(std::move(colours));
    markDirty();
    Q_EMIT redrawRequested();
}

} // namespace vergence
