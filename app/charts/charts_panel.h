#pragma once

#include <memory>
#include <string>
#include <vector>

#include <QColor>
#include <QWidget>

#include "core/metrics/metric_decl.h"
#include "core/metrics/metric_store.h"

namespace vergence {

/// One run in the charts. `store` is asked again whenever refresh() is called and must live until
/// the run is removed.
struct ChartedRun {
    QString id, name;
    QColor colour;
    const MetricStore* store = nullptr;
    std::vector<MetricDecl> metrics = {}; ///< what its lab declares; labs may share names
};

/// A table that a run reported, for curves with an abscissa of their own (a sweep): columns and
/// rows.
struct ChartTable {
    QString id, title;
    QStringList columns;                   ///< first one is the abscissa
    std::vector<std::vector<double>> rows; ///< NaN where there is no number
};

/// Grid of charts (`chartGrid`), one card per series name over all charted runs, in the order of
/// the declarations; the part of a name before "/" stands in front of the title. Toolbar: X axis,
/// smoothing, outliers, log Y, linked cross-hair, follow, zoom back and forward, columns, export.
/// Drawn by Qt Charts with replace() and at most 2 points per pixel column.
class ChartsPanel : public QWidget {
    Q_OBJECT
public:
    explicit ChartsPanel(QWidget* parent = nullptr);
    ~ChartsPanel() override;

    /// Order of the cards; titles and units where a run brings no declarations of its own.
    void setDeclarations(const std::vector<MetricDecl>& metrics);
    void setRuns(const std::vector<ChartedRun>& runs);
    /// Tables without a column of numbers over an abscissa of numbers get no card.
    void setTables(const std::vector<ChartTable>& tables);
    /// New points have come; cards whose series grew are redrawn, at most 30 times a second and
    /// only while visible.
    void refresh();
    void setDarkPalette(bool dark);
    int pointCount(const QString& series) const; ///< raw points over all runs; for tests

Q_SIGNALS:
    void tableRowActivated(const QString& table, int row);
    void exported(const QString& path);         ///< a file of the Export menu is written
    void exportFailed(const QString& sentence); ///< what could not be written and why

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
