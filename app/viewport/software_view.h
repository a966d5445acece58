#pragma once

#include <map>
#include <string>

#include <QImage>
#include <QWidget>

#include "app/viewport/view_scene.h"

namespace vergence {

/// Draws a ViewScene with QPainter (`softwareView`) where OpenGL 3.3 is missing.
class SoftwareView : public QWidget {
    Q_OBJECT
public:
    explicit SoftwareView(const ViewScene& scene, QWidget* parent = nullptr);

    int paintCount() const { return m_paintCount; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Cached {
        std::uint64_t revision = 0;
        Tone tone;
        QImage image;
    };

    const QImage& image(const std::string& stream, int layer);
    QImage difference(const Pane& pane);
    void paintPane(QPainter& painter, const Pane& pane);
    void paintStack(QPainter& painter);

    const ViewScene& m_scene;
    std::map<std::pair<std::string, int>, Cached> m_images;
    int m_paintCount = 0;
};

} // namespace vergence
