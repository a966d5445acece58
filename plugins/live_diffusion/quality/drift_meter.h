#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/compute/view.h"

namespace vergence::live {

/// One frame of a stream beside the truth.
struct FrameQuality {
    double psnr = 0;               ///< dB
    double meanColourDistance = 0; ///< of range 2
    double contrastRatio = 0;
    double detailRatio = 0;
    double repetition = 0;    ///< largest cosine to the last 5 frames, less the target's own
    double temporalError = 0; ///< 0 for the first frame
    bool isFinite = true;
};

/// Stable: the PSNR's slope is within ±0.1 dB per 100 frames and the contrast ratio within [0.8,
/// 1.25] in the last tenth. Collapsed: contrast ratio below 0.1 for 10 frames in a row, or a number
/// not finite. Drifting: all else.
enum class DriftVerdict { Stable, Drifting, Collapsed };
std::string_view nameOf(DriftVerdict verdict); ///< "stable", "drifting", "collapsed"

/// First frame that counts for the slope: a stream needs a while to settle.
inline constexpr Index kSettledFrame = 50;

/// Least-squares slope of values[i] over i, per 100 frames, for i ≥ first; 0 where fewer than two
/// remain.
double slopePer100(std::span<const double> values, Index first = 0);

/// Watches a closed loop go away from the truth, frame by frame.
class DriftMeter {
public:
    DriftMeter(int height, int width);

    /// The next frame; both [3, height, width] in [−1, 1].
    const FrameQuality& add(std::span<const float> picture, std::span<const float> target);

    const std::vector<FrameQuality>& frames() const { return m_frames; }
    /// Of the PSNR from kSettledFrame on, dB per 100 frames. Where the run is shorter, from its
    /// first frame on.
    double slope() const;
    /// Frame at which the stream collapsed; none while it has not.
    std::optional<Index> collapsedAt() const { return m_collapsedAt; }
    DriftVerdict verdict() const;
    double meanPsnr() const;

private:
    struct Pair {
        std::vector<float> picture, target;
    };
    double repetition(std::span<const float> picture, std::span<const float> target) const;
    void judge();

    int m_height, m_width;
    std::vector<FrameQuality> m_frames;
    std::deque<Pair> m_last; ///< at most 5, newest first
    std::optional<Index> m_collapsedAt;
    int m_flatInRow = 0;
};

} // namespace vergence::live
