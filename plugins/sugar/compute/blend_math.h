#pragma once

#include <cmath>

#include "core/compute/host_device.h"
#include "plugins/sugar/compute/rasteriser_limits.h"

namespace vergence::sugar {

// Blending one pixel, front to back, and its derivative, back to front, for one number a time.
// Source: 3D Gaussian Splatting (2023), section 6 and appendix C.

/// Limits below which a sample is left out. Zero for both makes blending smooth, for proofs.
template <class Real>
struct BlendLimits {
    Real alphaCut = Real(kAlphaCut);
    Real transmittanceStop = Real(kTransmittanceStop);
};

/// One splat at one pixel: α = min(0.99, o e^−q), q = ½(A dx² + C dy²) + B dx dy.
template <class Real>
struct AlphaSample {
    Real falloff = 0; ///< e^−q
    Real alpha = 0;
    bool isCapped = false, isSkipped = true;
};

template <class Real>
VERGENCE_HD AlphaSample<Real> alphaAt(Real conicA, Real conicB, Real conicC, Real opacity, Real dx,
                                      Real dy, Real alphaCut)
{
    AlphaSample<Real> sample;
    const Real q = Real(0.5) * (conicA * dx * dx + conicC * dy * dy) + conicB * dx * dy;
    if (!(q >= 0))
        return sample;
    sample.falloff = std::exp(-q);
    const Real alpha = opacity * sample.falloff;
    sample.isCapped = alpha > Real(kAlphaCap);
    sample.alpha = sample.isCapped ? Real(kAlphaCap) : alpha;
    sample.isSkipped = sample.alpha < alphaCut;
    return sample;
}

/// What is known of a pixel while its splats are visited from the last to the first.
template <class Real>
struct BackwardPixel {
    Real transmittance; ///< behind the splat in hand; at first what is left at the end
    Real behind; ///< Σ over splats behind of w ⟨x, G⟩, minus T_end (G_A − ⟨background, G⟩)

    /// Steps over one splat with e = ⟨x, G⟩ and returns ∂L/∂α; `weight` becomes α T.
    VERGENCE_HD Real step(Real alpha, Real e, Real& weight)
    {
        const Real inverse = Real(1) / (Real(1) - alpha);
        transmittance *= inverse;
        weight = alpha * transmittance;
        const Real gradAlpha = transmittance * e - behind * inverse;
        behind += weight * e;
        return gradAlpha;
    }
};

/// Sums over pixels of g = ∂L/∂q = −α ∂L/∂α times powers of dx and dy, from which all geometric
/// gradients of a splat follow.
template <class Real>
struct QuadraticSums {
    Real one = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;

    VERGENCE_HD void add(Real g, Real dx, Real dy)
    {
        one += g;
        x += g * dx;
        y += g * dy;
        xx += g * dx * dx;
        xy += g * dx * dy;
        yy += g * dy * dy;
    }
};

} // namespace vergence::sugar
