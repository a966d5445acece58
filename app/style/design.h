#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>

class QLabel;
class QWidget;

/// Measures and colours of the window; `README.md` of this folder says when to use which.
namespace vergence::design {

/// Distances in pixels, multiples of 4: between parts of one thing, between things, between groups
/// and around a page.
inline constexpr int kTight = 4, kNear = 8, kApart = 16, kPage = 24;
/// Corner radius of buttons and fields, and of cards.
inline constexpr int kRadius = 4, kCardRadius = 8;

/// Steps of the type scale: captions and axes, text, titles of sections, of panes, of pages.
enum class Type { Caption, Body, Section, Title, Page };
/// The application's font at this step.
QFont font(Type type);
/// A label in this step of the present text size; captions are muted.
QLabel* label(const QString& text, Type type, QWidget* parent = nullptr);

/// The three surfaces: the window, what lies on it (cards, fields, lists), and what is between
/// them (tool bars, headers, hovered rows).
enum class Surface { Window, Card, Bar };
QColor surface(const QPalette& palette, Surface surface);
/// Hairlines around cards and between panes; at least 3:1 on every surface in high contrast.
QColor line(const QPalette& palette);
/// The one colour of choice: selection, focus, links, the main button.
QColor accent(const QPalette& palette);

/// States in colour; readable as text on every surface (4.5:1). Never alone: a word or a sign
/// stands beside them.
enum class Tone { Neutral, Muted, Good, Warning, Error, Active };
QColor tone(const QPalette& palette, Tone tone);

} // namespace vergence::design
