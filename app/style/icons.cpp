#include "app/style/icons.h"

#include <QFile>
#include <QGuiApplication>
#include <QPainter>
#include <QPalette>
#include <QPixmapCache>
#include <QSvgRenderer>

namespace vergence {

namespace {

QPixmap render(const QString& name, const QByteArray& svg, const QColor& colour, int size)
{
    const QString key = QString("vergence/%1/%2/%3").arg(name, colour.name()).arg(size);
    QPixmap pixmap;
    if (QPixmapCache::find(key, &pixmap))
        return pixmap; // lists ask for their icons whenever they are painted
    QByteArray tinted = svg;
    tinted.replace("#000", colour.name().toLatin1());
    QSvgRenderer renderer(tinted);
    pixmap = QPixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter);
    painter.end();
    QPixmapCache::insert(key, pixmap);
    return pixmap;
}

QIcon makeIcon(const QString& name, const QColor& normal, const QColor& disabled,
               const QColor& selected)
{
    QFile file(":/icons/" + name + ".svg");
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QByteArray svg = file.readAll();
    QIcon icon;
    for (const int size : {16, 20, 24, 32, 48}) {
        icon.addPixmap(render(name, svg, normal, size), QIcon::Normal);
        icon.addPixmap(render(name, svg, disabled, size), QIcon::Disabled);
        icon.addPixmap(render(name, svg, selected, size), QIcon::Selected);
    }
    return icon;
}

} // namespace

QIcon tintedIcon(const QString& name, const QPalette& palette)
{
    return makeIcon(name, palette.color(QPalette::ButtonText),
                    palette.color(QPalette::Disabled, QPalette::ButtonText),
                    palette.color(QPalette::HighlightedText));
}

QIcon tintedIcon(const QString& name, const QColor& colour)
{
    return makeIcon(name, colour, colour,
                    QGuiApplication::palette().color(QPalette::HighlightedText));
}

QIcon swatch(const QColor& colour)
{
    constexpr int kSide = 14;
    const QString key = "vergence/swatch/" + colour.name();
    QPixmap pixmap;
    if (!QPixmapCache::find(key, &pixmap)) {
        pixmap = QPixmap(kSide, kSide);
        pixmap.fill(Qt::white);
        QPainter(&pixmap).fillRect(1, 1, kSide - 2, kSide - 2, colour);
        QPixmapCache::insert(key, pixmap);
    }
    QIcon icon(pixmap);
    icon.addPixmap(pixmap, QIcon::Selected); // as it is, not tinted
    return icon;
}

} // namespace vergence
