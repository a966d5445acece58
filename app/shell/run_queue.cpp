#include "app/shell/run_queue.h"

#include <algorithm>

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMimeData>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace vergence {

namespace {

const QString kRowType = QStringLiteral("application/x-vergence-queue-row");

QJsonObject toJson(const RunDraft& draft)
{
    QJsonObject object{{"plugin", draft.plugin},
                       {"preset", draft.preset},
                       {"flags", QJsonArray::fromStringList(draft.flags)},
                       {"config", draft.configFile}};
    if (draft.sweep)
        object["sweep"] = QJsonObject{{"group", draft.sweep->group},
                                      {"key", draft.sweep->key},
                                      {"value", draft.sweep->value},
                                      {"share", draft.sweep->share}};
    return object;
}

RunDraft draftOf(const QJsonObject& object)
{
    RunDraft draft{
        object["plugin"].toString(), object["preset"].toString(), {}, object["config"].toString()};
    for (const QJsonValue& flag : object["flags"].toArray())
        draft.flags << flag.toString();
    if (const QJsonObject sweep = object["sweep"].toObject(); !sweep.isEmpty())
        draft.sweep = {sweep["group"].toString(), sweep["key"].toString(),
                       sweep["value"].toString(), sweep["share"].toDouble()};
    return draft;
}

} // namespace

RunQueue::RunQueue(RunListModel& runs, RunStarter& starter, QString file, QObject* parent)
    : QAbstractTableModel(parent),
      m_runs(runs),
      m_starter(starter),
      m_file(std::move(file))
{
    load();
    connect(&m_runs, &RunListModel::runStateChanged, this, &RunQueue::noteState);
}

void RunQueue::add(const RunDraft& draft)
{
    beginInsertRows({}, rowCount(), rowCount());
    m_items.push_back({draft, ItemState::Waiting, {}, {}});
    endInsertRows();
    save();
    Q_EMIT countChanged();
    pump();
}

void RunQueue::remove(int row)
{
    if (item(row).state == ItemState::Running)
        return;
    beginRemoveRows({}, row, row);
    m_items.erase(m_items.begin() + row);
    endRemoveRows();
    save();
    Q_EMIT countChanged();
}

void RunQueue::move(int row, int offset)
{
    const int target = row + offset;
    const auto isWaiting = [this](int index) {
        return index >= 0 && index < rowCount() && item(index).state == ItemState::Waiting;
    };
    if (!isWaiting(row) || !isWaiting(target))
        return;
    beginMoveRows({}, row, row, {}, offset > 0 ? target + 1 : target);
    const Item moved = m_items[static_cast<std::size_t>(row)];
    m_items.erase(m_items.begin() + row);
    m_items.insert(m_items.begin() + target, moved);
    endMoveRows();
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
    save();
}

void RunQueue::moveBefore(int row, int before)
{
    const auto isWaiting = [this](int at) { return item(at).state == ItemState::Waiting; };
    int target = std::clamp(before > row ? before - 1 : before, 0, rowCount() - 1);
    // What runs or has ended keeps its place above.
    while (target < row && !isWaiting(target))
        ++target;
    while (target > row && !isWaiting(target))
        --target;
    if (target != row)
        move(row, target - row);
}

Qt::ItemFlags RunQueue::flags(const QModelIndex& index) const
{
    const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (!index.isValid())
        return flags | Qt::ItemIsDropEnabled;
    return item(index.row()).state == ItemState::Waiting ? flags | Qt::ItemIsDragEnabled : flags;
}

QStringList RunQueue::mimeTypes() const
{
    return {kRowType};
}

QMimeData* RunQueue::mimeData(const QModelIndexList& indexes) const
{
    auto* data = new QMimeData;
    if (!indexes.isEmpty())
        data->setData(kRowType, QByteArray::number(indexes.front().row()));
    return data;
}

bool RunQueue::dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int,
                            const QModelIndex& parent)
{
    bool isNumber = false;
    const int from = data->data(kRowType).toInt(&isNumber);
    if (action != Qt::MoveAction || !isNumber || from < 0 || from >= rowCount() ||
        item(from).state != ItemState::Waiting)
        return false;
    moveBefore(from, row >= 0 ? row : parent.isValid() ? parent.row() : rowCount());
    return true;
}

void RunQueue::startNow(int row)
{
    if (item(row).state == ItemState::Waiting)
        launch(row);
}

void RunQueue::clearEnded()
{
    beginResetModel();
    std::erase_if(m_items, [](const Item& item) {
        return item.state == ItemState::Done || item.state == ItemState::Failed;
    });
    endResetModel();
    save();
    Q_EMIT countChanged();
}

void RunQueue::setPaused(bool paused)
{
    if (m_isPaused == paused)
        return;
    m_isPaused = paused;
    Q_EMIT pausedChanged(paused);
    pump();
}

int RunQueue::waitingCount() const
{
    return static_cast<int>(std::count_if(m_items.begin(), m_items.end(), [](const Item& item) {
        return item.state == ItemState::Waiting;
    }));
}

void RunQueue::pump()
{
    while (!m_isPaused && m_runs.liveHere().empty()) {
        const auto next = std::find_if(m_items.begin(), m_items.end(), [](const Item& item) {
            return item.state == ItemState::Waiting;
        });
        if (next == m_items.end())
            return;
        const int row = static_cast<int>(next - m_items.begin());
        launch(row);
        if (item(row).state == ItemState::Running)
            return;
    }
}

void RunQueue::launch(int row)
{
    Item& chosen = m_items[static_cast<std::size_t>(row)];
    try {
        chosen.runId = m_starter.start(chosen.draft);
        if (chosen.draft.sweep)
            m_runs.setSweep(chosen.runId, *chosen.draft.sweep);
        chosen.state = ItemState::Running;
    } catch (const std::exception& error) {
        chosen.state = ItemState::Failed;
        chosen.note = QString::fromUtf8(error.what());
        log("shell").error("A queued run does not start. {}", error.what());
        if (!m_continuesAfterFailure)
            setPaused(true);
    }
    const QString id = chosen.runId;
    changed(row);
    if (!id.isEmpty())
        Q_EMIT runStarted(id);
}

void RunQueue::noteState(const QString& id, RunState state)
{
    if (!isFinal(state))
        return;
    const auto found = std::find_if(m_items.begin(), m_items.end(), [&id](const Item& item) {
        return item.runId == id && item.state == ItemState::Running;
    });
    if (found != m_items.end()) {
        const bool isGood = state == RunState::Completed || state == RunState::Stopped;
        found->state = isGood ? ItemState::Done : ItemState::Failed;
        changed(static_cast<int>(found - m_items.begin()));
        if (!isGood && !m_continuesAfterFailure)
            setPaused(true);
    }
    pump();
}

void RunQueue::changed(int row)
{
    Q_EMIT dataChanged(index(row, 0), index(row, ColumnCount - 1));
    save();
    Q_EMIT countChanged();
}

void RunQueue::save() const
{
    QJsonArray waiting;
    for (const Item& item : m_items)
        if (item.state == ItemState::Waiting)
            waiting.append(toJson(item.draft));
    const QByteArray text = QJsonDocument(waiting).toJson();
    try {
        writeFileAtomic(m_file.toStdString(), std::string_view(text.constData(), text.size()));
    } catch (const OutputError& error) {
        log("shell").warn("The queue is not kept over a restart. {}", error.what());
    }
}

void RunQueue::load()
{
    QFile file(m_file);
    if (!file.open(QIODevice::ReadOnly))
        return;
    for (const QJsonValue& value : QJsonDocument::fromJson(file.readAll()).array()) {
        m_items.push_back({draftOf(value.toObject()), ItemState::Waiting, {}, {}});
    }
    m_isPaused = !m_items.empty();
}

int RunQueue::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_items.size());
}

int RunQueue::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant RunQueue::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || (role != Qt::DisplayRole && role != Qt::ToolTipRole))
        return {};
    const Item& item = this->item(index.row());
    if (role == Qt::ToolTipRole)
        return m_starter.commandLineOf(item.draft);
    const QString states[] = {tr("Waiting"), tr("Running"), tr("Done"), tr("Failed")};
    switch (index.column()) {
    case Position:
        return index.row() + 1;
    case Title:
        return item.draft.title();
    case Changes:
        return item.draft.flags.join("  ");
    default:
        break;
    }
    // The exit code may be known a moment later than the state, so the run is asked each time.
    const RunEntry* run = item.state == ItemState::Failed ? m_runs.find(item.runId) : nullptr;
    if (run != nullptr)
        return stateText(*run);
    return item.note.isEmpty() ? states[static_cast<int>(item.state)] : item.note;
}

QVariant RunQueue::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    const QString titles[] = {tr("No."), tr("Run"), tr("Changed settings"), tr("State")};
    return titles[section];
}

} // namespace vergence
