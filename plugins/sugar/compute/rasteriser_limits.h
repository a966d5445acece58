#pragma once

namespace vergence::sugar {

/// Alpha of a splat is capped here, and gradients through a capped alpha are 0.
inline constexpr float kAlphaCap = 0.99F;
/// Smaller alphas are skipped.
inline constexpr float kAlphaCut = 1.0F / 255;
/// A Gaussian that would bring the transmittance to this or below ends the pixel and is left out.
inline constexpr float kTransmittanceStop = 1e-4F;

} // namespace vergence::sugar
