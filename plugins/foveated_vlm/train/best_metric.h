#pragma once

#include <deque>

#include <nlohmann/json_fwd.hpp>

#include "core/compute/view.h"

namespace vergence::fvlm {

/// Tells when a run is at its best: by validation, or without any by the mean training loss of the
/// last `window` updates; never by a single batch. Specification, section 6.9.
class BestMetric {
public:
    explicit BestMetric(Index window = 200);

    /// True where `loss` is the best so far. Training losses do not count from then on. A loss that
    /// is not finite changes nothing.
    bool addValidation(double loss);
    /// True where the mean over a full window is the best so far.
    bool addTraining(double loss);

    bool hasBest() const { return m_hasBest; }
    double best() const { return m_best; } ///< 0 where there is none
    bool isValidation() const { return m_isValidation; }

    nlohmann::json state() const;
    void restore(const nlohmann::json& state); ///< throws InputError

private:
    bool add(double loss);

    Index m_window;
    std::deque<double> m_recent;
    double m_best = 0;
    bool m_hasBest = false, m_isValidation = false;
};

} // namespace vergence::fvlm
