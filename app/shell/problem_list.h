#pragma once

#include <vector>

#include <QAbstractTableModel>
#include <QDateTime>

#include "core/config/issue.h"

namespace vergence {

/// One row of Problems: something wrong in the setup (then `key` may name the field) or in a run
/// (then `runId` is set).
struct Problem {
    IssueSeverity severity = IssueSeverity::Error;
    QString id; ///< rule or problem id
    QString sentence;
    QString key, runId;
    QString runName; ///< or what else it is about, where that is neither run nor setup
    QDateTime when;
};

/// Problems of the draft first, then those of runs, newest first.
class ProblemList : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Severity, Where, Sentence, Id, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;
    void setDraftIssues(const std::vector<ConfigIssue>& issues);
    void addRunProblem(const Problem& problem); ///< the same sentence of the same run is kept once
    void clearRunProblems();
    const Problem& problem(int row) const;
    int errorCount() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

Q_SIGNALS:
    void countChanged();

private:
    std::vector<Problem> m_draft, m_runs;
};

} // namespace vergence
