#include "app/shell/log_filter.h"

namespace vergence {

void LogFilter::setLevelShown(LogLevel level, bool shown)
{
    m_shown[static_cast<std::size_t>(level)] = shown;
    invalidateFilter();
}

QString LogFilter::setPattern(const QString& pattern, bool isRegularExpression)
{
    if (isRegularExpression) {
        QRegularExpression expression(pattern, QRegularExpression::CaseInsensitiveOption);
        if (!expression.isValid())
            return tr("The expression is not complete at character %1: %2.")
                .arg(expression.patternErrorOffset() + 1)
                .arg(expression.errorString());
        m_expression = expression;
    }
    m_pattern = pattern;
    m_isExpression = isRegularExpression;
    invalidateFilter();
    return {};
}

bool LogFilter::filterAcceptsRow(int row, const QModelIndex&) const
{
    const auto* log = static_cast<const LogModel*>(sourceModel());
    const LogRow& line = log->row(row);
    if (!m_shown[static_cast<std::size_t>(line.level)])
        return false;
    if (m_pattern.isEmpty())
        return true;
    if (m_isExpression)
        return m_expression.match(line.text).hasMatch() ||
               m_expression.match(line.source).hasMatch();
    return line.text.contains(m_pattern, Qt::CaseInsensitive) ||
           line.source.contains(m_pattern, Qt::CaseInsensitive);
}

} // namespace vergence
