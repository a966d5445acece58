#pragma once

#include "core/artifact/image.h"
#include "core/view/diagram.h"

namespace vergence::mc_embedding {

/// The drawing on white, `scale` pixels a unit, smooth edges, RGB. Needs no display and no font.
Image toImage(const Diagram& diagram, double scale = 2);

} // namespace vergence::mc_embedding
