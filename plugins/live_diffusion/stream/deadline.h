#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vergence::live {

/// One rung of what a stream may be reduced to.
struct QualityLevel {
    int steps = 2;
    int patch = 1;   ///< larger: coarser grid at the same size
    int size = 64;   ///< side of the frame, px
    double cost = 1; ///< of a frame, relative

    std::string text() const; ///< "64 px, p 2, 1 step"
    bool operator==(const QualityLevel& other) const
    {
        return steps == other.steps && patch == other.patch && size == other.size;
    }
};

/// Rungs from `best` downwards: first fewer steps (halved until 1), then the standard grid of 64
/// instead of HQ, then halved sizes with the patch kept, for the weights are those of a patch, down
/// to 64 px and a grid of 16. Costs follow steps and cells of the grid.
std::vector<QualityLevel> qualityLadder(const QualityLevel& best);

struct DeadlineSettings {
    bool isOn = false;
    double budget = 0.040; ///< s per frame
    double fill = 0.95;    ///< share of the budget that the 95th percentile may take
    int window = 60;       ///< frames judged
    int hysteresis = 120;  ///< frames between two changes
};

/// Steps down when the 95th percentile of the last `window` frames exceeds fill · budget, and up
/// again when it is foreseen to stay below three quarters of that; never twice within `hysteresis`
/// frames. A rung that had to be left again is not tried before four times as many frames, and
/// twice as many each time after.
class DeadlineKeeper {
public:
    /// Throws ContractError for no rungs or values out of range.
    DeadlineKeeper(std::vector<QualityLevel> ladder, const DeadlineSettings& settings);

    /// Seconds of one generated frame. Returns the new rung where it changes.
    std::optional<QualityLevel> add(double seconds);
    const QualityLevel& level() const { return m_ladder[m_at]; }
    bool isReduced() const { return m_at > 0; }
    double percentile95() const; ///< of the window, s; 0 while it is empty
    void setSettings(const DeadlineSettings& settings);
    /// Forgets the times judged so far: they were another rung's.
    void restartWindow() { m_window.clear(); }
    const DeadlineSettings& settings() const { return m_settings; }

private:
    QualityLevel moveTo(std::size_t rung);
    bool mayGoUp(double percentile) const;

    std::vector<QualityLevel> m_ladder;
    DeadlineSettings m_settings;
    std::size_t m_at = 0;
    std::vector<double> m_window; ///< seconds, newest last
    std::int64_t m_frames = 0, m_lastChange = 0;
    std::int64_t m_upNotBefore = 0, m_patience = 0; ///< after a rung that had to be left again
    bool m_cameUp = false;                          ///< by the last change
};

} // namespace vergence::live
