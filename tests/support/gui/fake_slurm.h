#pragma once

#include <QStringList>
#include <QTemporaryDir>

#include "tests/support/environment.h"

namespace vergence::test {

/// Programs that answer like those of Slurm, first in PATH for one scope: where a test needs to say
/// what the queue does. Jobs wait until letBegin(), then their scripts run on this computer. For
/// how Slurm itself behaves see SlurmBench.
class FakeSlurm {
public:
    FakeSlurm();
    ~FakeSlurm(); ///< drops what still waits
    FakeSlurm(const FakeSlurm&) = delete;
    FakeSlurm& operator=(const FakeSlurm&) = delete;

    void letBegin() const; ///< jobs that wait, and those to come
    void hold() const;     ///< jobs to come wait again
    /// Why jobs wait, in Slurm's words.
    void setReason(const QByteArray& reason) const;
    /// What sbatch says instead of taking a job; empty: it takes them.
    void refuse(const QByteArray& words) const;
    /// Whether its controller is gone: squeue says so.
    void setSilent(bool silent) const;
    /// Tells a job that its time is nearly up. What queues again waits for letBegin().
    void endTime(const QString& job) const;
    /// Takes jobs out of the queue with this end; "*": all.
    void drop(const QString& job, const QByteArray& state) const;

    QStringList queued() const;
    /// The last number of the array of each submission, empty for a job of its own.
    QStringList arrays() const;

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    void write(const QString& name, const QByteArray& text) const;
    void writeOrRemove(const QString& name, const QByteArray& text) const;

    QTemporaryDir m_folder;
    ScopedVariable m_path;
};

} // namespace vergence::test
