#pragma once

#include <cstdint>
#include <span>

#include "core/compute/stream.h"
#include "core/compute/view.h"

namespace vergence::live {

/// How a clean picture is spoilt; 0 and false leave a part out.
struct Degradation {
    double blurSigma = 0;         ///< pixels, [0, 2]
    double noise = 0;             ///< deviation of normal noise, [0, 0.15]
    bool quantisesBlocks = false; ///< cosine coefficients of 8×8 blocks rounded coarsely

    bool isNone() const { return blurSigma == 0 && noise == 0 && !quantisesBlocks; }
};

/// Of clip number `clip`: each kind with 30 % probability, at least one. All frames of a clip are
/// spoilt alike.
Degradation randomDegradation(std::uint32_t seed, std::uint32_t clip);

/// Blur, then noise of frame number `frame`, then blocks, as a camera does. clean, spoilt: [3,
/// height, width] in [−1, 1]; spoilt is clamped there and may be `clean`. `stream`: of a CPU
/// device.
void degrade(Stream& stream, const Degradation& degradation, int height, int width,
             std::uint32_t seed, std::uint32_t frame, std::span<const float> clean,
             std::span<float> spoilt);

/// Gaussian blur of `planes` images [height, width] in place, rows and columns apart, weights to
/// 3σ, border repeated.
void blur(double sigma, int planes, int height, int width, std::span<float> picture);

} // namespace vergence::live
