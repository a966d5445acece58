#pragma once

#include <QRegularExpression>
#include <QSortFilterProxyModel>

#include "app/shell/log_model.h"

namespace vergence {

/// Lines whose level is switched on and whose text or source matches a plain text or a regular
/// expression.
class LogFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

    void setLevelShown(LogLevel level, bool shown);
    bool isLevelShown(LogLevel level) const { return m_shown[static_cast<std::size_t>(level)]; }
    /// Empty on success, else what is wrong with the expression; the earlier filter then stays.
    QString setPattern(const QString& pattern, bool isRegularExpression);
    QString pattern() const { return m_pattern; }

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    bool m_shown[4] = {true, true, true, true};
    QString m_pattern;
    QRegularExpression m_expression;
    bool m_isExpression = false;
};

} // namespace vergence
