#include "app/style/design.h"

#include <QApplication>
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
    auto* label = new QLabel(text, parent);
    label->setFont(font(type));
    if (type == Type::Caption) {
        QPalette colours = label->palette();
        colours.setColor(QPalette::WindowText, tone(colours, Tone::Muted));
        label->setPalette(colours);
    }
    return label;
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
