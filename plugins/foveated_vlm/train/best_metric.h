#pragma once

#include <nlohmann/json_fwd.hpp>

namespace vergence::fvlm {

/// Tells when a run is at its best by its tests, never by a batch. Specification, section 6.9.
class BestMetric {
public:
    /// True where `loss` is the best so far. A loss that is not finite changes nothing.
    bool add(double loss);

    bool hasBest() const { return m_hasBest; }
    double best() const { return m_best; } ///< 0 where there is none

    nlohmann::json state() const;
    void restore(const nlohmann::json& state); ///< throws InputError

private:
    double m_best = 0;
    bool m_hasBest = false;
};

} // namespace vergence::fvlm
