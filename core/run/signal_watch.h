#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace vergence {

/// Turns the first SIGINT or SIGTERM into a Qt signal; the second one ends the process at once
/// (exit code 128 + signal). SIGPIPE is ignored. One object per process.
class SignalWatch : public QObject {
    Q_OBJECT
public:
    SignalWatch();
    ~SignalWatch() override;

Q_SIGNALS:
    void interrupted(int signal);

private:
    QSocketNotifier m_notifier;
};

} // namespace vergence
