#pragma once

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// A mesh as a camera sees it, [H, W, 4] sRGB with alpha: its texture, or the colours of its
/// vertices, light grey without; unlit, both sides. Each pixel is the mean of `samples`² places;
/// alpha is the share of them that meet the mesh, and colours are not multiplied by it. What is
/// nearer than `near` (world units, above 0) is cut off.
Image meshPicture(const TexturedMesh& mesh, const Camera& camera, double near, int samples = 2);

/// `above` over a background of one colour, [H, W, 3].
Image onBackground(const Image& above, const std::array<std::uint8_t, 3>& background);

} // namespace vergence::sugar
