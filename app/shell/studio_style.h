#pragma once

#include <QProxyStyle>

namespace vergence {

/// Fusion with check boxes whose edge is seen on dark grounds, too; Fusion takes a darker shade of
/// the window for it.
class StudioStyle : public QProxyStyle {
    Q_OBJECT
public:
    StudioStyle();

    QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                           const QWidget* widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
};

} // namespace vergence
