#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/artifact/image.h"

namespace vergence::live {

/// What a network in training makes of the same samples, again and again.
struct TrainingStrip {
    std::vector<Image> inputs, targets; ///< [samples]
    struct Moment {
        std::int64_t step = 0;
        std::vector<Image> outputs; ///< [samples]; a missing one leaves its place empty
    };
    std::vector<Moment> moments; ///< in the order of steps; some of many are shown
    std::string note;            ///< "loss 0.21 to 0.043"
};

/// Rows of samples; columns: input, outputs over the steps, target. RGBA, opaque.
Image trainingStrip(const TrainingStrip& strip, int cell = 80, int mostMoments = 8,
                    bool isDark = true);

} // namespace vergence::live
