#pragma once

#include "core/compute/view.h"

namespace vergence::live {

/// Factor of the loss that keeps small gradients above the least number of 16 bits: halved at once
/// where gradients were not finite (the update is left out), doubled after a while without.
/// Source: Mixed Precision Training (2018), section 3.2.
class LossScaler {
public:
    struct Settings {
        double start = 32768;                ///< 2¹⁵
        Index cleanSteps = 200;              ///< until it is doubled
        double least = 1.0, most = 16777216; ///< 2²⁴
    };
    LossScaler() = default;
    explicit LossScaler(const Settings& settings) : m_settings(settings), m_scale(settings.start) {}

    double scale() const { return m_scale; }
    Index clean() const { return m_clean; } ///< updates since the last change
    /// After an update whose gradients were finite or not.
    void update(bool isFinite);
    void restore(double scale, Index clean);

private:
    Settings m_settings;
    double m_scale = Settings{}.start;
    Index m_clean = 0;
};

} // namespace vergence::live
