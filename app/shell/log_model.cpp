#include "app/shell/log_model.h"

#include <algorithm>
#include <iterator>

#include <QApplication>
#include <QBrush>

#include "app/style/theme.h"

namespace vergence {

namespace {

QString levelText(LogLevel level)
{
    switch (level) {
    case LogLevel::Debug:
        return LogModel::tr("debug");
    case LogLevel::Info:
        return LogModel::tr("info");
    case LogLevel::Warning:
        return LogModel::tr("warning");
    case LogLevel::Error:
        break;
    }
    return LogModel::tr("error");
}

bool isRepeat(const LogRow& a, const LogRow& b)
{
    return a.level == b.level && a.source == b.source && a.text == b.text;
}

QVariant colourOf(LogLevel level)
{
    const QPalette palette = QApplication::palette();
    if (level == LogLevel::Error)
        return QBrush(errorColour(palette));
    if (level == LogLevel::Warning)
        return QBrush(warningColour(palette));
    return level == LogLevel::Debug ? QVariant(QBrush(mutedColour(palette))) : QVariant();
}

} // namespace

LogLevel logLevelFromName(const QString& name)
{
    if (name == QLatin1String("debug"))
        return LogLevel::Debug;
    if (name == QLatin1String("warning"))
        return LogLevel::Warning;
    return name == QLatin1String("error") ? LogLevel::Error : LogLevel::Info;
}

LogModel::LogModel(QObject* parent, int capacity)
    : QAbstractTableModel(parent),
      m_capacity(static_cast<std::size_t>(std::max(capacity, 1)))
{
}

void LogModel::append(const std::vector<LogRow>& rows)
{
    std::vector<LogRow> fresh;
    const std::size_t lastOld = m_rows.size();
    bool grewLast = false;
    for (const LogRow& row : rows) {
        ++m_counts[static_cast<std::size_t>(row.level)];
        LogRow* last = !fresh.empty() ? &fresh.back() : !m_rows.empty() ? &m_rows.back() : nullptr;
        if (last != nullptr && isRepeat(*last, row)) {
            last->repeats += row.repeats;
            last->time = row.time;
            grewLast = grewLast || fresh.empty();
        } else {
            fresh.push_back(row);
        }
    }
    if (grewLast)
        Q_EMIT dataChanged(index(static_cast<int>(lastOld) - 1, 0),
                           index(static_cast<int>(lastOld) - 1, ColumnCount - 1));
    if (fresh.size() > m_capacity)
        fresh.erase(fresh.begin(), fresh.end() - static_cast<std::ptrdiff_t>(m_capacity));
    if (!fresh.empty()) {
        makeRoom(fresh.size());
        const int first = static_cast<int>(m_rows.size());
        beginInsertRows({}, first, first + static_cast<int>(fresh.size()) - 1);
        m_rows.insert(m_rows.end(), std::make_move_iterator(fresh.begin()),
                      std::make_move_iterator(fresh.end()));
        endInsertRows();
    }
    Q_EMIT countsChanged();
}

void LogModel::makeRoom(std::size_t incoming)
{
    if (m_rows.size() + incoming <= m_capacity)
        return;
    // A twentieth at a time, so that a flood does not pay for a removal with every batch.
    const std::size_t surplus = m_rows.size() + incoming - m_capacity;
    const std::size_t removed = std::min(m_rows.size(), std::max(surplus, m_capacity / 20));
    beginRemoveRows({}, 0, static_cast<int>(removed) - 1);
    m_rows.erase(m_rows.begin(), m_rows.begin() + static_cast<std::ptrdiff_t>(removed));
    endRemoveRows();
}

int LogModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int LogModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant LogModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    const LogRow& row = m_rows[static_cast<std::size_t>(index.row())];
    if (role == LevelRole)
        return static_cast<int>(row.level);
    if (role == RepeatsRole)
        return row.repeats;
    if (role == Qt::ForegroundRole)
        return colourOf(row.level);
    if (role == Qt::ToolTipRole && index.column() == Text)
        return row.text;
    if (role != Qt::DisplayRole)
        return {};
    switch (index.column()) {
    case Time:
        return row.time.mid(11, 12);
    case Level:
        return levelText(row.level);
    case Source:
        return row.source;
    default:
        return row.repeats == 1 ? row.text : tr("%1   (× %L2)").arg(row.text).arg(row.repeats);
    }
}

QVariant LogModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    const QString titles[] = {tr("Time"), tr("Level"), tr("Source"), tr("Text")};
    return titles[section];
}

} // namespace vergence
