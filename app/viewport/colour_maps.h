#pragma once

#include <QImage>
#include <QRgb>

namespace vergence {

/// How single numbers become colours.
enum class FalseColour { Grey = 0, Diverging = 1, Magnitude = 2 };
inline constexpr int kFalseColourCount = 3;

/// Colour at `t` in [0, 1]. Diverging: blue, near white at 0.5, red. Magnitude: dark blue over
/// green to light yellow with lightness linear in `t`, so that equal steps look equal. Built in
/// OKLCh (Ottosson, "A perceptual color space for image processing", 2020).
QRgb mapColour(FalseColour map, double t);

/// All maps, 256 columns, one row per map in the order of FalseColour.
QImage colourMapTable();

} // namespace vergence
