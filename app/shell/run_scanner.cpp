#include "app/shell/run_scanner.h"

#include "core/base/log.h"

namespace vergence {

namespace {

constexpr std::size_t kBatch = 100;

RunEntry loadWithBest(const RunFolder& folder, const std::map<QString, HeadlineMetric>& headlines)
{
    RunEntry entry = loadRunEntry(folder);
    const auto headline = headlines.find(entry.plugin);
    if (headline != headlines.end()) {
        entry.best = bestFromManifest(folder, headline->second);
        entry.bestName = QString::fromStdString(headline->second.name);
    }
    return entry;
}

} // namespace

RunScanner::RunScanner(QObject* parent) : QObject(parent)
{
    qRegisterMetaType<std::vector<RunFolder>>();
    qRegisterMetaType<std::vector<RunEntry>>();
}

RunScanner::~RunScanner()
{
    endThread();
}

void RunScanner::setHeadlines(std::map<QString, HeadlineMetric> headlines)
{
    m_headlines = std::move(headlines);
}

void RunScanner::endThread()
{
    if (m_thread == nullptr)
        return;
    *m_stop = true;
    m_thread->wait();
    delete m_thread;
    m_thread = nullptr;
}

void RunScanner::scan(const std::filesystem::path& runsFolder,
                      std::unordered_set<std::string> settled)
{
    endThread();
    m_stop = std::make_shared<std::atomic<bool>>(false);
    m_thread = QThread::create([this, runsFolder, settled = std::move(settled), stop = m_stop,
                                headlines = m_headlines] {
        std::vector<RunFolder> folders;
        try {
            folders = listRuns(runsFolder);
        } catch (const std::exception& error) {
            log("shell").warn("Runs in {} cannot be listed: {}", runsFolder.string(), error.what());
        }
        Q_EMIT foldersListed(folders);
        std::vector<RunEntry> batch;
        for (std::size_t i = 0; i < folders.size() && !*stop; ++i) {
            if (settled.contains(folders[i].id()))
                continue;
            batch.push_back(loadWithBest(folders[i], headlines));
            if (batch.size() == kBatch) {
                Q_EMIT entriesLoaded(batch);
                batch.clear();
            }
        }
        if (!batch.empty() && !*stop)
            Q_EMIT entriesLoaded(batch);
    });
    connect(m_thread, &QThread::finished, this, [this, thread = m_thread] {
        if (m_thread != thread)
            return;
        m_thread = nullptr;
        thread->deleteLater();
        Q_EMIT finished();
    });
    m_thread->start();
}

} // namespace vergence
