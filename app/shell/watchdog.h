#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <QObject>

namespace vergence {

/// Measures how long the GUI thread leaves an event waiting: a thread posts a ping every 20 ms and
/// waits for its echo. Blocks over 50 ms are logged.
class Watchdog : public QObject {
    Q_OBJECT
public:
    explicit Watchdog(QObject* parent = nullptr);
    ~Watchdog() override;

    double longestBlockMs() const { return m_longestMs; }
    int blockCount() const { return m_blocks; } ///< over 50 ms
    /// {"longest_block_ms": 12.3, "blocks_over_50_ms": 0}
    QByteArray report() const;

protected:
    bool event(QEvent* event) override;

private:
    void watch(std::stop_token stop);

    std::atomic<double> m_longestMs{0};
    std::atomic<int> m_blocks{0};
    std::mutex m_mutex;
    std::condition_variable_any m_answered;
    bool m_echoed = false;
    std::jthread m_thread;
};

} // namespace vergence
