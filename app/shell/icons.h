#pragma once

#include <QIcon>
#include <QString>

class QPalette;

namespace vergence {

/// The line drawing `:/icons/<name>.svg` in the palette's text colour, grey where disabled, in
/// the colour of selected text in a selected row. Empty for unknown names.
QIcon tintedIcon(const QString& name, const QPalette& palette);
QIcon tintedIcon(const QString& name, const QColor& colour);

} // namespace vergence
