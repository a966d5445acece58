#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "plugins/live_diffusion/sources/source.h"

namespace vergence::live {

struct PlaySettings {
    bool loops = true;
    bool isPaced = true; ///< frames come when they are due; otherwise as fast as they are taken
    double speed = 1;    ///< (0, 16]; of sources that are not live
    double fixedFps = 0; ///< above 0: a frame every 1/fps instead of the source's own times
};

/// Time and waiting, so that tests need neither.
struct PlayClock {
    std::function<double()> now; ///< s, steady
    /// Returns at the time, or early when stop is asked for or wake() is called elsewhere.
    std::function<void(double until, const std::stop_token&)> sleepUntil;
};

/// Plays a source: when each frame is due, again from the start at the end, faster or slower.
/// Frames due longer ago than their own duration are still given: who takes them decides what is
/// dropped.
class Player {
public:
    Player(std::unique_ptr<Source> source, const PlaySettings& settings, PlayClock clock);

    /// The next frame once it is due; nothing at the end or on stop. Throws InputError as the
    /// source does.
    std::optional<SourceFrame> next(const std::stop_token& stop);
    void seek(double seconds);
    void setSettings(const PlaySettings& settings); ///< ContractError for values out of range
    const PlaySettings& settings() const { return m_settings; }
    /// The next frame is due at once and times count from there: after a pause.
    void restartClock() { m_hasStart = false; }
    Source& source() { return *m_source; }
    int rounds() const { return m_rounds; } ///< times the source began again

private:
    double dueAt(const SourceFrame& frame);

    std::unique_ptr<Source> m_source;
    PlaySettings m_settings;
    PlayClock m_clock;
    bool m_hasStart = false;
    double m_startClock = 0, m_startSeconds = 0;
    std::int64_t m_sinceStart = 0;
    int m_rounds = 0;
    bool m_gaveAny = false; ///< in this round
};

} // namespace vergence::live
