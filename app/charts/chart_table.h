#pragma once

#include <vector>

#include <QAbstractTableModel>

#include "app/charts/curve_source.h"

namespace vergence {

/// The raw points of a card as a table; the accessible form of a chart. Reads from the sources,
/// copies nothing.
class ChartTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;

    /// The sources must live until the next call; empty for none.
    void setSources(std::vector<CurveSource*> sources, double smoothing);
    void refresh(); ///< rows that have come since

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// All of it as text with tabs, for the clipboard.
    QString text() const;

private:
    std::vector<CurveSource*> m_sources;
    std::vector<std::size_t> m_ends; // rows up to and with each source
    double m_smoothing = 0;
};

} // namespace vergence
