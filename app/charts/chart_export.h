#pragma once

#include <vector>

#include <QByteArray>
#include <QImage>

#include "app/charts/curve_source.h"

class QWidget;

namespace vergence {

class ChartCard;

/// How the charts were shown, for the exports to state.
struct ExportView {
    ChartSettings settings;
    Range x;
};

/// Every raw point of the cards: comment lines that state smoothing and range, then
/// `run,name,step,wall_s,value,smoothed`.
QByteArray chartsAsCsv(const std::vector<ChartCard*>& cards, const ExportView& view);
/// The same as one JSON object; values that are not finite are null.
QByteArray chartsAsJson(const std::vector<ChartCard*>& cards, const ExportView& view);
/// The card as it stands, as a vector drawing.
QByteArray chartAsSvg(const ChartCard& card, const ExportView& view);
/// A picture of a widget at twice its size, with the view in its text keys.
QImage chartsAsImage(QWidget& widget, const ExportView& view);

} // namespace vergence
