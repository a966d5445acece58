#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <QColor>
#include <QPointF>
#include <QString>

#include "app/charts/zoom_stack.h"
#include "core/metrics/metric_store.h"

namespace vergence {

/// What all charts have in common, from the toolbar.
struct ChartSettings {
    XAxis axis = XAxis::Step;
    double smoothing = 0; ///< in [0, 1)
    bool ignoreOutliers =
        false; ///< the Y range leaves out the highest and the lowest 5 % of what is drawn
    bool isLogY = false;
    bool isFollowing = false; ///< a zoomed X range moves on with the newest point
    bool isLinked = true;     ///< the cross-hair of one chart stands in all
    int columns = 0;          ///< of cards, 1 to 3; 0 for as many as fit
    QString
        reference; ///< id of the run whose values are subtracted from all others; empty for none
};

/// Points of one curve, thinned out for drawing, in data units and ordered by x.
struct CurvePoints {
    std::vector<QPointF>
        band; ///< minimum and maximum of each column; empty where the line says it all
    std::vector<QPointF> line;
};

/// One raw number of a curve.
struct RawPoint {
    double x = 0;    ///< step, or the abscissa of a table
    double wall = 0; ///< seconds since the start; NaN for tables
    double value = 0;
    double smoothed = 0;
};

/// One curve of a card: the series of one run or one column of a table.
class CurveSource {
public:
    virtual ~CurveSource() = default;

    /// Takes over what has come; true where there is something new.
    virtual bool update() = 0;
    virtual std::size_t size() const = 0;
    virtual RawPoint at(std::size_t index, double smoothing) = 0;
    virtual std::optional<Range> extent(XAxis axis) const = 0;
    /// At most `columns` columns over `range`.
    virtual CurvePoints sample(const ChartSettings& settings, Range range, int columns) = 0;
    /// Positions of values that are NaN or infinite.
    virtual std::vector<double> marks(XAxis axis) const = 0;
    /// Index of the point at or next to `x`; empty where there is none.
    virtual std::optional<std::size_t> nearest(XAxis axis, double x) const = 0;
    /// The last number, as it stands in the title.
    virtual std::optional<double> last() const = 0;
    virtual bool hasSteps() const { return true; } ///< false for tables: X has one meaning only

    QString id, name; ///< of the run, or of the column
    QColor colour;
};

} // namespace vergence
