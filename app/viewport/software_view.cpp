#include "app/viewport/software_view.h"

#include <algorithm>
#include <cmath>

#include <QPainter>

#include "app/viewport/overlay.h"

namespace vergence {
namespace {

bool isSame(const Tone& a, const Tone& b)
{
    return a.exposure == b.exposure && a.map == b.map && a.range == b.range;
}

int amount(double difference, double gain)
{
    return static_cast<int>(std::clamp(std::abs(difference) * gain, 0.0, 255.0));
}

double luminance(QRgb colour)
{
    return 0.2126 * qRed(colour) + 0.7152 * qGreen(colour) + 0.0722 * qBlue(colour);
}

} // namespace

SoftwareView::SoftwareView(const ViewScene& scene, QWidget* parent)
    : QWidget(parent),
      m_scene(scene)
{
    setObjectName(QStringLiteral("softwareView"));
    connect(&scene, &ViewScene::changed, this, qOverload<>(&QWidget::update));
}

const QImage& SoftwareView::image(const std::string& stream, int layer)
{
    const auto shown = m_scene.frame(stream);
    Cached& cached = m_images[{stream, layer}];
    const Tone& tone = m_scene.settings().tone;
    if (cached.revision != shown->revision || !isSame(cached.tone, tone))
        cached = {shown->revision, tone, shownImage(*shown, layer, tone)};
    return cached.image;
}

QImage SoftwareView::difference(const Pane& pane)
{
    const QImage& a = image(pane.stream, pane.layer);
    const QImage b = image(pane.other, pane.otherLayer).scaled(a.size());
    const double gain = m_scene.settings().compare.gain;
    QImage result(a.size(), QImage::Format_RGBA8888);
    for (int y = 0; y < a.height(); ++y) {
        for (int x = 0; x < a.width(); ++x) {
            const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
            const double signedPart = gain * (luminance(p) - luminance(q)) / 255;
            result.setPixel(x, y,
                            pane.operation == Pane::Operation::SignedDifference
                                ? mapColour(FalseColour::Diverging, 0.5 + 0.5 * signedPart)
                                : qRgb(amount(qRed(p) - qRed(q), gain),
                                       amount(qGreen(p) - qGreen(q), gain),
                                       amount(qBlue(p) - qBlue(q), gain)));
        }
    }
    return result;
}

void SoftwareView::paintPane(QPainter& painter, const Pane& pane)
{
    const auto shown = m_scene.frame(pane.stream);
    const bool isDifference = pane.operation != Pane::Operation::Picture;
    const auto other = isDifference ? m_scene.frame(pane.other) : shown;
    if (!shown || !other || !shown->hasPixels() || !other->hasPixels())
        return;
    const ViewSettings& settings = m_scene.settings();
    painter.save();
    painter.setClipRect(pane.clip);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, m_scene.isSmooth());
    painter.drawImage(pictureRect(pane.area, shown->size(), settings.transform),
                      isDifference ? difference(pane) : image(pane.stream, pane.layer));
    painter.restore();
}

void SoftwareView::paintStack(QPainter& painter)
{
    const ViewSettings& settings = m_scene.settings();
    const auto shown = m_scene.frame(settings.stream);
    if (!shown || !shown->hasPixels())
        return;
    for (const StackPlane& plane : m_scene.planes()) {
        const QImage& picture = image(settings.stream, plane.layer);
        const auto corner = [&](float x, float y) {
            const QVector3D at(x * static_cast<float>(plane.halfSize.width()),
                               y * static_cast<float>(plane.halfSize.height()), 0);
            return settings.camera.project(plane.centre + at, size());
        };
        const QPolygonF quad{{corner(-1, 1), corner(1, 1), corner(1, -1), corner(-1, -1)}};
        QTransform transform;
        const QRectF source(picture.rect());
        const QPolygonF corners{
            {source.topLeft(), source.topRight(), source.bottomRight(), source.bottomLeft()}};
        if (!QTransform::quadToQuad(corners, quad, transform))
            continue;
        painter.save();
        painter.setTransform(transform);
        painter.setOpacity(settings.opacity);
        painter.drawImage(0, 0, picture);
        painter.restore();
        painter.setPen(palette().color(QPalette::Mid));
        painter.setBrush(Qt::NoBrush);
        painter.drawPolygon(quad);
    }
}

void SoftwareView::paintEvent(QPaintEvent*)
{
    std::erase_if(m_images, [&](const auto& entry) {
        const auto shown = m_scene.frame(entry.first.first);
        return !shown || entry.first.second >= shown->layers();
    });
    QPainter painter(this);
    painter.fillRect(rect(), palette().color(QPalette::Window));
    for (const Pane& pane : m_scene.panes(size()))
        paintPane(painter, pane);
    paintStack(painter);
    paintOverlay(painter, m_scene, size(), palette());
    ++m_paintCount;
}

} // namespace vergence
