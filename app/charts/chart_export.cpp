#include "app/charts/chart_export.h"

#include <cmath>

#include <QBuffer>
#include <QChart>
#include <QGraphicsScene>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>
#include <QPainter>
#include <QSvgGenerator>
#include <QWidget>

#include "app/charts/chart_card.h"

namespace vergence {
namespace {

constexpr double kImageScale = 2;

QString exact(double value)
{
    if (std::isnan(value))
        return QStringLiteral("nan");
    return QLocale::c().toString(value, 'g', QLocale::FloatingPointShortest);
}

QString axisName(const ChartSettings& settings)
{
    return settings.axis == XAxis::Step ? QStringLiteral("step") : QStringLiteral("wall_s");
}

QString viewText(const ExportView& view)
{
    const QString reference = view.settings.reference.isEmpty()
                                  ? QString()
                                  : QStringLiteral(" difference_to=") + view.settings.reference;
    return QStringLiteral("smoothing=%1 x=%2 range=%3..%4")
               .arg(exact(view.settings.smoothing), axisName(view.settings), exact(view.x.from),
                    exact(view.x.to)) +
           reference;
}

/// Quoted as RFC 4180 wants it where it holds a comma, a quote or a line break.
QString csvText(QString text)
{
    if (!text.contains(u',') && !text.contains(u'"') && !text.contains(u'\n'))
        return text;
    return u'"' + text.replace(QStringLiteral("\""), QStringLiteral("\"\"")) + u'"';
}

QJsonValue jsonNumber(double value)
{
    return std::isfinite(value) ? QJsonValue(value) : QJsonValue();
}

QJsonObject curveAsJson(const ChartCard& card, CurveSource& source, double smoothing)
{
    QJsonArray points;
    for (std::size_t i = 0; i < source.size(); ++i) {
        const RawPoint point = source.at(i, smoothing);
        points.append(QJsonArray{jsonNumber(point.x), jsonNumber(point.wall),
                                 jsonNumber(point.value), jsonNumber(point.smoothed)});
    }
    return {{QStringLiteral("run"), source.id},
            {QStringLiteral("run_name"), source.name},
            {QStringLiteral("name"), card.id()},
            {QStringLiteral("unit"), card.unit()},
            {QStringLiteral("points"), points}};
}

} // namespace

QByteArray chartsAsCsv(const std::vector<ChartCard*>& cards, const ExportView& view)
{
    QString csv = QStringLiteral("# %1\nrun,name,step,wall_s,value,smoothed\n").arg(viewText(view));
    for (const ChartCard* card : cards) {
        for (const auto& source : card->sources()) {
            const QString head = csvText(source->name) + u',' + csvText(card->id()) + u',';
            for (std::size_t i = 0; i < source->size(); ++i) {
                const RawPoint point = source->at(i, view.settings.smoothing);
                csv += head + exact(point.x) + u',' +
                       (source->hasSteps() ? exact(point.wall) : QString()) + u',' +
                       exact(point.value) + u',' + exact(point.smoothed) + u'\n';
            }
        }
    }
    return csv.toUtf8();
}

QByteArray chartsAsJson(const std::vector<ChartCard*>& cards, const ExportView& view)
{
    QJsonArray curves;
    for (const ChartCard* card : cards)
        for (const auto& source : card->sources())
            curves.append(curveAsJson(*card, *source, view.settings.smoothing));
    const QJsonObject root{{QStringLiteral("smoothing"), view.settings.smoothing},
                           {QStringLiteral("axis"), axisName(view.settings)},
                           {QStringLiteral("range"), QJsonArray{view.x.from, view.x.to}},
                           {QStringLiteral("columns"),
                            QJsonArray{QStringLiteral("step"), QStringLiteral("wall_s"),
                                       QStringLiteral("value"), QStringLiteral("smoothed")}},
                           {QStringLiteral("curves"), curves}};
    return QJsonDocument(root).toJson(QJsonDocument::Compact);
}

QByteArray chartAsSvg(const ChartCard& card, const ExportView& view)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    const QRectF area = card.chart()->scene()->sceneRect();
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setSize(area.size().toSize());
    generator.setViewBox(area);
    generator.setTitle(card.title());
    generator.setDescription(viewText(view));
    QPainter painter(&generator);
    card.chart()->scene()->render(&painter, area, area);
    painter.end();
    return bytes;
}

QImage chartsAsImage(QWidget& widget, const ExportView& view)
{
    QImage image(widget.size() * kImageScale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(kImageScale);
    image.fill(widget.palette().color(QPalette::Window));
    widget.render(&image);
    image.setText(QStringLiteral("Description"), viewText(view));
    return image;
}

} // namespace vergence
