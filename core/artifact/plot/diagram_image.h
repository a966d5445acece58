#pragma once

#include "core/artifact/image.h"
#include "core/view/diagram.h"

namespace vergence::plot {

/// The drawing on white or dark paper, `scale` pixels a unit, smooth edges, RGB. Needs no display
/// and no font.
Image toImage(const Diagram& diagram, double scale = 2, bool isDark = false);

/// The drawing over a picture (RGB or RGBA), its top left corner on that of the picture.
void paintOver(Image& image, const Diagram& diagram, double scale, bool isDark);

} // namespace vergence::plot
