#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include <QObject>

#include "app/export/export_plan.h"

namespace vergence {

/// Writes what `plan` says to `target`, which appears only when complete. `progress` gets done and
/// total in any unit, from this thread. Returns false when cancelled; nothing is left then. Throws
/// Error.
bool writeExport(const RunFolder& folder, const ExportPlan& plan,
                 const std::filesystem::path& target,
                 const std::function<void(std::uint64_t done, std::uint64_t total)>& progress,
                 const std::atomic<bool>& cancelled);

/// One export in a thread of its own; signals arrive on the thread that the job lives on.
class ExportJob : public QObject {
    Q_OBJECT
public:
    ExportJob(RunFolder folder, ExportPlan plan, std::filesystem::path target,
              QObject* parent = nullptr);
    ~ExportJob() override; ///< cancels and waits

    void start();
    void cancel() { m_cancelled = true; }

Q_SIGNALS:
    void progressed(int perMille);
    void finished(const QString& path);
    void cancelledCleanly();
    void failed(const QString& problemId, const QString& sentence);

private:
    void work();

    RunFolder m_folder;
    ExportPlan m_plan;
    std::filesystem::path m_target;
    std::atomic<bool> m_cancelled{false};
    std::jthread m_thread;
};

} // namespace vergence
