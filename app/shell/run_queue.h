#pragma once

#include <vector>

#include <QAbstractTableModel>

#include "app/shell/run_starter.h"

namespace vergence {

/// Runs that wait for their turn: one lane, in order, kept over restarts (then paused: the window
/// starts nothing by itself).
class RunQueue : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Position, Title, Changes, Status, ColumnCount };
    enum class ItemState { Waiting, Running, Done, Failed };
    struct Item {
        RunDraft draft;
        ItemState state = ItemState::Waiting;
        QString runId;
        QString note; ///< why it could not be started
    };

    RunQueue(RunListModel& runs, RunStarter& starter, QString file, QObject* parent = nullptr);

    void add(const RunDraft& draft);
    void remove(int row);           ///< waiting and ended ones; a running one stays
    void move(int row, int offset); ///< among the waiting ones
    /// Puts a waiting item before row `before`, or before the first waiting one below it.
    void moveBefore(int row, int before);
    void startNow(int row); ///< beside whatever runs
    void clearEnded();
    void setPaused(bool paused);
    bool isPaused() const { return m_isPaused; }
    void setContinuesAfterFailure(bool on) { m_continuesAfterFailure = on; }
    const Item& item(int row) const { return m_items[static_cast<std::size_t>(row)]; }
    int waitingCount() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    Qt::DropActions supportedDropActions() const override { return Qt::MoveAction; }
    QStringList mimeTypes() const override;
    QMimeData* mimeData(const QModelIndexList& indexes) const override;
    bool dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                      const QModelIndex& parent) override;

Q_SIGNALS:
    void pausedChanged(bool paused);
    void countChanged();
    void runStarted(const QString& id);

private:
    void pump();
    void launch(int row);
    void noteState(const QString& id, RunState state);
    void save() const;
    void load();
    void changed(int row);

    RunListModel& m_runs;
    RunStarter& m_starter;
    QString m_file;
    std::vector<Item> m_items;
    bool m_isPaused = false, m_continuesAfterFailure = true;
};

} // namespace vergence
