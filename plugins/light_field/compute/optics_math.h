#pragma once

#include "core/compute/host_device.h"
#include "core/compute/view.h"

namespace vergence::light_field {

/// The elements one axis of a ray meets, for one plane. Lengths in mm.
struct AxisOptics {
    double eye = 0;           ///< shift of the eye along this axis
    double accommodation = 0; ///< 1/mm
    double tunableZ = 0;
    double inverseFocal = 0; ///< 1/f_k
    double lensletZ = 0, lensletPitch = 1, inverseLensletFocal = 1;
    double lensletLimit = -1; ///< largest |lenslet index|; negative = unlimited
    double panelGap = 0, panelSize = 1;
    double panelResolution = 2;
    bool baffles = false;
};

/// One axis of a ray from the pupil to the panel.
struct AxisRay {
    double slope[3] = {0, 0, 0}; ///< behind the eye lens, the tunable lens and the lenslet
    double position[4] = {0, 0, 0,
                          0}; ///< at the pupil, the tunable lens, the lenslets and the panel
    double lenslet = 0;       ///< index
    double local = 0;         ///< position from the centre of the lenslet
    double texel = 0;         ///< u, texel centres at whole numbers
    bool beyondArray = false, beyondPanel = false, hitsBaffle = false;

    VERGENCE_HD bool isRejected() const { return beyondArray || beyondPanel || hitsBaffle; }
};

/// Slope behind an ideal thin lens of power 1/f that is met `offset` from its centre.
template <class Real>
VERGENCE_HD Real refract(Real slope, Real offset, Real inverseFocal)
{
    return slope - offset * inverseFocal;
}

/// Follows one axis: chief-ray slope `t`, pupil position `pupil` (mm from the centre of the pupil).
VERGENCE_HD AxisRay traceAxis(const AxisOptics& o, double t, double pupil)
{
    AxisRay ray;
    ray.position[0] = o.eye + pupil;
    ray.slope[0] = refract(t, pupil, o.accommodation);
    ray.position[1] = ray.position[0] + o.tunableZ * ray.slope[0];
    ray.slope[1] = refract(ray.slope[0], ray.position[1], o.inverseFocal);
    ray.position[2] = ray.position[1] + (o.lensletZ - o.tunableZ) * ray.slope[1];
    ray.lenslet = __builtin_floor(ray.position[2] / o.lensletPitch + 0.5);
    ray.local = ray.position[2] - ray.lenslet * o.lensletPitch;
    ray.slope[2] = refract(ray.slope[1], ray.local, o.inverseLensletFocal);
    ray.position[3] = ray.position[2] + o.panelGap * ray.slope[2];
    ray.texel = (ray.position[3] + o.panelSize / 2) * o.panelResolution / o.panelSize - 0.5;
    ray.beyondArray = o.lensletLimit >= 0 && __builtin_fabs(ray.lenslet) > o.lensletLimit;
    ray.beyondPanel = ray.texel < -0.5 || ray.texel > o.panelResolution - 0.5;
    ray.hitsBaffle = o.baffles && __builtin_fabs(ray.position[3] - ray.lenslet * o.lensletPitch) >
                                      o.lensletPitch / 2;
    return ray;
}

/// Chief-ray slope of the point `index` + 1/2 + `jitter` of `resolution` pixels; rows run the other
/// way.
VERGENCE_HD double pixelSlope(double slopeExtent, int resolution, double index, double jitter)
{
    return 2 * slopeExtent * ((index + 0.5 + jitter) / resolution - 0.5);
}

} // namespace vergence::light_field
