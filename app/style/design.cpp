#include "app/style/design.h"

#include <QApplication>
#include <QEvent>
#include <QLabel>

#include "app/style/theme.h"

namespace vergence::design {

namespace {

double scale(Type type)
{
    switch (type) {
    case Type::Caption: return 0.9;
    case Type::Body:
    case Type::Section: return 1.0;
    case Type::Title: return 1.25;
    case Type::Page: return 1.7;
    }
    return 1.0;
}

/// A label that stays in its step when palette or text size change.
class StepLabel : public QLabel {
public:
    StepLabel(const QString& text, Type type, QWidget* parent) : QLabel(text, parent), m_type(type)
    {
        dress();
    }

protected:
    void changeEvent(QEvent* event) override
    {
        QLabel::changeEvent(event);
        const bool concerns = event->type() == QEvent::ApplicationFontChange ||
                              event->type() == QEvent::ApplicationPaletteChange;
        if (concerns)
            dress();
    }

private:
    void dress()
    {
        setFont(design::font(m_type));
        QPalette colours = QApplication::palette();
        if (m_type == Type::Caption)
            colours.setColor(QPalette::WindowText, tone(colours, Tone::Muted));
        setPalette(colours);
    }

    Type m_type;
};

} // namespace

QFont font(Type type)
{
    QFont font = QApplication::font();
    font.setPointSizeF(font.pointSizeF() * scale(type));
    font.setWeight(type == Type::Section || type == Type::Title ? QFont::DemiBold : QFont::Normal);
    return font;
}

QLabel* label(const QString& text, Type type, QWidget* parent)
{
    return new StepLabel(text, type, parent);
}

QColor surface(const QPalette& palette, Surface surface)
{
    switch (surface) {
    case Surface::Window: return palette.color(QPalette::Window);
    case Surface::Card: return palette.color(QPalette::Base);
    case Surface::Bar: return palette.color(QPalette::Button);
    }
    return {};
}

QColor line(const QPalette& palette)
{
    return palette.color(QPalette::Mid);
}

QColor accent(const QPalette& palette)
{
    return palette.color(QPalette::Highlight);
}

QColor tone(const QPalette& palette, Tone tone)
{
    switch (tone) {
    case Tone::Neutral: return palette.color(QPalette::WindowText);
    case Tone::Muted: return mutedColour(palette);
    case Tone::Good: return goodColour(palette);
    case Tone::Warning: return warningColour(palette);
    case Tone::Error: return errorColour(palette);
    case Tone::Active: return palette.color(QPalette::Link);
    }
    return {};
}

} // namespace vergence::design
