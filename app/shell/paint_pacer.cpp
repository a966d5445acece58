#include "app/shell/paint_pacer.h"

#include <algorithm>

#include <QCoreApplication>
#include <QEvent>

namespace vergence {

namespace {

constexpr qint64 kLongestPauseMs = 33; ///< a paint of this length still comes 15 times a second

} // namespace

PaintPacer::PaintPacer(QWidget& window) : QObject(&window), m_window(window)
{
    m_pause.setSingleShot(true);
    connect(&m_pause, &QTimer::timeout, this, [this] {
        if (m_isWanted)
            paint();
    });
    window.installEventFilter(this);
}

/// Qt asks once, and not again before it was painted.
bool PaintPacer::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != &m_window || event->type() != QEvent::UpdateRequest || m_isPainting)
        return false;
    if (m_pause.isActive())
        m_isWanted = true;
    else
        paint();
    return true;
}

void PaintPacer::paint()
{
    QElapsedTimer clock;
    clock.start();
    m_isWanted = false;
    m_isPainting = true;
    QEvent request(QEvent::UpdateRequest);
    QCoreApplication::sendEvent(&m_window, &request);
    m_isPainting = false;
    m_pause.start(static_cast<int>(std::min(clock.elapsed(), kLongestPauseMs)));
}

} // namespace vergence
