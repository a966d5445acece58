#pragma once

#include <QPointer>
#include <QWidget>

#include "app/shell/log_filter.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QTableView;
class QToolButton;

namespace vergence {

/// The log of one run (`logView`, `logFilter`): level buttons with counts, filter, follow, next and
/// previous error.
class LogPanel : public QWidget {
    Q_OBJECT
public:
    explicit LogPanel(QWidget* parent = nullptr);

    /// `log` null: nothing is selected. `file`: the whole log on disk.
    void setLog(LogModel* log, const QString& file);
    /// Selects the next (or previous) warning or error after the current line; false where there is
    /// none.
    bool jumpToProblem(bool forward);
    void focusFilter();
    int warningCount() const;

Q_SIGNALS:
    void countsChanged();

protected:
    void changeEvent(QEvent* event) override;

private:
    void makeToolBar();
    void makeView();
    void applyFilter();
    void showCounts();
    void showEmptyState();
    void copySelection(bool asMarkdown) const;
    void fitRows();
    void followTail();

    QPointer<LogModel> m_log;
    LogFilter m_filter;
    QString m_file;
    QWidget* m_toolBar = nullptr;
    QLineEdit* m_pattern = nullptr;
    QToolButton* m_isExpression = nullptr;
    QToolButton* m_levels[4] = {};
    QToolButton* m_openFile = nullptr;
    QCheckBox* m_follow = nullptr;
    QLabel* m_feedback = nullptr;
    QLabel* m_empty = nullptr;
    QTableView* m_view = nullptr;
};

} // namespace vergence
