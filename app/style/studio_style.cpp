#include "app/style/studio_style.h"

#include <QPainter>
#include <QStyleFactory>
#include <QStyleOption>

#include "app/style/theme.h"

namespace vergence {

namespace {

constexpr int kRowPadding = 4; ///< pixels that a row of a list or tree gets beyond its text

} // namespace

StudioStyle::StudioStyle() : QProxyStyle(QStyleFactory::create("Fusion")) {}

QSize StudioStyle::sizeFromContents(ContentsType type, const QStyleOption* option,
                                    const QSize& size, const QWidget* widget) const
{
    QSize full = QProxyStyle::sizeFromContents(type, option, size, widget);
    if (type == CT_ItemViewItem)
        full.rheight() += kRowPadding;
    return full;
}

int StudioStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                           QStyleHintReturn* data) const
{
    // The platform's icons are drawn for light buttons.
    return hint == SH_DialogButtonBox_ButtonsHaveIcons
               ? 0
               : QProxyStyle::styleHint(hint, option, widget, data);
}

void StudioStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                                     QPainter* painter, const QWidget* widget) const
{
    QProxyStyle::drawComplexControl(control, option, painter, widget);
    if (control != CC_SpinBox || (option->state & State_HasFocus) || !isDark(option->palette))
        return;
    painter->save();
    painter->setPen(option->palette.color(QPalette::Light));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    painter->restore();
}

void StudioStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option,
                                QPainter* painter, const QWidget* widget) const
{
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    const bool isCheckBox =
        element == PE_IndicatorCheckBox || element == PE_IndicatorItemViewItemCheck;
    // Fusion derives outlines from the window's colour; on a dark one they cannot be seen.
    const bool isField = element == PE_FrameLineEdit && !(option->state & State_HasFocus);
    if (!(isCheckBox || isField) || !isDark(option->palette))
        return;
    painter->save();
    painter->setPen(isField ? option->palette.color(QPalette::Light)
                            : mutedColour(option->palette));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    painter->restore();
}

} // namespace vergence
