#include "app/shell/run_list_model.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include <QApplication>
#include <QDir>

#include "app/style/icons.h"
#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace vergence {

namespace {

/// From a change in the folder of runs to its being listed: changes come in groups, and a worker
/// that has just made its folder may need seconds to say that it goes on.
constexpr int kRescanMs = 500, kLateRescanMs = 3'000;

/// Twelve hues that stay apart on light and dark grounds.
const QColor kCurveColours[] = {"#3b82d6", "#e07b39", "#3a9d5d", "#b65fcf", "#c94f5b", "#2fa5a5",
                                "#9a8c2c", "#7c6fe0", "#d16fa0", "#6b8e23", "#8a6d5b", "#5b87a6"};

} // namespace

RunListModel::RunListModel(QObject* parent) : QAbstractTableModel(parent)
{
    for (const auto& [timer, interval] :
         {std::pair{&m_rescan, kRescanMs}, std::pair{&m_lateRescan, kLateRescanMs}}) {
        timer->setSingleShot(true);
        timer->setInterval(interval);
        connect(timer, &QTimer::timeout, this, &RunListModel::rescan);
        connect(&m_watcher, &QFileSystemWatcher::directoryChanged, timer,
                [timer] { timer->start(); });
    }
    connect(&m_scanner, &RunScanner::foldersListed, this, &RunListModel::takeFolders);
    connect(&m_scanner, &RunScanner::entriesLoaded, this, &RunListModel::takeEntries);
    connect(&m_scanner, &RunScanner::finished, this, [this] {
        m_isResultStale = false;
        Q_EMIT scanFinished();
    });
}

RunListModel::~RunListModel() = default;

void RunListModel::setHeadlines(Headlines headlines)
{
    m_headlines = headlines;
    m_isResultStale = true;
    m_scanner.setHeadlines(std::move(headlines));
    scan(); // what a scan under way brings was read without them
}

void RunListModel::setFolder(const QString& runsFolder)
{
    m_folder = runsFolder;
    if (!m_watcher.directories().isEmpty())
        m_watcher.removePaths(m_watcher.directories());
    rescan();
}

void RunListModel::setFurtherFolders(const QStringList& runsFolders)
{
    if (m_furtherFolders == runsFolders)
        return;
    m_furtherFolders = runsFolders;
    setFolder(m_folder);
}

QStringList RunListModel::folders() const
{
    QStringList all{m_folder};
    for (const QString& further : m_furtherFolders)
        if (!all.contains(further))
            all << further;
    return all;
}

void RunListModel::watchFolders()
{
    for (const QString& folder : folders())
        if (!m_watcher.directories().contains(folder) && QDir(folder).exists())
            m_watcher.addPath(folder);
}

void RunListModel::rescan()
{
    if (m_scanner.isScanning())
        m_rescan.start();
    else
        scan();
}

void RunListModel::scan()
{
    if (m_folder.isEmpty())
        return;
    watchFolders();
    std::unordered_set<std::string> settled;
    for (const auto& entry : m_entries)
        if (entry->isLoaded && entry->hasEnded() && !m_isResultStale)
            settled.insert(entry->folder.id());
    std::vector<std::filesystem::path> paths;
    for (const QString& folder : folders())
        paths.emplace_back(folder.toStdString());
    m_scanner.scan(paths, std::move(settled));
}

/// Rows come, go and move one by one, so that what is selected or being edited stays so.
void RunListModel::takeFolders(const std::vector<RunFolder>& folders)
{
    QHash<QString, int> places;
    for (const RunFolder& folder : folders)
        places.insert(QString::fromStdString(folder.id()), static_cast<int>(places.size()));
    removeUnlisted(places);
    QStringList unread; // no scan comes by there
    for (const auto& entry : m_entries)
        if (m_isResultStale && !places.contains(entry->id) &&
            std::filesystem::exists(entry->folder.status()))
            unread << entry->id;
    listAnew(folders, places);
    for (const QString& id : unread)
        reload(id);
}

/// Runs that were just started or opened from elsewhere are not in this folder's list and stay.
void RunListModel::removeUnlisted(const QHash<QString, int>& places)
{
    const auto goes = [&](int row) {
        return !places.contains(entry(row).id) && entry(row).session == nullptr;
    };
    for (int last = rowCount() - 1; last >= 0; --last) {
        if (!goes(last))
            continue;
        int first = last;
        while (first > 0 && goes(first - 1))
            --first;
        beginRemoveRows({}, first, last);
        m_entries.erase(m_entries.begin() + first, m_entries.begin() + last + 1);
        countRows();
        endRemoveRows();
        last = first;
    }
}

/// Those from elsewhere on top, then the listed ones in the order of the list.
void RunListModel::listAnew(const std::vector<RunFolder>& folders,
                            const QHash<QString, int>& places)
{
    int row = 0;
    const auto moveTo = [this](int from, int to) {
        if (from == to)
            return;
        beginMoveRows({}, from, from, {}, to);
        std::rotate(m_entries.begin() + to, m_entries.begin() + from, m_entries.begin() + from + 1);
        countRows();
        endMoveRows();
    };
    for (int at = 0; at < rowCount(); ++at)
        if (!places.contains(entry(at).id))
            moveTo(at, row++);
    for (std::size_t i = 0; i < folders.size(); ++row) {
        if (const int at = rowOf(QString::fromStdString(folders[i].id())); at >= 0) {
            moveTo(at, row);
            ++i;
            continue;
        }
        std::vector<std::unique_ptr<RunEntry>> fresh;
        for (; i < folders.size() && rowOf(QString::fromStdString(folders[i].id())) < 0; ++i) {
            auto entry = std::make_unique<RunEntry>();
            entry->folder = folders[i];
            entry->id = QString::fromStdString(folders[i].id());
            entry->name = defaultName(entry->id, {}, {});
            fresh.push_back(std::move(entry));
        }
        const int count = static_cast<int>(fresh.size());
        insertEntries(row, std::move(fresh));
        row += count - 1;
    }
}

void RunListModel::insertEntries(int row, std::vector<std::unique_ptr<RunEntry>> entries)
{
    beginInsertRows({}, row, row + static_cast<int>(entries.size()) - 1);
    m_entries.insert(m_entries.begin() + row, std::make_move_iterator(entries.begin()),
                     std::make_move_iterator(entries.end()));
    countRows();
    endInsertRows();
}

void RunListModel::countRows()
{
    m_rows.clear();
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        m_rows.insert(m_entries[i]->id, static_cast<int>(i));
}

void RunListModel::takeEntries(const std::vector<RunEntry>& entries)
{
    int first = rowCount(), last = -1;
    for (const RunEntry& fresh : entries) {
        const int row = rowOf(fresh.id);
        if (row < 0)
            continue;
        RunEntry& entry = *m_entries[static_cast<std::size_t>(row)];
        merge(entry, fresh);
        first = std::min(first, row);
        last = std::max(last, row);
        if (entry.isAlive && entry.session == nullptr) {
            follow(entry);
            Q_EMIT foundAlive(fresh.id);
        }
    }
    if (last >= 0)
        Q_EMIT dataChanged(index(first, 0), index(last, ColumnCount - 1));
}

void RunListModel::merge(RunEntry& target, const RunEntry& fresh)
{
    RunEntry merged = fresh;
    merged.isCharted = target.isCharted;
    merged.colour = target.colour;
    merged.session = target.session;
    if (target.hasUnsavedLabels) {
        merged.name = target.name;
        merged.tags = target.tags;
        merged.sweep = target.sweep;
        merged.hasUnsavedLabels = true;
    }
    if (target.session != nullptr) { // what the client hears is newer than the files
        merged.setWritten(target.written);
        merged.isAlive = target.isAlive;
        merged.step = target.step;
        merged.total = target.total;
        merged.phase = target.phase;
        merged.exitCode = target.exitCode;
        merged.problem = target.problem;
        merged.problemId = target.problemId;
        if (!merged.result) {
            merged.result = target.result;
            merged.resultOf = target.resultOf;
        }
        if (!merged.seconds)
            merged.seconds = target.seconds;
    }
    const bool isSameJob =
        target.job && merged.job && target.job->slurmId() == merged.job->slurmId();
    if (isSameJob && !merged.remote && !isLive(merged.written))
        merged.setPlacement(target.placement);
    if (isSameJob)
        merged.queueNote = target.queueNote;
    target = std::move(merged);
}

const RunEntry* RunListModel::find(const QString& id) const
{
    const int row = rowOf(id);
    return row < 0 ? nullptr : m_entries[static_cast<std::size_t>(row)].get();
}

RunEntry* RunListModel::findMutable(const QString& id)
{
    return const_cast<RunEntry*>(std::as_const(*this).find(id));
}

int RunListModel::rowOf(const QString& id) const
{
    return m_rows.value(id, -1);
}

QString RunListModel::addFolder(const RunFolder& folder, const QString& plugin,
                                const QString& preset)
{
    const QString id = QString::fromStdString(folder.id());
    if (find(id) != nullptr)
        return id;
    RunEntry entry;
    if (std::filesystem::exists(folder.status())) {
        entry = loadRunEntry(folder, m_headlines);
    } else {
        entry.folder = folder;
        entry.id = id;
        entry.plugin = plugin;
        entry.preset = preset;
        entry.name = defaultName(id, plugin, preset);
        entry.setWritten(RunState::Starting);
        entry.isLoaded = true;
    }
    std::vector<std::unique_ptr<RunEntry>> front;
    front.push_back(std::make_unique<RunEntry>(std::move(entry)));
    insertEntries(0, std::move(front));
    return id;
}

RunSession* RunListModel::session(const QString& id)
{
    RunEntry* entry = findMutable(id);
    if (entry == nullptr)
        return nullptr;
    if (entry->session == nullptr)
        follow(*entry);
    return entry->session;
}

void RunListModel::follow(RunEntry& entry)
{
    const QString id = entry.id;
    entry.session = new RunSession(entry.folder, this);
    RunClient& client = entry.session->client();
    connect(&client, &RunClient::stateChanged, this, [this, id] { mirror(id); });
    connect(&client, &RunClient::progressChanged, this, [this, id] { mirror(id); });
    connect(&client, &RunClient::metricsAppended, this, [this, id] { mirror(id); });
    Q_EMIT sessionOpened(id);
    if (std::filesystem::exists(entry.folder.status()))
        client.attach();
}

void RunListModel::mirror(const QString& id)
{
    RunEntry* entry = findMutable(id);
    if (entry == nullptr || entry->session == nullptr)
        return;
    const RunClient& client = entry->session->client();
    const RunStatus& status = client.status();
    const RunState before = entry->state;
    entry->setWritten(client.state());
    entry->isAlive = isLive(entry->state);
    entry->host = QString::fromStdString(status.host);
    entry->slurmJob = QString::fromStdString(status.job);
    entry->step = status.step;
    entry->total = status.total;
    entry->phase = client.phase();
    entry->exitCode = status.exitCode;
    entry->setProblem(status);
    if (!status.plugin.empty())
        entry->plugin = QString::fromStdString(status.plugin);
    if (!status.preset.empty())
        entry->preset = QString::fromStdString(status.preset);
    if (!status.device.empty())
        entry->device = QString::fromStdString(status.device);
    updateResult(*entry);
    if (entry->hasUnsavedLabels && std::filesystem::exists(entry->folder.status())) {
        entry->hasUnsavedLabels = false; // also where they cannot be written: it is said once
        label(*entry, [](RunEntry&) {});
    }
    if (before != entry->state)
        Q_EMIT runStateChanged(id, entry->state);
    Q_EMIT runProgressed(id);
    emitRow(id);
}

void RunListModel::updateResult(RunEntry& entry) const
{
    const MetricStore& metrics = entry.session->client().metrics();
    if (const auto headlines = m_headlines.find(entry.plugin); headlines != m_headlines.end()) {
        const auto has = [&metrics](const MetricDecl& metric) {
            const Series* series = metrics.find(metric.name);
            return series != nullptr && series->size() > 0;
        };
        const auto told = std::find_if(headlines->second.begin(), headlines->second.end(), has);
        if (told != headlines->second.end()) {
            entry.result = metrics.find(told->name)->values().back();
            entry.resultOf = *told;
        }
    }
    for (const std::string& name : metrics.names())
        if (const Series* series = metrics.find(name); series && series->size() > 0)
            entry.seconds = std::max(entry.seconds.value_or(0), series->walls().back());
    for (const char* name : {"system/vram_mib", "system/vram_process_mib"})
        if (const Series* series = metrics.find(name); series && series->size() > 0)
            entry.peakVramMiB = series->summary().maximum;
}

void RunListModel::removeRow(const QString& id)
{
    const int row = rowOf(id);
    if (row < 0)
        return;
    const bool wasCharted = entry(row).isCharted;
    RunSession* session = entry(row).session;
    beginRemoveRows({}, row, row);
    m_entries.erase(m_entries.begin() + row);
    countRows();
    endRemoveRows();
    if (wasCharted)
        Q_EMIT chartedChanged();
    if (session != nullptr)
        session->deleteLater();
}

void RunListModel::setCharted(const QString& id, bool charted)
{
    RunEntry* entry = findMutable(id);
    if (entry == nullptr || entry->isCharted == charted)
        return;
    entry->isCharted = charted;
    if (charted && !entry->colour.isValid() && entry->sweep)
        entry->colour = sweepColour(entry->sweep->share);
    if (charted && !entry->colour.isValid())
        entry->colour = kCurveColours[m_nextColour++ % std::size(kCurveColours)];
    if (charted && entry->session == nullptr)
        follow(*entry);
    emitRow(id);
    Q_EMIT chartedChanged();
}

std::vector<QString> RunListModel::chartedIds() const
{
    std::vector<QString> ids;
    for (const auto& entry : m_entries)
        if (entry->isCharted)
            ids.push_back(entry->id);
    return ids;
}

std::vector<QString> RunListModel::liveHere() const
{
    std::vector<QString> ids = liveIds();
    std::erase_if(ids, [this](const QString& id) { return find(id)->isElsewhere(); });
    return ids;
}

std::vector<QString> RunListModel::liveIds() const
{
    std::vector<QString> ids;
    for (const auto& entry : m_entries)
        if (entry->isLoaded && isLive(entry->state))
            ids.push_back(entry->id);
    return ids;
}

void RunListModel::setSweep(const QString& id, const SweepPlace& place)
{
    if (RunEntry* entry = findMutable(id))
        label(*entry, [&place](RunEntry& changed) {
            changed.sweep = place;
            changed.name += QStringLiteral(" · %1=%2").arg(place.key, place.value);
        });
}

void RunListModel::rename(const QString& id, const QString& name)
{
    RunEntry* entry = findMutable(id);
    if (entry != nullptr && !name.trimmed().isEmpty())
        label(*entry, [&name](RunEntry& changed) { changed.name = name.trimmed(); });
}

void RunListModel::setTags(const QString& id, const QStringList& tags)
{
    if (RunEntry* entry = findMutable(id))
        label(*entry, [&tags](RunEntry& changed) { changed.tags = tags; });
}

void RunListModel::label(RunEntry& entry, const std::function<void(RunEntry&)>& change)
{
    RunEntry changed = entry;
    change(changed);
    try {
        changed.hasUnsavedLabels = !std::filesystem::exists(entry.folder.status());
        if (!changed.hasUnsavedLabels)
            saveLabels(changed);
    } catch (const Error& error) {
        Q_EMIT labelsRefused(entry.id, QString::fromUtf8(error.what()));
        return;
    }
    entry = std::move(changed);
    emitRow(entry.id);
    Q_EMIT runRenamed(entry.id);
}

void RunListModel::reload(const QString& id)
{
    RunEntry* entry = findMutable(id);
    if (entry == nullptr)
        return;
    const RunEntry fresh = loadRunEntry(entry->folder, m_headlines);
    const RunState before = entry->state;
    merge(*entry, fresh);
    noteState(*entry, before);
}

void RunListModel::lookAgain(const QString& id)
{
    reload(id);
    RunEntry* entry = findMutable(id);
    if (entry == nullptr)
        return;
    if (entry->session != nullptr) {
        entry->session->client().attach();
    } else if (entry->isAlive) {
        follow(*entry);
        Q_EMIT foundAlive(id);
    }
}

void RunListModel::setPlacement(const QString& id, const std::optional<RunPlacement>& placement)
{
    RunEntry* entry = findMutable(id);
    if (entry == nullptr)
        return;
    const RunState before = entry->state;
    entry->setPlacement(placement);
    noteState(*entry, before);
}

void RunListModel::setRemote(const QString& id, const RemoteRun& there)
{
    RunEntry* entry = findMutable(id);
    if (entry == nullptr || !entry->remote || *entry->remote == there)
        return;
    const RunState before = entry->state;
    entry->setRemote(there);
    entry->isAlive = isLive(entry->state);
    noteState(*entry, before);
}

void RunListModel::setQueueNote(const QString& id, const QString& note)
{
    RunEntry* entry = findMutable(id);
    if (entry == nullptr || entry->queueNote == note)
        return;
    entry->queueNote = note;
    noteState(*entry, entry->state);
}

void RunListModel::noteState(const RunEntry& entry, RunState before)
{
    const QString id = entry.id;
    emitRow(id);
    if (before != entry.state)
        Q_EMIT runStateChanged(id, entry.state);
    Q_EMIT runProgressed(id);
}

void RunListModel::emitRow(const QString& id)
{
    const int row = rowOf(id);
    if (row >= 0)
        Q_EMIT dataChanged(index(row, 0), index(row, ColumnCount - 1));
}

} // namespace vergence
