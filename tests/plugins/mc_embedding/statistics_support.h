#pragma once

#include <cmath>
#include <initializer_list>
#include <numbers>
#include <vector>

#include <QDebug>

#include "core/compute/rng.h"
#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding::test {

inline Matrix matrixOf(std::initializer_list<std::initializer_list<double>> rows)
{
    Matrix m(rows.size(), rows.begin()->size());
    auto out = m.values.begin();
    for (const auto& row : rows)
        out = std::copy(row.begin(), row.end(), out);
    return m;
}

/// Standard normal numbers by Box–Muller.
inline std::vector<double> normalNumbers(std::size_t count, std::uint64_t seed)
{
    const Rng rng(seed);
    std::vector<double> out(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double u = (rng.bits(2 * i) + 0.5) * 0x1p-32, v = rng.bits(2 * i + 1) * 0x1p-32;
        out[i] = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    }
    return out;
}

inline Matrix normalMatrix(std::size_t rows, std::size_t columns, std::uint64_t seed)
{
    Matrix m(rows, columns);
    m.values = normalNumbers(rows * columns, seed);
    return m;
}

inline bool isNear(double a, double b, double tolerance)
{
    const bool near = std::abs(a - b) <= tolerance;
    if (!near)
        qWarning("%.12g is not %.12g within %.3g", a, b, tolerance);
    return near;
}

} // namespace vergence::mc_embedding::test
