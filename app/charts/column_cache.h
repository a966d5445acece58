#pragma once

#include <cstdint>
#include <vector>

#include "app/charts/zoom_stack.h"
#include "core/metrics/metric_store.h"

namespace vergence {

/// Minima and maxima of a growing series in columns of equal width. The columns stand on a fixed
/// grid instead of dividing what is shown, so that a new point changes the last column only and a
/// refresh costs the same however long the series is.
class ColumnCache {
public:
    /// Columns over `range`, between 8/9 of `columns` and one more where there are points in
    /// all of them; in rising x. The abscissa of the series must rise.
    std::vector<Series::Bucket> columns(const Series& series, XAxis axis, Range range, int columns);
    void clear() { m_columns.clear(); }

    /// Width of the grid's columns: the next of eight widths from one power of two to the other.
    static double gridWidth(double atLeast);

private:
    struct Column {
        std::int64_t index;
        Series::Bucket bucket;
    };

    XAxis m_axis = XAxis::Step;
    double m_width = 0;
    std::int64_t m_open = 0; // from this column on there may be news
    std::vector<Column> m_columns;
};

} // namespace vergence
