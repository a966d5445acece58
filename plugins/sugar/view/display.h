#pragma once

#include "plugins/sugar/compute/learning/density_control.h"
#include "plugins/sugar/view/splat_mode.h"

namespace vergence::sugar {

/// How Gaussians are altered for looking at them; training never sees this.
struct DisplaySettings {
    SplatMode mode = SplatMode::Colour;
    double opacityCut = 0;  ///< fainter ones are hidden
    double splatScale = 1;  ///< factor on all scales
    double dotSize = 0.002; ///< of the extent, for centres

    bool operator==(const DisplaySettings&) const = default;
    /// Whether the Gaussians are shown as they are.
    bool isPlain() const;
};

/// Numbers of Gaussians that they do not hold themselves.
struct DisplayValues {
    const DensityStatistics* statistics = nullptr; ///< may be null
    std::vector<float> testError;                  ///< may be empty
};

/// A copy made for showing. `span` gets the values that span the colours of per-Gaussian modes.
Gaussians displayed(Stream& stream, const Gaussians& gaussians, const DisplayValues& values,
                    const DisplaySettings& settings, double extent, ColourSpan* span = nullptr);

} // namespace vergence::sugar
