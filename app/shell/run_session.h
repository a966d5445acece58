#pragma once

#include <vector>

#include <QDateTime>
#include <QObject>
#include <QTimer>

#include "app/shell/log_intake.h"
#include "core/run/run_client.h"

namespace vergence {

/// A sentence that a run raised for people.
struct RunProblem {
    QString id; ///< "E-DISK", or a plugin's own
    QString sentence;
    QDateTime when;
};

/// All that the window holds of a run it follows: the client, the log and the problems so far.
class RunSession : public QObject {
    Q_OBJECT
public:
    explicit RunSession(RunFolder folder, QObject* parent = nullptr);

    RunClient& client() { return m_client; }
    const RunClient& client() const { return m_client; }
    LogModel& log() { return m_log; }
    const LogModel& log() const { return m_log; }
    const std::vector<RunProblem>& problems() const { return m_problems; }
    /// Steps per second over the last few seconds, or 0 where unknown.
    double stepsPerSecond() const;
    /// Seconds until the end; negative while unknown (before 10 s or 2 %).
    double secondsLeft() const;

Q_SIGNALS:
    void problemAdded(const vergence::RunProblem& problem);

private:
    void noteProgress();
    void noteState(RunState state);
    void noteEvent(const QString& text, LogLevel level);
    void addLine(LogRow row);
    void flushLog();

    RunClient m_client;
    LogModel m_log;
    LogIntake m_intake;
    RunState m_notedState = RunState::Draft;
    QString m_notedPhase;
    QTimer m_flush;
    std::vector<RunProblem> m_problems;
    struct Sample {
        double seconds;
        std::int64_t step;
    };
    std::vector<Sample> m_samples;
};

} // namespace vergence
