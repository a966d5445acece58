#pragma once

#include <QColor>
#include <QPalette>

namespace vergence {

/// Colours of the charts that a palette does not name. Marks keep a contrast of 4.5:1 on the base
/// colour.
QColor markColour(bool isDark);
QColor gridColour(const QPalette& palette);
/// Text that steps back behind other text, still at 4.5:1.
QColor quietTextColour(const QPalette& palette);
/// `colour` made lighter or darker until it stands out from `background` by 3:1, as lines must.
QColor readableColour(QColor colour, const QColor& background);
/// The colour of the n-th column of a table.
QColor columnColour(int index);

} // namespace vergence
