#include "app/shell/problems_panel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTreeView>
#include <QVBoxLayout>

namespace vergence {

ProblemsPanel::ProblemsPanel(ProblemList& problems, QWidget* parent)
    : QWidget(parent),
      m_problems(problems)
{
    m_view = new QTreeView(this);
    m_view->setObjectName("problemsView");
    m_view->setAccessibleName(tr("Problems"));
    m_view->setRootIsDecorated(false);
    m_view->setModel(&problems);
    m_view->header()->setStretchLastSection(false);
    m_view->header()->setSectionResizeMode(ProblemList::Sentence, QHeaderView::Stretch);
    m_view->header()->resizeSection(ProblemList::Where, 180);
    m_empty = new QLabel(
        tr("No problems. Complaints about the setup and about runs are listed here."), this);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_clear = new QPushButton(tr("Clear problems of runs"), this);
    auto* row = new QHBoxLayout;
    row->addWidget(m_clear);
    row->addStretch();
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 4);
    column->addLayout(row);
    column->addWidget(m_empty, 1);
    column->addWidget(m_view, 1);
    connect(m_clear, &QPushButton::clicked, &problems, &ProblemList::clearRunProblems);
    connect(&problems, &ProblemList::countChanged, this, &ProblemsPanel::showState);
    connect(m_view, &QTreeView::activated, this, &ProblemsPanel::activate);
    showState();
}

void ProblemsPanel::showState()
{
    const int count = m_problems.rowCount();
    const bool hasRunProblems = count > 0 && !m_problems.problem(count - 1).runId.isEmpty();
    m_view->setVisible(count > 0);
    m_empty->setVisible(count == 0);
    m_clear->setVisible(hasRunProblems);
}

void ProblemsPanel::activate(const QModelIndex& index)
{
    const Problem& problem = m_problems.problem(index.row());
    if (!problem.runId.isEmpty())
        Q_EMIT runRequested(problem.runId);
    else
        Q_EMIT fieldRequested(problem.key);
}

void ProblemsPanel::jumpToNext(bool forward)
{
    const int count = m_problems.rowCount();
    if (count == 0)
        return;
    const int now =
        m_view->currentIndex().isValid() ? m_view->currentIndex().row() : (forward ? -1 : 0);
    const QModelIndex next = m_problems.index((now + (forward ? 1 : count - 1)) % count, 0);
    m_view->setCurrentIndex(next);
    activate(next);
}

} // namespace vergence
