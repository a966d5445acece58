#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "plugins/live_diffusion/bench/ab_plan.h"

namespace vergence::live {

/// By overlap of the 95 % intervals of the median.
enum class AbVerdict { NotJudged, Faster, Same, Slower };
std::string_view nameOf(AbVerdict verdict); ///< "", "faster", "same", "slower"

/// One configuration of an A/B run beside its baseline, as tables and charts show it. NaN: not
/// measured.
struct AbRow {
    static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

    std::string technique; ///< "fp16", "CUDA graph" …; "baseline"
    AbPart part = AbPart::Baseline;
    double ms = kNone, low = kNone, high = kNone; ///< per frame: median with its 95 % interval
    double speedUp = kNone, fps = kNone, evalsPerSecond = kNone;
    double launchMs = kNone; ///< processor time to launch a frame
    double kernels = kNone;  ///< of an evaluation
    double weights = kNone, arena = kNone, workspace = kNone, caches = kNone; ///< bytes, steady
    double steady = kNone;     ///< bytes: the four, and what belongs to recorded graphs
    double tuningPeak = kNone; ///< bytes
    double reduction = kNone;  ///< share of the baseline's steady memory that is saved
    double maxAbs = kNone, psnr = kNone, cosine = kNone;   ///< against strict fp32, per evaluation
    double psnrAfterSteps = kNone;                         ///< dB, a whole frame
    std::array<double, 3> streamPsnr{kNone, kNone, kNone}; ///< dB after 1, 10, 100 frames
    AbVerdict verdict = AbVerdict::NotJudged;
    std::string whyNot{}; ///< why it was not measured; empty where it was
};

} // namespace vergence::live
