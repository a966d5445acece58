#pragma once

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

    bool update() override;
    std::size_t size() const override { return m_size; }
    RawPoint at(std::size_t index, double smoothing) override;
    std::optional<Range> extent(XAxis axis) const override;
    CurvePoints sample(const ChartSettings& settings, Range range, int columns) override;
    std::vector<double> marks(XAxis axis) const override;
    std::optional<std::size_t> nearest(XAxis axis, double x) const override;
    std::optional<double> last() const override;

private:
    double x(XAxis axis, std::size_t index) const;
    /// First index whose x is not below `value`.
    std::size_t lowerIndex(XAxis axis, double value) const;

    const MetricStore* m_store;
    std::string m_name;
    const Series* m_series = nullptr;
    std::size_t m_size = 0;
    Range m_stepExtent, m_wallExtent; // a plugin may report an abscissa that does not rise
    std::vector<std::size_t> m_notFinite;
    SmoothCache m_smooth;
};

} // namespace vergence
