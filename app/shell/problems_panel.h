#pragma once

#include <QWidget>

#include "app/shell/problem_list.h"

class QLabel;
class QPushButton;
class QTreeView;

namespace vergence {

/// Problems of setup and runs (`problemsView`); a double click jumps to the field or the run.
class ProblemsPanel : public QWidget {
    Q_OBJECT
public:
    explicit ProblemsPanel(ProblemList& problems, QWidget* parent = nullptr);
    void jumpToNext(bool forward);

Q_SIGNALS:
    void fieldRequested(const QString& key);
    void runRequested(const QString& id);

private:
    void showState();
    void activate(const QModelIndex& index);

    ProblemList& m_problems;
    QTreeView* m_view;
    QLabel* m_empty;
    QPushButton* m_clear;
};

} // namespace vergence
