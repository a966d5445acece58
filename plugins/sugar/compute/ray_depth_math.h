#pragma once

#include "core/compute/host_device.h"

namespace vergence::sugar {

/// A Gaussian for rays from the camera: its axes over their standard deviations, q_i = c_i / s_i in
/// camera axes, and those along its centre t, ⟨q_i, t⟩.
struct RayGaussian {
    float axis[9]; ///< q_0, q_1, q_2
    float along[3];
    float reach; ///< three standard deviations along the camera's z
};

/// Camera z of the point of the ray z · (x, y, 1) where the density is largest:
/// z* = (rᵀ V⁻¹ t) / (rᵀ V⁻¹ r), kept within `reach` of the centre's depth. Locally flat Gaussians
/// so give the depth of their plane. Source: RaDe-GS (2024), section 4.
VERGENCE_HD float rayDepth(const RayGaussian& g, float x, float y, float centreDepth)
{
    float over = 0, under = 0;
    for (int i = 0; i < 3; ++i) {
        const float* q = g.axis + 3 * i;
        const float r = q[0] * x + q[1] * y + q[2];
        over += r * g.along[i];
        under += r * r;
    }
    const float z = over / under, low = centreDepth - g.reach, high = centreDepth + g.reach;
    return z < low ? low : z > high ? high : z;
}

} // namespace vergence::sugar
