#include "app/shell/watchdog.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>

#include <execinfo.h>

#include <QCoreApplication>
#include <QEvent>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>
#include <QTime>

#include "core/base/clock.h"
#include "core/base/log.h"

namespace vergence {

namespace {

constexpr double kLimitMs = 50;
constexpr int kMostFrames = 40;
constexpr int kMostNoted = 100; // blocks in the report
constexpr int kOwnFrames = 2;   // the handler and the trampoline below it
const QEvent::Type kPing = static_cast<QEvent::Type>(QEvent::registerEventType());

/// Return addresses of the GUI thread, filled by the signal handler that runs on it.
std::array<void*, kMostFrames> stackFrames;
std::atomic<int> stackDepth{0};

void keepStack(int)
{
    stackDepth = backtrace(stackFrames.data(), kMostFrames);
}

QStringList stackText()
{
    const int depth = stackDepth.exchange(0);
    const std::unique_ptr<char*, decltype(&std::free)> names(
        backtrace_symbols(stackFrames.data(), depth), &std::free);
    QStringList text;
    for (int i = kOwnFrames; names && i < depth; ++i)
        text << QString::fromLocal8Bit(names.get()[i]).section('/', -1);
    return text;
}

} // namespace

Watchdog::Watchdog(QObject* parent) : QObject(parent), m_window(pthread_self())
{
    void* warmUp[1];
    backtrace(warmUp, 1); // loads what the handler must not load
    struct sigaction action = {};
    action.sa_handler = &keepStack;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
    m_thread = std::jthread([this](std::stop_token stop) { watch(stop); });
}

Watchdog::~Watchdog()
{
    m_thread.request_stop();
    m_thread.join();
    std::signal(SIGUSR2, SIG_DFL);
}

Watchdog::Moment Watchdog::now() const
{
    clockid_t clock;
    timespec used{};
    if (pthread_getcpuclockid(m_window, &clock) != 0 || clock_gettime(clock, &used) != 0)
        used = {};
    return {steadySeconds(),
            static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9};
}

void Watchdog::watch(std::stop_token stop)
{
    while (!stop.stop_requested()) {
        std::unique_lock lock(m_mutex);
        m_taken.reset();
        const Moment posted = now();
        QCoreApplication::postEvent(this, new QEvent(kPing));
        const auto limit = std::chrono::milliseconds(static_cast<int>(kLimitMs));
        if (!m_answered.wait_for(lock, stop, limit, [this] { return m_taken.has_value(); })) {
            if (!stop.stop_requested())
                pthread_kill(m_window, SIGUSR2);
            m_answered.wait(lock, stop, [this] { return m_taken.has_value(); });
        }
        if (!m_taken)
            return;
        note(posted, *m_taken);
        m_answered.wait_for(lock, stop, std::chrono::milliseconds(20), [] { return false; });
    }
}

/// Called with the lock held.
void Watchdog::note(const Moment& posted, const Moment& taken)
{
    const double blockedMs = (taken.seconds - posted.seconds) * 1000;
    const double busyMs = (taken.busySeconds - posted.busySeconds) * 1000;
    m_longestMs = std::max(m_longestMs.load(), blockedMs);
    m_longestBusyMs = std::max(m_longestBusyMs.load(), busyMs);
    if (blockedMs <= kLimitMs) {
        stackDepth = 0;
        return;
    }
    const QStringList stack = stackText();
    ++m_blocks;
    if (busyMs > kLimitMs)
        ++m_busyBlocks;
    if (m_noted.size() < kMostNoted)
        m_noted.append(
            QJsonObject{{"time", QTime::currentTime().toString(QStringLiteral("HH:mm:ss.zzz"))},
                        {"blocked_ms", blockedMs},
                        {"busy_ms", busyMs},
                        {"stack", QJsonArray::fromStringList(stack)}});
    log("shell").warn("The window did not answer for {:.0f} ms, of which it worked {:.0f} ms.",
                      blockedMs, busyMs);
    log("shell").debug("It was in {}", stack.join(", ").toStdString());
}

bool Watchdog::event(QEvent* event)
{
    if (event->type() != kPing)
        return QObject::event(event);
    const Moment taken = now();
    {
        const std::scoped_lock lock(m_mutex);
        m_taken = taken;
    }
    m_answered.notify_all();
    return true;
}

QByteArray Watchdog::report() const
{
    const std::scoped_lock lock(m_mutex);
    return QJsonDocument(QJsonObject{{"longest_block_ms", m_longestMs.load()},
                                     {"blocks_over_50_ms", m_blocks.load()},
                                     {"longest_busy_ms", m_longestBusyMs.load()},
                                     {"busy_over_50_ms", m_busyBlocks.load()},
                                     {"blocks", m_noted}})
        .toJson(QJsonDocument::Compact);
}

} // namespace vergence
