#pragma once

namespace vergence {

/// Decides in which steps previews are made: only while somebody watches, at most once per
/// interval, and so seldom that the extra time they cost stays near five percent of the run (but at
/// least every second). Run thread only.
class PreviewPacer {
public:
    explicit PreviewPacer(double intervalSeconds)
        : m_least(intervalSeconds),
          m_interval(intervalSeconds)
    {
    }

    void beginStep(double now, bool isWatched);
    /// The same answer throughout a step. Asking makes the step one with previews.
    bool framesDue();
    void endStep(double now);

private:
    double m_least, m_interval;
    double m_begin = 0, m_lastFrames = -1e9;
    double m_plainStep = -1; ///< s, running mean of steps without previews
    bool m_isDue = false, m_wasAsked = false;
};

} // namespace vergence
