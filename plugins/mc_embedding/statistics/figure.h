#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace vergence::mc_embedding {

/// A number, or the reason why there is none. In JSON: the number, or null with a sibling
/// `<name>_reason`.
struct Figure {
    double value = std::numeric_limits<double>::quiet_NaN();
    std::string reason; ///< "needs two trials"; empty where there is a value

    Figure() = default;
    Figure(double number) : value(number) {}
    static Figure none(std::string why)
    {
        Figure figure;
        figure.reason = std::move(why);
        return figure;
    }
    bool exists() const { return std::isfinite(value); }
};

/// Row-major matrix of doubles on the host.
struct Matrix {
    std::size_t rows = 0, columns = 0;
    std::vector<double> values;

    Matrix() = default;
    Matrix(std::size_t r, std::size_t c, double fill = 0) : rows(r), columns(c), values(r * c, fill)
    {
    }
    double& operator()(std::size_t r, std::size_t c) { return values[r * columns + c]; }
    double operator()(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};

} // namespace vergence::mc_embedding
