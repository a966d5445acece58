#include "app/charts/chart_table.h"

#include <algorithm>
#include <cmath>

#include <QLocale>

#include "app/charts/chart_ticks.h"

namespace vergence {
namespace {

enum Column { Name, Abscissa, Wall, Raw, Smoothed, ColumnCount };

QString exact(double value)
{
    const QString word = valueText(value);
    return std::isfinite(value) ? QString::number(value, 'g', QLocale::FloatingPointShortest)
                                : word;
}

} // namespace

void ChartTableModel::setSources(std::vector<CurveSource*> sources, double smoothing)
{
    beginResetModel();
    m_sources = std::move(sources);
    m_smoothing = smoothing;
    m_ends.clear();
    std::size_t end = 0;
    for (const CurveSource* source : m_sources)
        m_ends.push_back(end += source->size());
    endResetModel();
}

void ChartTableModel::refresh()
{
    std::size_t total = 0;
    for (const CurveSource* source : m_sources)
        total += source->size();
    if (m_ends.empty() || total == m_ends.back())
        return;
    if (m_sources.size() == 1 && total > m_ends.back()) { // keeps the selection and the place
        beginInsertRows({}, static_cast<int>(m_ends.back()), static_cast<int>(total) - 1);
        m_ends.back() = total;
        endInsertRows();
    } else {
        setSources(m_sources, m_smoothing);
    }
}

int ChartTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || m_ends.empty() ? 0 : static_cast<int>(m_ends.back());
}

int ChartTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant ChartTableModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    if (role == Qt::TextAlignmentRole && index.column() != Name)
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    const auto row = static_cast<std::size_t>(index.row());
    const auto owner = std::upper_bound(m_ends.begin(), m_ends.end(), row) - m_ends.begin();
    CurveSource& source = *m_sources[static_cast<std::size_t>(owner)];
    const std::size_t begin = owner == 0 ? 0 : m_ends[static_cast<std::size_t>(owner) - 1];
    const RawPoint point = source.at(row - begin, m_smoothing);
    switch (index.column()) {
    case Name:
        return source.name;
    case Abscissa:
        return source.hasSteps() ? QString::number(static_cast<qlonglong>(point.x))
                                 : exact(point.x);
    case Wall:
        return source.hasSteps() ? QString::number(point.wall, 'f', 3) : QString();
    case Raw:
        return exact(point.value);
    default:
        return exact(point.smoothed);
    }
}

QVariant ChartTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (role != Qt::DisplayRole || orientation != Qt::Horizontal)
        return QAbstractTableModel::headerData(section, orientation, role);
    switch (section) {
    case Name:
        return tr("Curve");
    case Abscissa:
        return tr("Step");
    case Wall:
        return tr("Time (s)");
    case Raw:
        return tr("Value");
    default:
        return tr("Smoothed");
    }
}

QString ChartTableModel::text() const
{
    QStringList lines;
    QStringList cells;
    for (int column = 0; column < ColumnCount; ++column)
        cells.append(headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
    lines.append(cells.join(u'\t'));
    for (int row = 0; row < rowCount(); ++row) {
        cells.clear();
        for (int column = 0; column < ColumnCount; ++column)
            cells.append(data(index(row, column), Qt::DisplayRole).toString());
        lines.append(cells.join(u'\t'));
    }
    return lines.join(u'\n') + u'\n';
}

} // namespace vergence
