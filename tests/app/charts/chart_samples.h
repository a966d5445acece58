#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include <QPalette>

#include "core/metrics/metric_store.h"
#include "tests/support/patience.h"

namespace vergence::test {

/// Series as a training leaves them: a noisy loss with one missing value, a quality, and two that
/// are rarer. Equal for equal seeds.
inline MetricStore makeStore(int points, double scale, int seed)
{
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    std::vector<MetricPoint> all;
    unsigned state = 12345U + static_cast<unsigned>(seed);
    const auto noise = [&] {
        state = state * 1664525U + 1013904223U;
        return static_cast<double>(state >> 8) / (1 << 24) - 0.5;
    };
    for (int i = 0; i < points; ++i) {
        const double loss = scale * (0.02 + std::exp(-3.0 * i / points)) * (1 + 0.4 * noise());
        all.push_back({i, i * 0.05, "train/loss", i == points / 2 ? kNaN : loss});
        all.push_back({i, i * 0.05, "train/psnr", 20 - 8 * std::log10(loss) + noise()});
        if (i % 50 == 0) {
            all.push_back({i, i * 0.05, "system/gpu_memory", 2.5 + 0.1 * noise()});
            all.push_back({i, i * 0.05, "eval/error", loss - 0.1 * scale});
        }
    }
    MetricStore store;
    store.append(all);
    return store;
}

inline QPalette darkPalette()
{
    QPalette palette(QColor(45, 45, 48), QColor(45, 45, 48));
    palette.setColor(QPalette::Base, QColor(30, 30, 32));
    palette.setColor(QPalette::Highlight, QColor(60, 120, 200));
    return palette;
}

} // namespace vergence::test
