#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace vergence {

/// Turns signals into Qt signals. INT, TERM, HUP (the terminal closes) and XCPU ask for an end;
/// the second INT or TERM ends the process at once (exit code 128 + signal). USR1 says that the
/// time is nearly up, USR2 asks for a checkpoint. HUP stays ignored where it was (nohup); PIPE is.
/// One object per process.
class SignalWatch : public QObject {
    Q_OBJECT
public:
    SignalWatch();
    ~SignalWatch() override;

Q_SIGNALS:
    void interrupted(int signal);
    void timeRunsOut();
    void checkpointWanted();

private:
    void hear(int signal);

    QSocketNotifier m_notifier;
};

} // namespace vergence
