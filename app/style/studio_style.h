#pragma once

#include <QProxyStyle>

namespace vergence {

/// Fusion with check boxes and fields whose edge is seen on dark grounds, too (Fusion takes a
/// darker shade of the window for it), with room around the rows of lists, and without the
/// platform's icons on the buttons of dialogs.
class StudioStyle : public QProxyStyle {
    Q_OBJECT
public:
    StudioStyle();

    QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                           const QWidget* widget) const override;
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* data) const override;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                            QPainter* painter, const QWidget* widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
};

} // namespace vergence
