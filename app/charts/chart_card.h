#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QFrame>

#include "app/charts/chart_axes.h"
#include "app/charts/curve_source.h"

class QChart;
class QLabel;
class QToolButton;

namespace vergence {

class ChartCurves;
class ChartOverlay;
class ChartView;

/// One chart with its title, its legend and the keys and mouse gestures that move in it. Draws only
/// when told to.
class ChartCard : public QFrame {
    Q_OBJECT
public:
    ChartCard(const QString& id, QWidget* parent);
    ~ChartCard() override;

    using Sources = std::vector<std::unique_ptr<CurveSource>>;

    const QString& id() const { return m_id; } ///< name of the series, or "table/<id>"
    /// `group` stands before the title; empty: the part of the id before "/".
    void setTitle(const QString& title, const QString& unit, const QString& group = {});
    QString title() const { return m_title; }
    QString unit() const { return m_unit; }
    QString group() const { return m_group; } ///< as declared
    void setSources(Sources sources);
    const Sources& sources() const { return m_sources; }
    Sources takeSources();
    bool isTable() const;
    bool isPinned() const;
    QWidget* pinButton() const;
    void setDark(bool dark);

    void markDirty() { m_isDirty = true; }
    bool isDirty() const { return m_isDirty; }
    /// Draws over `x`, and over `y` or else over what fits the points.
    void redraw(const ChartSettings& settings, Range x, std::optional<Range> y);
    Range xRange() const { return m_axes->x(); }
    Range yRange() const { return m_axes->y(); }
    const QChart* chart() const { return m_chart; }
    int markCount() const;
    int drawnPoints() const; ///< over all curves

    void showCross(std::optional<double> x);
    QString crossText() const; ///< empty while no cross-hair is shown

Q_SIGNALS:
    void zoomRequested(std::optional<vergence::Range> x, std::optional<vergence::Range> y,
                       bool isContinued);
    void fitRequested();
    void crossMoved(std::optional<double> x);
    void tableRequested();
    void pinToggled();
    void becameCurrent();
    void redrawRequested();
    void pointClicked(int curve, int index);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void buildHeader();
    void connectView();
    void restyle();
    void showFacts(bool leftOut);
    void fitHeader();
    QString fullTitle() const; // with the unit, unless it stands behind the newest value
    QString legendHtml() const;
    QString crossHtml(double x) const;
    void zoomAround(double x, double factor);
    void moveCross(int points);
    void clickNear(const QPointF& pixel);

    QString m_id, m_title, m_unit, m_group;
    ChartSettings m_settings;
    Sources m_sources;
    bool m_isDirty = true, m_isDark = false;
    std::optional<double> m_cross;
    QChart* m_chart;
    ChartView* m_view;
    std::unique_ptr<ChartAxes> m_axes;
    ChartCurves* m_curves; // belongs to the chart
    std::unique_ptr<ChartOverlay> m_overlay;
    QLabel* m_groupLabel;
    QLabel* m_titleLabel;
    QLabel* m_valueLabel;
    QLabel* m_legend;
    QLabel* m_note;
    QToolButton* m_pin;
};

} // namespace vergence
