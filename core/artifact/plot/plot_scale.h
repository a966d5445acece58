#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/artifact/plot/plot.h"

namespace vergence::plot {

/// From data to the units of a drawing along one axis, with its ticks.
class PlotScale {
public:
    /// `values`: everything to be seen; `from`, `to`: where the axis begins and ends.
    PlotScale(const PlotAxis& axis, std::span<const double> values, double from, double to);

    double operator()(double value) const;
    bool shows(double value) const; ///< finite, and above 0 on a logarithmic axis
    double clamped(double value) const;
    /// The same axis between other ends.
    void place(double from, double to);
    /// Widens to `span` (in data units, linear axes) about the middle.
    void widen(double span);

    struct Tick {
        double value;
        std::string text;
    };
    std::vector<Tick> ticks(int count) const;
    /// Title with the power of ten that the ticks leave out.
    std::string title() const;
    double low() const { return m_low; }
    double high() const { return m_high; }

private:
    double along(double value) const;
    int power() const; ///< power of ten taken out of the labels

    PlotAxis m_axis;
    double m_low = 0, m_high = 1, m_from, m_to;
};

} // namespace vergence::plot
