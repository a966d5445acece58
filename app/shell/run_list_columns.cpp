// What the columns of the list of runs show; the other half of run_list_model.cpp.

#include <bit>
#include <cmath>

#include <QApplication>

#include "app/style/icons.h"
#include "app/shell/run_list_model.h"
#include "app/style/theme.h"

namespace vergence {

namespace {

QColor stateColour(RunState state)
{
    const QPalette palette = QApplication::palette();
    switch (state) {
    case RunState::Failed:
    case RunState::Crashed:
        return errorColour(palette);
    case RunState::Lost:
        return warningColour(palette);
    case RunState::Completed:
    case RunState::Running:
        return goodColour(palette);
    default:
        return palette.color(QPalette::Text);
    }
}

QColor colourOf(const RunEntry& entry)
{
    return entry.isUnreached() ? warningColour(QApplication::palette()) : stateColour(entry.state);
}

/// Sorts runs of one metric among themselves, the better ones later.
QString rankText(const MetricDecl& metric, double value)
{
    if (std::isnan(value))
        return QString::fromStdString(metric.name);
    const double rank = metric.better == MetricDecl::Better::Lower ? -value : value;
    auto bits = std::bit_cast<std::uint64_t>(rank); // as texts they sort like the numbers
    bits ^= bits >> 63 ? ~std::uint64_t{0} : std::uint64_t{1} << 63;
    return QString::fromStdString(metric.name) + ' ' +
           QStringLiteral("%1").arg(bits, 16, 16, QChar('0'));
}

QString stepText(const RunEntry& entry)
{
    if (!entry.isLoaded)
        return {};
    if (entry.total <= 0)
        return QString("%L1").arg(entry.step);
    return QString("%L1/%L2").arg(entry.step).arg(entry.total);
}

QString helpOf(const RunEntry& entry)
{
    QStringList lines{entry.id};
    if (!entry.problem.isEmpty() || entry.isSubmitted() || entry.isElsewhere())
        lines << stateText(entry);
    if (const QString job = jobText(entry); !job.isEmpty())
        lines << RunListModel::tr("Job %1").arg(job);
    else if (entry.isSubmitted())
        lines << RunListModel::tr("Target %1").arg(entry.target());
    if (!entry.problem.isEmpty())
        lines << entry.problem;
    return lines.join('\n');
}

/// In the column: the word alone, the tooltip and the status bar say more.
QString shortState(const RunEntry& entry)
{
    if (!entry.isLoaded)
        return {};
    const QString name = QString::fromStdString(nameOf(entry.state));
    return entry.isUnreached() ? RunListModel::tr("Not reached") : name;
}

/// "for the paper, fig 3": each once, without the blanks around it.
QStringList tagsIn(const QString& text)
{
    QStringList tags;
    for (const QString& part : text.split(','))
        if (const QString tag = part.simplified(); !tag.isEmpty() && !tags.contains(tag))
            tags << tag;
    return tags;
}

} // namespace

int RunListModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_entries.size());
}

int RunListModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant RunListModel::text(const RunEntry& entry, int column) const
{
    switch (column) {
    case State:
        return shortState(entry);
    case Name:
        return entry.name;
    case Result:
        return entry.result ? resultText(entry.resultOf, *entry.result) : QString();
    case Step:
        return stepText(entry);
    case Duration:
        return entry.seconds ? durationText(*entry.seconds) : QString();
    case PeakVram:
        return entry.peakVramMiB ? tr("%L1 MiB").arg(qRound64(*entry.peakVramMiB)) : QString();
    default:
        return entry.tags.join(", ");
    }
}

QVariant RunListModel::sortKey(const RunEntry& entry, int column) const
{
    switch (column) {
    case Result:
        return entry.result ? rankText(entry.resultOf, *entry.result) : QString();
    case Step:
        return static_cast<qlonglong>(entry.step);
    case Duration:
        return entry.seconds.value_or(-1);
    case PeakVram:
        return entry.peakVramMiB.value_or(-1);
    default:
        return text(entry, column);
    }
}

QVariant RunListModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    const RunEntry& entry = this->entry(index.row());
    const int column = index.column();
    switch (role) {
    case Qt::DisplayRole:
        return text(entry, column);
    case Qt::EditRole:
        return column == Name ? entry.name : entry.tags.join(", ");
    case IdRole:
        return entry.id;
    case SortRole:
        return sortKey(entry, column);
    case Qt::ToolTipRole:
        return column == Result && entry.result ? resultHelp(entry.resultOf) : helpOf(entry);
    case Qt::CheckStateRole:
        return column == State ? QVariant(entry.isCharted ? Qt::Checked : Qt::Unchecked)
                               : QVariant();
    case Qt::DecorationRole:
        if (column == State && entry.isLoaded)
            return tintedIcon(stateIcon(entry.state), colourOf(entry));
        return column == Name && entry.isCharted ? QVariant(swatch(entry.colour)) : QVariant();
    case Qt::TextAlignmentRole:
        return column > Result && column <= PeakVram ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                                     : QVariant();
    default:
        return {};
    }
}

bool RunListModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (!index.isValid())
        return false;
    const QString id = entry(index.row()).id;
    if (role == Qt::CheckStateRole && index.column() == State) {
        setCharted(id, value.toInt() == Qt::Checked);
        return true;
    }
    if (role != Qt::EditRole)
        return false;
    if (index.column() == Name)
        rename(id, value.toString());
    else if (index.column() == Tags)
        setTags(id, tagsIn(value.toString()));
    return true;
}

Qt::ItemFlags RunListModel::flags(const QModelIndex& index) const
{
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.column() == State)
        flags |= Qt::ItemIsUserCheckable;
    if (index.column() == Name || index.column() == Tags)
        flags |= Qt::ItemIsEditable;
    return flags;
}

QVariant RunListModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    const QString titles[] = {tr("State"),    tr("Name"),      tr("Result"), tr("Step"),
                              tr("Duration"), tr("Peak VRAM"), tr("Tags")};
    return titles[section];
}

} // namespace vergence
