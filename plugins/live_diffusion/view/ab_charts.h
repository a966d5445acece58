#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>

#include "core/view/diagram.h"

namespace vergence::live {

/// One configuration of an A/B run beside its baseline. NaN: not measured.
struct AbRow {
    static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    enum class Part {
        Baseline,   ///< the row that the others are compared with
        Alone,      ///< one technique on the baseline
        Cumulative, ///< one more technique on the row before
        Without     ///< everything but one technique
    };
    enum class Outcome { NotJudged, Faster, Same, Slower }; ///< by overlap of the intervals

    std::string technique; ///< "fp16", "CUDA graph" …
    Part part = Part::Baseline;
    double ms = kNone, low = kNone, high = kNone; ///< per frame: median with its 95 % interval
    double speedUp = kNone, fps = kNone, evalsPerSecond = kNone;
    double launchMs = kNone; ///< processor time to launch a frame
    double kernels = kNone;
    double weights = kNone, arena = kNone, workspace = kNone, caches = kNone; ///< bytes, steady
    double tuningPeak = kNone;                                                ///< bytes
    double reduction = kNone; ///< share of the baseline's steady memory that is saved
    double maxAbs = kNone, psnr = kNone, cosine = kNone;   ///< against strict fp32, per evaluation
    double psnrAfterSteps = kNone;                         ///< dB, a whole frame
    std::array<double, 3> streamPsnr{kNone, kNone, kNone}; ///< dB after 1, 10, 100 frames
    Outcome outcome = Outcome::NotJudged;
};

/// From the baseline through the cumulative rows: what each takes off or adds, ms per frame.
Diagram abWaterfall(std::span<const AbRow> rows, double width = 760, double height = 400);

/// All rows by parts with all columns; as wide as its texts need.
Diagram abTable(std::span<const AbRow> rows, const std::string& title = "A/B run");

/// A published statement beside what this computer measured.
struct Claim {
    std::string what, claimed, measured;
    std::string theirWay; ///< what the claim's method would have shown here; empty: the same
    std::string remark;
};
Diagram claimsTable(std::span<const Claim> claims);

} // namespace vergence::live
