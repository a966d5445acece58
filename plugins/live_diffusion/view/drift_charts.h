#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "core/view/diagram.h"

namespace vergence::live {

/// A stream that was fed its own output, frame by frame; series may differ in length.
struct DriftVariant {
    std::string name;         ///< "history noise, memory, blend"; short
    bool isReference = false; ///< teacher-forced: dashed
    std::vector<double> psnr; ///< dB
    std::vector<double> colourDistance, contrastRatio, detailRatio, repetition, temporalError;
    double slope = std::numeric_limits<double>::quiet_NaN(); ///< dB per 100 frames
    std::string verdict;                                     ///< "stable", "drifting", "collapsed"
    std::vector<Image> thumbnails; ///< at DriftStudy::thumbnailFrames; empty images: not reached
};

struct DriftStudy {
    std::vector<DriftVariant> variants;
    std::vector<std::int64_t> thumbnailFrames{0, 100, 250, 499};
    std::vector<Image> targets; ///< at those frames; none: no row of targets
};

/// PSNR, contrast, detail, mean colour, repetition and temporal error over the frames, six charts
/// with one legend; contrast with its limits 0.8, 1.25 and 0.1.
Diagram driftCharts(const DriftStudy& study, double cellWidth = 460, double cellHeight = 280);

/// A row per variant with its pictures, its slope and its verdict; targets above. RGBA, opaque.
Image ablationGrid(const DriftStudy& study, int cell = 96, bool isDark = true);

} // namespace vergence::live
