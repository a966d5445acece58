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
    /// Returns at the time, or soon after `stop` asks for it.
    std::function<void(double until, const std::stop_token&)> sleepUntil;
};

/// That of the system.
PlayClock steadyClock();

/// Plays a source: waits until each frame is due, begins again at the end, goes faster or slower.
/// Every frame is given: who takes them decides what is dropped. Who takes them more than a second
/// late delays all that follow.
class Player {
public:
    Player(std::unique_ptr<Source> source, const PlaySettings& settings, PlayClock clock);

    /// The next frame once it is due; nothing at the end, or on stop, after which the call can be
    /// repeated without a loss. Throws InputError as the source does.
    std::optional<SourceFrame> next(const std::stop_token& stop);
    void seek(double seconds);
    void setSettings(const PlaySettings& settings); ///< ContractError for values out of range
    const PlaySettings& settings() const { return m_settings; }
    /// The next frame is due at once, and times count from there: after a pause.
    void restartClock() { m_hasLast = false; }
    Source& source() { return *m_source; }
    int rounds() const { return m_rounds; } ///< times the source began again

private:
    double dueAfterLast(const SourceFrame& frame) const;

    std::optional<SourceFrame> fetch(const std::stop_token& stop);

    std::unique_ptr<Source> m_source;
    PlaySettings m_settings;
    PlayClock m_clock;
    std::optional<SourceFrame> m_waiting; ///< not due yet when the last call was stopped
    int m_rounds = 0;
    bool m_gaveAny = false; ///< in this round
    bool m_hasLast = false; ///< the three that follow are of the frame given last
    double m_due = 0, m_seconds = 0, m_lasts = 0;
    bool m_jumped = false; ///< the source was moved since then
};

} // namespace vergence::live
