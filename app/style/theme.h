#pragma once

#include <QPalette>
#include <QString>

class QApplication;

namespace vergence {

/// Light and dark palettes for the Fusion style. "system" follows the brightness of the desktop's
/// own palette.
class Theme {
public:
    /// Remembers the desktop's palette and font; call once after QApplication was made.
    explicit Theme(QApplication& application);

    /// `theme`: "system", "light" or "dark"; `textPercent`: 90–150 of the desktop's text size.
    void apply(const QString& theme, int textPercent);
    bool isDark() const { return m_isDark; }

    static QPalette lightPalette();
    static QPalette darkPalette();

private:
    QApplication& m_application;
    double m_pointSize;
    bool m_systemIsDark, m_isDark = false;
};

/// Colours with a meaning, readable on `palette`'s base (contrast at least 4.5:1).
QColor errorColour(const QPalette& palette);
QColor warningColour(const QPalette& palette);
QColor goodColour(const QPalette& palette);
QColor mutedColour(const QPalette& palette);
bool isDark(const QPalette& palette);

} // namespace vergence
