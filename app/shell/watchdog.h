#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include <pthread.h>

#include <QByteArray>
#include <QJsonArray>
#include <QObject>

namespace vergence {

/// Measures how long the GUI thread leaves an event waiting: a thread posts a ping every 20 ms, and
/// the GUI thread notes when it takes it. Blocks over 50 ms are logged, each with the processor
/// time that the GUI thread itself used: where that is short, the computer was busy with something
/// else. One at a time, made on the GUI thread.
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
    /// "busy_over_50_ms": 0, "blocks": [{"time": "10:15:07.123", "blocked_ms": 61.2,
    /// "busy_ms": 55.0, "stack": […]}, …]}; of the blocks over 50 ms the first 100, each where it
    /// was after 50 ms.
    QByteArray report() const;

protected:
    bool event(QEvent* event) override;

private:
    /// A moment of the GUI thread.
    struct Moment {
        double seconds = 0;     ///< of the steady clock
        double busySeconds = 0; ///< of processor time that the thread had used
    };

    void watch(std::stop_token stop);
    void note(const Moment& posted, const Moment& taken);
    Moment now() const;

    pthread_t m_window;
    std::atomic<double> m_longestMs{0}, m_longestBusyMs{0};
    std::atomic<int> m_blocks{0}, m_busyBlocks{0};
    mutable std::mutex m_mutex;
    QJsonArray m_noted;            // under m_mutex
    std::optional<Moment> m_taken; // under m_mutex: when the last ping was taken
    std::condition_variable_any m_answered;
    std::jthread m_thread;
};

} // namespace vergence
