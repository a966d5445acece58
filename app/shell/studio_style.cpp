#include "app/shell/studio_style.h"

#include <QPainter>
#include <QStyleFactory>
#include <QStyleOption>

#include "app/shell/theme.h"

namespace vergence {

StudioStyle::StudioStyle() : QProxyStyle(QStyleFactory::create("Fusion")) {}

void StudioStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option,
                                QPainter* painter, const QWidget* widget) const
{
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    const bool isCheckBox =
        element == PE_IndicatorCheckBox || element == PE_IndicatorItemViewItemCheck;
    if (!isCheckBox || !isDark(option->palette))
        return;
    painter->save();
    painter->setPen(mutedColour(option->palette));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    painter->restore();
}

} // namespace vergence
