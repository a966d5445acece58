#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <QAbstractTableModel>
#include <QFileSystemWatcher>
#include <QHash>
#include <QTimer>

#include "app/shell/run_scanner.h"
#include "app/shell/run_session.h"

namespace vergence {

/// The runs of a folder, and of further ones. Contents are read in the background; runs that live
/// are followed by a session at once, others when they are opened or charted.
class RunListModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { State, Name, Result, Step, Duration, PeakVram, Tags, ColumnCount };
    enum Role { IdRole = Qt::UserRole, SortRole };

    explicit RunListModel(QObject* parent = nullptr);
    ~RunListModel() override;

    void setHeadlines(Headlines headlines);
    void setFolder(const QString& runsFolder);
    /// Folders whose runs are listed as well, for instance those of clusters.
    void setFurtherFolders(const QStringList& runsFolders);
    QString folder() const { return m_folder; }
    void rescan();
    bool isScanning() const { return m_scanner.isScanning(); }

    const RunEntry* find(const QString& id) const;
    const RunEntry& entry(int row) const { return *m_entries[static_cast<std::size_t>(row)]; }
    int rowOf(const QString& id) const; ///< -1 where unknown
    /// Follows the run from now on; null where the id is unknown. A folder outside the list is
    /// added by addFolder().
    RunSession* session(const QString& id);
    /// Lists a run that is about to start, or one from elsewhere; returns its id.
    QString addFolder(const RunFolder& folder, const QString& plugin = {},
                      const QString& preset = {});
    void removeRow(const QString& id);
    void setCharted(const QString& id, bool charted);
    std::vector<QString> chartedIds() const;
    std::vector<QString> liveIds() const;
    std::vector<QString> liveHere() const; ///< those that take up this computer
    /// Names a new run by its place in a sweep and gives its curves the colour of that place.
    void setSweep(const QString& id, const SweepPlace& place);
    // Where they cannot be written the old ones stay; see labelsRefused().
    void rename(const QString& id, const QString& name);
    void setTags(const QString& id, const QStringList& tags);
    /// Reads status and manifest of one run again.
    void reload(const QString& id);
    /// The same for a run that may have begun or ended elsewhere; one that goes on is followed.
    void lookAgain(const QString& id);
    /// What the queue says of a run; nothing where it has no say any more.
    void setPlacement(const QString& id, const std::optional<RunPlacement>& placement);
    /// What the other side says of the run that a row is a copy of.
    void setRemote(const QString& id, const RemoteRun& there);
    /// Why nothing is known of a run's place in its queue; empty: something is.
    void setQueueNote(const QString& id, const QString& note);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

Q_SIGNALS:
    void runStateChanged(const QString& id, vergence::RunState state);
    void runProgressed(const QString& id);
    void runRenamed(const QString& id);
    void labelsRefused(const QString& id, const QString& sentence);
    void sessionOpened(const QString& id);
    /// A run that goes on, started elsewhere, was met for the first time.
    void foundAlive(const QString& id);
    void chartedChanged();
    void scanFinished();

private:
    QStringList folders() const;
    void watchFolders();
    void scan();
    void takeFolders(const std::vector<RunFolder>& folders);
    void removeUnlisted(const QHash<QString, int>& places);
    void listAnew(const std::vector<RunFolder>& folders, const QHash<QString, int>& places);
    void insertEntries(int row, std::vector<std::unique_ptr<RunEntry>> entries);
    void countRows();
    void label(RunEntry& entry, const std::function<void(RunEntry&)>& change);
    void takeEntries(const std::vector<RunEntry>& entries);
    void merge(RunEntry& target, const RunEntry& fresh);
    void follow(RunEntry& entry);
    void mirror(const QString& id);
    void updateResult(RunEntry& entry) const;
    QVariant text(const RunEntry& entry, int column) const;
    QVariant sortKey(const RunEntry& entry, int column) const;
    void emitRow(const QString& id);
    void noteState(const RunEntry& entry, RunState before);
    RunEntry* findMutable(const QString& id);

    QString m_folder;
    QStringList m_furtherFolders;
    RunScanner m_scanner;
    QFileSystemWatcher m_watcher;
    QTimer m_rescan, m_lateRescan;
    Headlines m_headlines;
    bool m_isResultStale = false; ///< until a scan has read it with these headlines
    std::vector<std::unique_ptr<RunEntry>> m_entries; ///< newest first
    QHash<QString, int> m_rows;
    int m_nextColour = 0;
};

} // namespace vergence
