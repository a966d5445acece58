#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vergence {

/// One line on a terminal that says how far a run is. Known total: bar, percent, rate and, once
/// there is something to judge by (10 s or 2 %), the remaining time, or what goes on between steps;
/// unknown total: phase, steps and elapsed time.
class ProgressLine {
public:
    /// Reads phase, state and progress messages.
    void hear(const std::vector<nlohmann::json>& messages);
    /// The line for `now` (s, any start), `columns` wide at most.
    std::string text(double now, int columns);

private:
    std::string m_phase, m_state;
    std::int64_t m_step = 0, m_total = 0, m_firstStep = -1;
    double m_firstAt = 0, m_bornAt = -1;
};

} // namespace vergence
