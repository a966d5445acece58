#include "app/shell/icons.h"

#include <QFile>
#include <QPainter>
#include <QPalette>
#include <QSvgRenderer>

namespace vergence {

namespace {

QPixmap render(const QByteArray& svg, const QColor& colour, int size)
{
    QByteArray tinted = svg;
    tinted.replace("#000", colour.name().toLatin1());
    QSvgRenderer renderer(tinted);
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter);
    return pixmap;
}

QIcon makeIcon(const QString& name, const QColor& normal, const QColor& disabled)
{
    QFile file(":/icons/" + name + ".svg");
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QByteArray svg = file.readAll();
    QIcon icon;
    for (const int size : {16, 20, 24, 32, 48}) {
        icon.addPixmap(render(svg, normal, size), QIcon::Normal);
        icon.addPixmap(render(svg, disabled, size), QIcon::Disabled);
    }
    return icon;
}

} // namespace

QIcon tintedIcon(const QString& name, const QPalette& palette)
{
    return makeIcon(name, palette.color(QPalette::ButtonText),
                    palette.color(QPalette::Disabled, QPalette::ButtonText));
}

QIcon tintedIcon(const QString& name, const QColor& colour)
{
    return makeIcon(name, colour, colour);
}

} // namespace vergence
