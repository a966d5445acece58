#pragma once

#include "app/charts/column_cache.h"
#include "app/charts/curve_source.h"
#include "app/charts/smooth_cache.h"

namespace vergence {

/// The series `series` of one run's store.
class SeriesSource : public CurveSource {
public:
    SeriesSource(const MetricStore* store, std::string series)
        : m_store(store),
          m_name(std::move(series))
    {
    }

    const MetricStore* store() const { return m_store; }
    /// From now on the values less those of `reference` at the same steps (between two of its steps
    /// on the line that joins them), as far as it has come; null: the values themselves. True
    /// where that is another one than before.
    bool setReference(const MetricStore* reference);

    bool update() override;
    std::size_t size() const override { return m_size; }
    RawPoint at(std::size_t index, double smoothing) override;
    std::optional<Range> extent(XAxis axis) const override;
    CurvePoints sample(const ChartSettings& settings, Range range, int columns) override;
    std::vector<double> marks(XAxis axis) const override;
    std::optional<std::size_t> nearest(XAxis axis, double x) const override;
    std::optional<double> last() const override;

private:
    void takeOver();
    void extendDifference(const Series& own, const Series& reference);
    void forget();
    double x(XAxis axis, std::size_t index) const;
    /// First index whose x is not below `value`.
    std::size_t lowerIndex(XAxis axis, double value) const;
    std::vector<Series::Bucket> bucketsOf(XAxis axis, std::size_t first, std::size_t end,
                                          int columns);

    const MetricStore* m_store;
    const MetricStore* m_reference = nullptr;
    std::string m_name;
    const Series* m_series = nullptr; // what is shown: the run's own, or m_difference
    Series m_difference;
    std::size_t m_compared = 0; // points of the run's own that m_difference has judged
    std::size_t m_size = 0;
    Range m_stepExtent, m_wallExtent; // a plugin may report an abscissa that does not rise
    std::vector<std::size_t> m_notFinite;
    SmoothCache m_smooth;
    ColumnCache m_columns;
    bool m_areStepsRising = true, m_areWallsRising = true;
};

} // namespace vergence
