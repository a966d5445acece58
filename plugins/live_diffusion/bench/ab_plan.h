#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute/device.h"
#include "plugins/live_diffusion/engine/switches.h"

namespace vergence::live {

/// A configuration of an A/B run: the switches of inference, and whether the steps of a frame
/// become rows of one batch.
struct AbSetting {
    Switches switches;
    bool isStreamBatch = false;
    int steps = 2;             ///< evaluations per frame
    bool usesTensorRt = false; ///< of the switches only the precision counts then

    bool operator==(const AbSetting&) const = default;
};

/// One thing that can be turned on.
struct AbTechnique {
    std::string name; ///< "fp16", "NHWC", "flash attention", …
    std::function<void(AbSetting&)> apply;
    bool isSide = false;       ///< measured alone, not in the cumulative rows
    std::string unavailable{}; ///< one sentence; empty where the device offers it
};

/// fp16, NHWC, flash attention, fusion, auto-tuned plans, CUDA graph, stream batch; on the side
/// tf32, bf16, TensorRT, and on the CPU threads. In this order they are cumulated.
/// `whyNoTensorRt`: see BenchSubject.
std::vector<AbTechnique> abTechniques(const Device& device, const std::string& whyNoTensorRt);

enum class AbPart {
    Baseline,   ///< strict F32, NCHW, naive attention, eager, nothing fused, first plans
    Alone,      ///< one technique on the baseline
    Cumulative, ///< one more technique on the row before
    Without     ///< everything but one technique
};
std::string_view nameOf(AbPart part); ///< "baseline", "alone", "cumulative", "without"

/// One row that is to be measured, or the reason why not.
struct AbStep {
    AbPart part = AbPart::Baseline;
    std::string technique; ///< empty for the baseline
    AbSetting setting;
    std::string unavailable;
};

/// All rows. Of techniques that the device does not offer only the row Alone is left, with its
/// reason; rows whose setting equals an earlier one are kept, and measured once.
std::vector<AbStep> abPlan(const std::vector<AbTechnique>& techniques, int steps = 2);

} // namespace vergence::live
