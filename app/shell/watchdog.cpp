#include "app/shell/watchdog.h"

#include <algorithm>
#include <chrono>

#include <QCoreApplication>
#include <QEvent>
#include <QJsonDocument>
#include <QJsonObject>

#include "core/base/clock.h"
#include "core/base/log.h"

namespace vergence {

namespace {

constexpr double kLimitMs = 50;
const QEvent::Type kPing = static_cast<QEvent::Type>(QEvent::registerEventType());

} // namespace

Watchdog::Watchdog(QObject* parent)
    : QObject(parent),
      m_thread([this](std::stop_token stop) { watch(stop); })
{
}

Watchdog::~Watchdog()
{
    m_thread.request_stop();
    m_thread.join();
}

void Watchdog::watch(std::stop_token stop)
{
    while (!stop.stop_requested()) {
        std::unique_lock lock(m_mutex);
        m_echoed = false;
        const double posted = steadySeconds();
        QCoreApplication::postEvent(this, new QEvent(kPing));
        m_answered.wait(lock, stop, [this] { return m_echoed; });
        if (!m_echoed)
            return;
        const double blockedMs = (steadySeconds() - posted) * 1000;
        m_longestMs = std::max(m_longestMs.load(), blockedMs);
        if (blockedMs > kLimitMs) {
            ++m_blocks;
            log("shell").warn("The window did not answer for {:.0f} ms.", blockedMs);
        }
        m_answered.wait_for(lock, stop, std::chrono::milliseconds(20), [] { return false; });
    }
}

bool Watchdog::event(QEvent* event)
{
    if (event->type() != kPing)
        return QObject::event(event);
    {
        const std::scoped_lock lock(m_mutex);
        m_echoed = true;
    }
    m_answered.notify_all();
    return true;
}

QByteArray Watchdog::report() const
{
    return QJsonDocument(QJsonObject{{"longest_block_ms", m_longestMs.load()},
                                     {"blocks_over_50_ms", m_blocks.load()}})
        .toJson(QJsonDocument::Compact);
}

} // namespace vergence
