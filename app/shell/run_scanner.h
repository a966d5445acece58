#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include <QObject>
#include <QThread>

#include "app/shell/run_entry.h"

namespace vergence {

/// Lists and reads run folders in a thread of its own: first the names, newest first, then their
/// contents in batches.
class RunScanner : public QObject {
    Q_OBJECT
public:
    explicit RunScanner(QObject* parent = nullptr);
    ~RunScanner() override; ///< ends the scan that is under way

    /// Headline series per plugin id, for the column "Result" of the scans that follow.
    void setHeadlines(Headlines headlines);
    /// A scan that is under way ends early, without finished(), and this one follows. Runs named by
    /// `settled` are listed but not read again.
    void scan(const std::vector<std::filesystem::path>& parents,
              std::unordered_set<std::string> settled);
    bool isScanning() const { return m_thread != nullptr; }

Q_SIGNALS:
    void foldersListed(const std::vector<vergence::RunFolder>& folders);
    void entriesLoaded(const std::vector<vergence::RunEntry>& entries);
    void finished();

private:
    Headlines m_headlines;
    std::function<void()> m_next; ///< the scan that follows this one
    std::shared_ptr<std::atomic<bool>> m_stop;
    QThread* m_thread = nullptr;
};

} // namespace vergence
