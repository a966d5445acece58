#include "app/shell/run_scanner.h"

#include <algorithm>
#include <utility>

#include "core/base/log.h"

namespace vergence {

namespace {

constexpr std::size_t kBatch = 100;

/// Newest first; of two of the same name the one of the earlier folder.
std::vector<RunFolder> runsBelow(const std::vector<std::filesystem::path>& parents)
{
    std::vector<RunFolder> runs;
    std::unordered_set<std::string> known;
    for (const std::filesystem::path& parent : parents) {
        const auto middle = static_cast<std::ptrdiff_t>(runs.size());
        for (RunFolder& run : listRuns(parent))
            if (known.insert(run.id()).second)
                runs.push_back(std::move(run));
        std::inplace_merge(runs.begin(), runs.begin() + middle, runs.end(),
                           [](const RunFolder& a, const RunFolder& b) { return a.id() > b.id(); });
    }
    return runs;
}

} // namespace

RunScanner::RunScanner(QObject* parent) : QObject(parent)
{
    qRegisterMetaType<std::vector<RunFolder>>();
    qRegisterMetaType<std::vector<RunEntry>>();
}

RunScanner::~RunScanner()
{
    if (m_thread == nullptr)
        return;
    *m_stop = true;
    m_thread->wait();
    delete m_thread;
}

void RunScanner::setHeadlines(Headlines headlines)
{
    m_headlines = std::move(headlines);
}

void RunScanner::scan(const std::vector<std::filesystem::path>& parents,
                      std::unordered_set<std::string> settled)
{
    if (m_thread != nullptr) {
        *m_stop = true;
        m_next = [this, parents, settled = std::move(settled)] { scan(parents, settled); };
        return;
    }
    m_stop = std::make_shared<std::atomic<bool>>(false);
    m_thread = QThread::create(
        [this, parents, settled = std::move(settled), stop = m_stop, headlines = m_headlines] {
            std::vector<RunFolder> folders;
            try {
                folders = runsBelow(parents);
            } catch (const std::exception& error) {
                log("shell").warn("Runs cannot be listed: {}", error.what());
            }
            Q_EMIT foldersListed(folders);
            std::vector<RunEntry> batch;
            for (std::size_t i = 0; i < folders.size() && !*stop; ++i) {
                if (settled.contains(folders[i].id()))
                    continue;
                batch.push_back(loadRunEntry(folders[i], headlines));
                if (batch.size() == kBatch) {
                    Q_EMIT entriesLoaded(batch);
                    batch.clear();
                }
            }
            if (!batch.empty() && !*stop)
                Q_EMIT entriesLoaded(batch);
        });
    connect(m_thread, &QThread::finished, this, [this] {
        std::exchange(m_thread, nullptr)->deleteLater();
        if (const auto next = std::exchange(m_next, nullptr))
            next();
        else
            Q_EMIT finished();
    });
    m_thread->start();
}

} // namespace vergence
