#pragma once

namespace vergence::mc_embedding {

/// How much of the work is done and how fast it goes. Work is counted in floating-point operations
/// of whole forward passes, which are known before a model is read; speed is that of what is
/// computed of them. Specification, section 5.7.
class WorkMeter {
public:
    /// All work of the study, what is done included; may be corrected while it goes on.
    void setTotal(double flop) { m_total = flop; }
    /// Work that took `seconds` just now; `computed`: what it took beside shared prefixes.
    void add(double flop, double computed, double passImages, double seconds);
    /// Work taken over from earlier: done, but says nothing of speed.
    void skip(double flop) { m_done += flop; }

    double share() const;           ///< of the work, [0, 1]
    double flopPerSecond() const;   ///< computed, mean over about ten seconds; 0 before any work
    double imagesPerSecond() const; ///< passes times images
    double secondsLeft() const;     ///< NaN before any work

private:
    double m_total = 0, m_done = 0;
    double m_flop = 0, m_computed = 0, m_images = 0, m_seconds = 0; ///< decaying sums
};

} // namespace vergence::mc_embedding
