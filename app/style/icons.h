#pragma once

#include <QIcon>
#include <QString>

class QColor;
class QPalette;

namespace vergence {

/// The line drawing `:/icons/<name>.svg` in the palette's text colour, grey where disabled, in
/// the colour of selected text in a selected row. Empty for unknown names.
QIcon tintedIcon(const QString& name, const QPalette& palette);
QIcon tintedIcon(const QString& name, const QColor& colour);
/// A square of this colour with a pale border, so that it stands out from a selected row as well.
QIcon swatch(const QColor& colour);

} // namespace vergence
