#include "app/style/theme.h"

#include <QApplication>
#include <QFont>
#include <QToolTip>

#include "app/style/studio_style.h"

namespace vergence {

namespace {

QPalette makePalette(QColor window, QColor base, QColor text, QColor button, QColor accent,
                     QColor disabled)
{
    QPalette palette(text, button, button.lighter(140), button.darker(160), button.darker(120),
                     text, Qt::white, base, window);
    palette.setColor(QPalette::AlternateBase, window);
    palette.setColor(QPalette::ToolTipBase, base);
    palette.setColor(QPalette::ToolTipText, text);
    palette.setColor(QPalette::Highlight, accent);
    palette.setColor(QPalette::HighlightedText, Qt::white);
    palette.setColor(QPalette::PlaceholderText, disabled);
    palette.setColor(QPalette::Link, accent);
    palette.setColor(QPalette::LinkVisited, accent);
    for (const QPalette::ColorRole role :
         {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText})
        palette.setColor(QPalette::Disabled, role, disabled);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, button);
    return palette;
}

} // namespace

Theme::Theme(QApplication& application)
    : m_application(application),
      m_pointSize(application.font().pointSizeF()),
      m_systemIsDark(vergence::isDark(application.palette()))
{
    if (m_pointSize <= 0)
        m_pointSize = 10;
    application.setStyle(new StudioStyle);
}

QPalette Theme::lightPalette()
{
    return makePalette("#f1f2f4", "#ffffff", "#1d2126", "#e6e8eb", "#1f66b8", "#6b727b");
}

QPalette Theme::darkPalette()
{
    QPalette palette =
        makePalette("#24272c", "#1b1d21", "#e4e7eb", "#33373d", "#2f74c8", "#939aa3");
    palette.setColor(QPalette::Link, "#7db4f5");
    palette.setColor(QPalette::LinkVisited, "#7db4f5");
    palette.setColor(QPalette::BrightText, "#ffffff");
    return palette;
}

void Theme::apply(const QString& theme, int textPercent)
{
    m_isDark = theme == "dark" || (theme != "light" && m_systemIsDark);
    const QPalette palette = m_isDark ? darkPalette() : lightPalette();
    m_application.setPalette(palette);
    QToolTip::setPalette(palette);
    QFont font = m_application.font();
    font.setPointSizeF(m_pointSize * textPercent / 100.0);
    m_application.setFont(font);
}

bool isDark(const QPalette& palette)
{
    return palette.color(QPalette::Window).lightness() < 128;
}

QColor errorColour(const QPalette& palette)
{
    return isDark(palette) ? QColor("#ff8a80") : QColor("#b3261e");
}

QColor warningColour(const QPalette& palette)
{
    return isDark(palette) ? QColor("#f2c14e") : QColor("#8a5a00");
}

QColor goodColour(const QPalette& palette)
{
    return isDark(palette) ? QColor("#7ddc8b") : QColor("#1b7a34");
}

QColor mutedColour(const QPalette& palette)
{
    return palette.color(QPalette::PlaceholderText);
}

} // namespace vergence
