#pragma once

#include <deque>
#include <vector>

#include <QAbstractTableModel>
#include <QString>

namespace vergence {

enum class LogLevel { Debug, Info, Warning, Error };
LogLevel logLevelFromName(const QString& name); ///< unknown names count as Info

struct LogRow {
    QString time, source, text;
    LogLevel level = LogLevel::Info;
    int repeats = 1; ///< how often this line came in a row
};

/// Newest lines of one run, at most `capacity`; a line that repeats the one before it only counts
/// up.
class LogModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Time, Level, Source, Text, ColumnCount };
    enum Role { LevelRole = Qt::UserRole, RepeatsRole };

    explicit LogModel(QObject* parent = nullptr, int capacity = 200'000);

    /// Lines in order of time. One insertion however many they are, so call it with batches.
    void append(const std::vector<LogRow>& rows);
    const LogRow& row(int index) const { return m_rows[static_cast<std::size_t>(index)]; }
    int count(LogLevel level) const { return m_counts[static_cast<std::size_t>(level)]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

Q_SIGNALS:
    void countsChanged();

private:
    void makeRoom(std::size_t incoming);

    std::deque<LogRow> m_rows;
    std::size_t m_capacity;
    int m_counts[4] = {0, 0, 0, 0};
};

} // namespace vergence
