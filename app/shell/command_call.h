#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>

namespace vergence {

/// What `vergence` answered.
struct CommandAnswer {
    int exitCode = 0;
    QByteArray output;
    QString refusal; ///< a sentence; empty where it did what was asked
    bool isGood() const { return refusal.isEmpty(); }
};

/// One call of `vergence`, as a process; the window goes on meanwhile.
class CommandCall : public QObject {
    Q_OBJECT
public:
    explicit CommandCall(QString executable, QObject* parent = nullptr);
    ~CommandCall() override; ///< ends it

    void start(const QStringList& arguments); ///< once
    /// Blocks until it has ended, for what must not be cut in two; without answered().
    void finish(int milliseconds);

Q_SIGNALS:
    void talked(const QString& line); ///< on standard error, as it comes
    void answered(const vergence::CommandAnswer& answer);

private:
    void takeTalk();
    void takeEnd();

    QString m_executable, m_command;
    QByteArray m_talk;    ///< all of standard error
    qsizetype m_told = 0; ///< of that, by talked()
    QProcess m_process;
};

} // namespace vergence
