#pragma once

#include <map>

#include <QElapsedTimer>
#include <QTimer>

#include "app/charts/chart_card.h"
#include "app/charts/chart_export.h"
#include "app/charts/charts_panel.h"
#include "app/charts/zoom_stack.h"

class QLabel;
class QStackedWidget;
class QTableView;

namespace vergence {

class ChartGrid;
class ChartTableModel;
class ChartToolbar;

/// State and widgets of the panel. panel_view.cpp builds it and holds zoom, table and export;
/// charts_panel.cpp feeds the cards, panel_draw.cpp draws them.
struct ChartsPanel::Impl {
    explicit Impl(ChartsPanel* owner);
    ~Impl();

    // panel_view.cpp
    void build();
    QWidget* makeTablePage();
    void connectToolbar();
    void connectCard(ChartCard* card);
    void zoom(const ChartCard& card, std::optional<Range> x, std::optional<Range> y,
              bool isContinued);
    void zoomChanged();
    void showTable(ChartCard* card);
    void hideTable();
    void exportAs(const QString& format, bool ofAll);
    void write(const QString& format, ChartCard* card, const QString& path);
    ExportView exportView() const;
    void moveCross(ChartCard* card, std::optional<double> x);

    // charts_panel.cpp
    void syncSeries();
    const MetricDecl* declaredFor(const std::string& name,
                                  const std::vector<const ChartedRun*>& having) const;
    void fillCard(ChartCard* card, const QString& series);
    void applyReference(ChartCard& card);
    void fillTable(ChartCard* card, const ChartTable& table);
    void syncTables();
    ChartCard* cardFor(const QString& id);
    void arrange();
    void schedule();
    void tick();
    bool takeOverPoints();
    void draw(ChartCard& card);
    Range fullRange() const;
    void markAllDirty();

    ChartsPanel* panel;
    std::vector<MetricDecl> declarations;
    std::vector<ChartedRun> runs;
    std::vector<ChartTable> tables;
    std::map<QString, ChartCard*> cards; // by id
    std::vector<ChartCard*> ordered;     // as they are shown
    ChartCard* current = nullptr;        // used last
    ZoomStack zooms;
    ChartCard* zoomedCard = nullptr; // whose gesture the newest zoom is part of
    QElapsedTimer sinceZoom;
    Range shownX; // common to all series
    QTimer timer;
    QElapsedTimer sinceDrawn;
    qint64 restMs = 0;        // from one redraw to the next
    std::size_t nextCard = 0; // where the next redraw goes on
    bool hasNewPoints = false, isDark = false;

    ChartToolbar* toolbar = nullptr;
    QStackedWidget* pages = nullptr;
    QLabel* empty = nullptr;
    ChartGrid* grid = nullptr;
    QWidget* tablePage = nullptr;
    QLabel* tableTitle = nullptr;
    QTableView* tableView = nullptr;
    ChartTableModel* tableModel = nullptr;
    ChartCard* tableCard = nullptr;
};

} // namespace vergence
