#include "app/shell/problem_list.h"

#include <algorithm>

#include <QApplication>

#include "app/style/icons.h"
#include "app/style/theme.h"

namespace vergence {

namespace {

QString severityText(IssueSeverity severity)
{
    switch (severity) {
    case IssueSeverity::Error:
        return ProblemList::tr("Error");
    case IssueSeverity::Warning:
        return ProblemList::tr("Warning");
    case IssueSeverity::Note:
        break;
    }
    return ProblemList::tr("Note");
}

QColor severityColour(IssueSeverity severity)
{
    const QPalette palette = QApplication::palette();
    return severity == IssueSeverity::Error     ? errorColour(palette)
           : severity == IssueSeverity::Warning ? warningColour(palette)
                                                : mutedColour(palette);
}

} // namespace

void ProblemList::setDraftIssues(const std::vector<ConfigIssue>& issues)
{
    beginResetModel();
    m_draft.clear();
    for (const ConfigIssue& issue : issues)
        m_draft.push_back({issue.severity,
                           QString::fromStdString(issue.rule),
                           QString::fromStdString(issue.text()),
                           QString::fromStdString(issue.key),
                           {},
                           {},
                           QDateTime::currentDateTime()});
    endResetModel();
    Q_EMIT countChanged();
}

void ProblemList::addRunProblem(const Problem& problem)
{
    const bool isKnown =
        std::any_of(m_runs.begin(), m_runs.end(), [&problem](const Problem& other) {
            return other.runId == problem.runId && other.id == problem.id &&
                   other.sentence == problem.sentence;
        });
    if (isKnown)
        return;
    const int row = static_cast<int>(m_draft.size());
    beginInsertRows({}, row, row);
    m_runs.insert(m_runs.begin(), problem);
    endInsertRows();
    Q_EMIT countChanged();
}

void ProblemList::clearRunProblems()
{
    beginResetModel();
    m_runs.clear();
    endResetModel();
    Q_EMIT countChanged();
}

const Problem& ProblemList::problem(int row) const
{
    const auto index = static_cast<std::size_t>(row);
    return index < m_draft.size() ? m_draft[index] : m_runs[index - m_draft.size()];
}

int ProblemList::errorCount() const
{
    int errors = 0;
    for (int row = 0; row < rowCount(); ++row)
        errors += problem(row).severity == IssueSeverity::Error ? 1 : 0;
    return errors;
}

int ProblemList::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_draft.size() + m_runs.size());
}

int ProblemList::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant ProblemList::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    const Problem& problem = this->problem(index.row());
    if (role == Qt::DecorationRole && index.column() == Severity)
        return tintedIcon(problem.severity == IssueSeverity::Note ? "inspector" : "problem",
                          severityColour(problem.severity));
    if (role == Qt::ToolTipRole)
        return problem.sentence;
    if (role != Qt::DisplayRole)
        return {};
    switch (index.column()) {
    case Severity:
        return severityText(problem.severity);
    case Where:
        if (!problem.runName.isEmpty())
            return problem.runName;
        return problem.key.isEmpty() ? tr("Setup") : problem.key;
    case Sentence:
        return problem.sentence;
    default:
        return problem.id;
    }
}

QVariant ProblemList::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    const QString titles[] = {tr("Severity"), tr("Where"), tr("Problem"), tr("Id")};
    return titles[section];
}

} // namespace vergence
