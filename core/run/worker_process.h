#pragma once

#include <memory>
#include <optional>

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTemporaryFile>

#include "core/artifact/run_folder.h"

namespace vergence {

/// A worker that this program started, in a session of its own: it survives this object and the
/// whole program. While both live, its end is known exactly.
class WorkerProcess : public QObject {
    Q_OBJECT
public:
    explicit WorkerProcess(QObject* parent = nullptr) : QObject(parent) {}
    ~WorkerProcess() override;

    /// stdout and stderr go to worker.log of the run folder, or to a file that goes with this
    /// object where that cannot be written.
    void start(const QString& executable, const QStringList& arguments, const RunFolder& folder);
    bool isRunning() const;
    int processId() const;                  ///< 0 where none runs
    std::filesystem::path strayLog() const; ///< that file; empty where there is none

    struct Ending {
        int signal = 0; ///< 0: it ended by itself
        int exitCode = 0;
        QString whyNotStarted;
    };
    const std::optional<Ending>& ending() const { return m_ending; }

Q_SIGNALS:
    void ended();

private:
    void finish(Ending ending);
    QString writableLog(const std::filesystem::path& wanted);

    QProcess* m_process =
        nullptr; // without parent: a QProcess kills its child when it is destroyed
    std::unique_ptr<QTemporaryFile> m_strayLog;
    std::optional<Ending> m_ending;
};

} // namespace vergence
