#pragma once

#include <cmath>
#include <initializer_list>
#include <numbers>
#include <vector>

#include <QDebug>

#include "core/compute/rng.h"
#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding::fixtures {

inline Matrix matrixOf(std::initializer_list<std::initializer_list<double>> rows)
{
    Matrix m(rows.size(), rows.begin()->size());
    auto out = m.values.begin();
    for (const auto& row : rows)
        out = std::copy(row.begin(), row.end(), out);
    return m;
}

inline Matrix matrixOf(std::size_t rows, std::vector<double> values)
{
    Matrix m(rows, values.size() / rows);
    m.values = std::move(values);
    return m;
}

/// Standard normal number by Box–Muller.
inline double normal(const Rng& rng, std::uint64_t index)
{
    const double u = (rng.bits(2 * index) + 0.5) * 0x1p-32, v = rng.bits(2 * index + 1) * 0x1p-32;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

inline std::vector<double> normalNumbers(std::size_t count, std::uint64_t seed)
{
    const Rng rng(seed);
    std::vector<double> out(count);
    for (std::size_t i = 0; i < count; ++i)
        out[i] = normal(rng, i);
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

} // namespace vergence::mc_embedding::fixtures
