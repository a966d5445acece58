#pragma once

#include <vector>

#include <QObject>
#include <QProcess>
#include <QSet>
#include <QTimer>

#include "app/shell/worker_commands.h"

namespace vergence {

/// Asks a worker process (`vergence validate`) of each run of a sweep whether it could begin, one
/// after the other. What was found right is not asked again.
class SweepCheck : public QObject {
    Q_OBJECT
public:
    SweepCheck(QString executable, QStringList extraArguments, QObject* parent = nullptr);
    ~SweepCheck() override;

    /// Replaces what is under way; soon, so that nothing is asked while somebody types.
    void checkSoon(std::vector<RunDraft> drafts);
    void cancel();

Q_SIGNALS:
    void passed(); ///< every run
    void refused(const QString& value, const QString& sentence);

private:
    void next();
    void readAnswer();

    QString m_executable;
    QStringList m_extraArguments;
    QTimer m_delay;
    QProcess m_process;
    std::vector<RunDraft> m_waiting; ///< the first is being asked
    QSet<QString> m_right;           ///< by the words of the command
};

} // namespace vergence
