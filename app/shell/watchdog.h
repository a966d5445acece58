#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <pthread.h>

#include <QByteArray>
#include <QObject>
#include <QStringList>

namespace vergence {

/// Measures how long the GUI thread leaves an event waiting: a thread posts a ping every 20 ms and
/// waits for its echo. Blocks over 50 ms are logged, each with the processor time that the GUI
/// thread itself used: where that is short, the computer was busy with something else.
/// One at a time, made on the GUI thread.
class Watchdog : public QObject {
    Q_OBJECT
public:
    explicit Watchdog(QObject* parent = nullptr);
    ~Watchdog() override;

    double longestBlockMs() const { return m_longestMs; }
    int blockCount() const { return m_blocks; } ///< over 50 ms
    /// The most processor time that the GUI thread used without answering.
    double longestBusyMs() const { return m_longestBusyMs; }
    /// {"longest_block_ms": 12.3, "blocks_over_50_ms": 0, "longest_busy_ms": 10.2,
    /// "busy_over_50_ms": 0, "stack": […]}; the stack is that of the longest busy block over 50 ms.
    QByteArray report() const;

protected:
    bool event(QEvent* event) override;

private:
    void watch(std::stop_token stop);
    void note(double blockedMs, double busyMs);
    double windowCpuMs() const;

    pthread_t m_window;
    std::atomic<double> m_longestMs{0}, m_longestBusyMs{0};
    std::atomic<int> m_blocks{0}, m_busyBlocks{0};
    QStringList m_stack; // written by the thread, read after it has noted a block
    mutable std::mutex m_mutex;
    std::condition_variable_any m_answered;
    bool m_echoed = false;
    std::jthread m_thread;
};

} // namespace vergence
