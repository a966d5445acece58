#pragma once

#include "plugins/light_field/compute/operator_tables.h"

namespace vergence::light_field {

/// Adds the four texels around one ray to `sum`, `gain` times. `plane` is [R, R, L].
template <class Real, int L>
VERGENCE_HD void gatherRay(const TableView<Real>& t, const Real* plane, Index i, Index j, Real gain,
                           Real* sum)
{
    const Real alpha = t.x.alpha[j], beta = t.y.alpha[i];
    const Real* upper = plane + (static_cast<Index>(t.y.first[i]) * t.panel + t.x.first[j]) * L;
    const Real* lower = upper + static_cast<Index>(t.panel) * L;
    for (int lane = 0; lane < L; ++lane) {
        const Real left = (1 - beta) * upper[lane] + beta * lower[lane];
        const Real right = (1 - beta) * upper[L + lane] + beta * lower[L + lane];
        sum[lane] += gain * ((1 - alpha) * left + alpha * right);
    }
}

/// One pixel of all samples of planes first … first + count − 1, without the common factor.
template <class Real, int L>
VERGENCE_HD void gatherPixel(const TableView<Real>& t, const Real* x, int state, int row,
                             int column, int first, int count, Real* sum)
{
    const Index planeSize = static_cast<Index>(t.panel) * t.panel * L;
    for (int k = first; k < first + count; ++k) {
        const Real gain = t.gainAt(state, k, row, column);
        for (int m = 0; m < t.samples; ++m) {
            const Index base = t.at(state, k, m);
            if (t.passes(base + row, base + column))
                gatherRay<Real, L>(t, x + k * planeSize, base + row, base + column, gain, sum);
        }
    }
}

/// Gradient of one texel, without the common factor: all rays that touch it, found in the inverted
/// tables. Without `HasGains` the tables must have none; that saves registers.
template <class Real, int L, bool HasGains = true>
VERGENCE_HD void gatherTexel(const AdjointArguments<Real>& a, int plane, int row, int column,
                             Real* sum)
{
    const TableView<Real>& t = a.tables;
    const Index w = t.resolution;
    for (int state = 0; state < t.states; ++state) {
        for (int m = 0; m < t.samples; ++m) {
            const Index base = t.at(state, plane, m), group = base / w;
            const int* lines = a.lines.start + group * (t.panel + 1) + row;
            const int* columns = a.columns.start + group * (t.panel + 1) + column;
            for (int i = lines[0]; i < lines[1]; ++i) {
                const Index line = a.lines.pixel[2 * base + i];
                if (a.rows.count > 1 && (line + state) % a.rows.count != a.rows.index)
                    continue;
                for (int j = columns[0]; j < columns[1]; ++j) {
                    const Index pixel = a.columns.pixel[2 * base + j];
                    if (!t.passes(base + line, base + pixel))
                        continue;
                    Real weight = a.lines.weight[2 * base + i] * a.columns.weight[2 * base + j];
                    if constexpr (HasGains)
                        weight *= t.gainAt(state, plane, line, pixel);
                    const Real* e = a.residual + ((state * w + line) * w + pixel) * L;
                    for (int lane = 0; lane < L; ++lane)
                        sum[lane] += weight * e[lane];
                }
            }
        }
    }
}

/// Calls body(std::integral_constant<int, L>) for the number of lanes.
template <class Body>
void withLanes(int lanes, const Body& body)
{
    if (lanes == 1)
        body(std::integral_constant<int, 1>{});
    else if (lanes == 4)
        body(std::integral_constant<int, 4>{});
    else
        body(std::integral_constant<int, 16>{});
}

} // namespace vergence::light_field
