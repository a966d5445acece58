#pragma once

#include <string>
#include <vector>

#include <QSignalSpy>
#include <QStringList>
#include <QTemporaryDir>

#include "core/run/run_client.h"
#include "tests/support/patience.h"

namespace vergence::testing {

/// Real workers of the chaos plugin, below a folder of their own.
class WorkerBench {
public:
    WorkerBench();
    ~WorkerBench(); ///< ends a worker that a failed test left

    RunFolder folder() const { return {m_root + "/runs/Übung é 空 (1)"}; }
    QString executable() const;
    /// `vergence run chaos --run-dir … --set key=value …`
    QStringList arguments(const std::vector<std::string>& settings,
                          const QStringList& more = {}) const;
    QStringList resumeArguments(const QStringList& more = {}) const;
    QStringList viewArguments() const;
    /// Runs to the end without a client; returns the exit code, 128 + signal after a signal.
    int runAlone(const QStringList& arguments) const;

    /// "step value" of train/loss in metrics.csv.
    std::vector<std::string> curve() const;
    static std::vector<std::string> curveOf(const RunClient& client);

private:
    QTemporaryDir m_directory;
    std::string m_root;
};

/// Waits on events until the client is in `state`.
bool reaches(const RunClient& client, RunState state, int milliseconds = 60'000);

} // namespace vergence::testing
