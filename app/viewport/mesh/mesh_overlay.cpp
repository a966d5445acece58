#include "app/viewport/mesh/mesh_overlay.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QLocale>

namespace vergence {
namespace {

constexpr double kMargin = 8, kLine = 18;

QString tr(const char* text)
{
    return QCoreApplication::translate("MeshOverlay", text);
}

QString number(std::size_t n)
{
    return QLocale().toString(qulonglong(n));
}

/// Lines of text on a plate of the window's colour, each behind a mark of its own.
struct Legend {
    struct Entry {
        QString text;
        QPen mark;
    };
    std::vector<Entry> entries;

    void paint(QPainter& painter, QSizeF viewport, const QPalette& palette) const
    {
        if (entries.empty())
            return;
        const QFontMetricsF metrics(painter.font());
        double width = 0;
        for (const Entry& entry : entries)
            width = std::max(width, metrics.horizontalAdvance(entry.text));
        const double line = std::max(kLine, metrics.height() + 2);
        const double height = line * static_cast<double>(entries.size()) + 6;
        const QRectF plate(kMargin, viewport.height() - height - kMargin, width + 42, height);
        QColor fill = palette.color(QPalette::Window);
        fill.setAlphaF(0.82F);
        painter.setPen(Qt::NoPen);
        painter.setBrush(fill);
        painter.drawRoundedRect(plate, 3, 3);
        double y = plate.top() + 3 + line / 2;
        for (const Entry& entry : entries) {
            painter.setPen(entry.mark);
            painter.drawLine(QPointF(plate.left() + 8, y), QPointF(plate.left() + 28, y));
            painter.setPen(palette.color(QPalette::WindowText));
            painter.drawText(QRectF(plate.left() + 34, y - line / 2, width + 2, line),
                             Qt::AlignVCenter, entry.text);
            y += line;
        }
    }
};

void paintChip(QPainter& painter, QPointF centre, const QString& text, const QPalette& palette)
{
    const QFontMetricsF metrics(painter.font());
    QRectF plate(QPointF(), QSizeF(metrics.horizontalAdvance(text) + 14, metrics.height() + 6));
    plate.moveCenter(centre);
    QColor fill = palette.color(QPalette::Window);
    fill.setAlphaF(0.88F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRoundedRect(plate, 3, 3);
    painter.setPen(palette.color(QPalette::WindowText));
    painter.drawText(plate, Qt::AlignCenter, text);
}

void paintMeasure(QPainter& painter, const MeshScene& scene, QSizeF viewport,
                  const QPalette& palette)
{
    const auto& points = scene.measured();
    std::vector<QPointF> places;
    for (const QVector3D& point : points)
        if (const auto place = scene.camera().project(point, viewport))
            places.push_back(*place);
    const QColor window = palette.color(QPalette::Window);
    const QColor accent = palette.color(QPalette::Highlight);
    if (places.size() == 2) {
        for (const QPen& pen : {QPen(window, 4), QPen(accent, 2)}) {
            painter.setPen(pen);
            painter.drawLine(places[0], places[1]);
        }
    }
    for (const QPointF& place : places) {
        painter.setPen(QPen(window, 1.5));
        painter.setBrush(accent);
        painter.drawEllipse(place, 4.5, 4.5);
    }
    if (places.size() == 2) {
        const double distance = (points[1] - points[0]).length();
        paintChip(painter, (places[0] + places[1]) / 2 + QPointF(0, -20),
                  tr("%1 units").arg(QString::number(distance, 'g', 5)), palette);
    }
    if (scene.settings().measures && points.size() < 2)
        paintChip(painter, {viewport.width() / 2, 24},
                  points.empty() ? tr("Click the first point of the distance.")
                                 : tr("Click the second point."),
                  palette);
}

Legend legendOf(const MeshScene& scene)
{
    Legend legend;
    const MeshSettings& settings = scene.settings();
    const auto mesh = scene.mesh();
    if (settings.marksEdges) {
        QPen dashed(nonManifoldColour(), 4);
        dashed.setDashPattern({1.5, 1.5});
        dashed.setCapStyle(Qt::FlatCap);
        legend.entries.push_back({tr("Boundary edges: %1").arg(number(mesh->boundary.size())),
                                  QPen(boundaryColour(), 2)});
        legend.entries.push_back(
            {tr("Non-manifold edges: %1").arg(number(mesh->nonManifold.size())), dashed});
    }
    return legend;
}

} // namespace

QColor boundaryColour()
{
    return QColor("#f28c1e");
}

QColor nonManifoldColour()
{
    return QColor("#e0218a");
}

QColor backFaceColour()
{
    return QColor("#7b4fb3");
}

void paintMeshOverlay(QPainter& painter, const MeshScene& scene, QSizeF viewport,
                      const QPalette& palette)
{
    painter.setRenderHint(QPainter::Antialiasing);
    QString words = scene.mesh() ? scene.message() : QString();
    if (scene.sentFraction() < 1)
        words = tr("Sending to the graphics card: %1 %").arg(qRound(scene.sentFraction() * 100));
    if (!words.isEmpty())
        paintChip(painter, {viewport.width() / 2, viewport.height() - 26}, words, palette);
    if (!scene.mesh() || scene.settings().shading == MeshShading::UvLayout)
        return;
    paintMeasure(painter, scene, viewport, palette);
    legendOf(scene).paint(painter, viewport, palette);
}

QStringList meshFacts(const PreparedMesh& mesh)
{
    QStringList facts{mesh.name, tr("%1 triangles").arg(number(mesh.triangleCount())),
                      tr("%1 vertices").arg(number(mesh.vertexCount))};
    facts << (mesh.componentCount == 1 ? tr("1 piece")
                                       : tr("%1 pieces").arg(number(mesh.componentCount)));
    if (mesh.hasTexture()) {
        const QSize size = mesh.textures.front().front().size();
        facts << tr("texture %1 × %2 px").arg(size.width()).arg(size.height());
    }
    return facts;
}

} // namespace vergence
