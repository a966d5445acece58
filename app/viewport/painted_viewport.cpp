#include "app/viewport/painted_viewport.h"

#include <QEvent>
#include <QPainter>

namespace vergence {

PaintedViewport::PaintedViewport(ViewScene& scene, QWidget* parent)
    : QWidget(parent),
      m_gl(std::make_unique<GlViewport>(scene))
{
    m_gl->setObjectName(QStringLiteral("hiddenViewport"));
    setObjectName(QStringLiteral("viewport"));
    setAttribute(Qt::WA_OpaquePaintEvent);
    connect(m_gl.get(), &GlViewport::paintWanted, this, &PaintedViewport::redraw);
}

PaintedViewport::~PaintedViewport() = default;

void PaintedViewport::redraw()
{
    m_isOld = true;
    update();
}

void PaintedViewport::paintEvent(QPaintEvent*)
{
    if (m_isOld || m_gl->size() != size()) {
        m_isOld = false; // drawing may ask for more
        m_picture = m_gl->drawHidden(size());
    }
    QPainter(this).drawImage(rect(), m_picture);
}

void PaintedViewport::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        redraw();
}

} // namespace vergence
