#pragma once

#include <QColor>
#include <QIcon>
#include <QPalette>

namespace vergence {

/// Colours that carry a meaning, chosen by the lightness of the palette so that they keep a
/// contrast of 4.5:1 on its base and window colours.
enum class Accent { Error, Warning, Changed };
QColor accentColour(Accent accent, const QPalette& palette);

/// Small signs of the form, drawn in `colour`.
enum class Sign { Dot, Lock, Dice, Exists, Missing };
QIcon signIcon(Sign sign, const QColor& colour);

/// Contrast of two colours, 1 to 21 (WCAG 2.1, relative luminance).
double contrast(const QColor& a, const QColor& b);

} // namespace vergence
