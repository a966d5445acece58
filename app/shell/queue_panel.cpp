#include "app/shell/queue_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTreeView>
#include <QVBoxLayout>

namespace vergence {

QueuePanel::QueuePanel(RunQueue& queue, bool continuesAfterFailure, QWidget* parent)
    : QWidget(parent),
      m_queue(queue)
{
    m_view = new QTreeView(this);
    m_view->setObjectName("queueView");
    m_view->setAccessibleName(tr("Queue of runs"));
    m_view->setRootIsDecorated(false);
    m_view->setModel(&queue);
    m_view->setDragDropMode(QAbstractItemView::InternalMove);
    m_view->setDragDropOverwriteMode(false);
    m_view->setToolTip(tr("Drag a waiting run to another place to change the order."));
    m_view->header()->resizeSection(RunQueue::Position, 50);
    m_view->header()->resizeSection(RunQueue::Title, 220);
    m_view->header()->resizeSection(RunQueue::Changes, 320);
    m_empty = new QLabel(
        tr("Nothing waits. “Add to queue” in the setup puts a run here, “Sweep…” several; "
           "runs start one after the other."),
        this);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 4);
    column->addWidget(makeToolBar(continuesAfterFailure));
    column->addWidget(m_empty, 1);
    column->addWidget(m_view, 1);
    connect(m_view, &QTreeView::doubleClicked, this, [this](const QModelIndex& index) {
        if (const QString id = m_queue.item(index.row()).runId; !id.isEmpty())
            Q_EMIT runActivated(id);
    });
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this,
            &QueuePanel::showState);
    connect(&queue, &RunQueue::countChanged, this, &QueuePanel::showState);
    connect(&queue, &RunQueue::pausedChanged, this, &QueuePanel::showState);
    showState();
}

QWidget* QueuePanel::makeToolBar(bool continuesAfterFailure)
{
    auto* bar = new QWidget(this);
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(0, 0, 0, 0);
    const auto add = [&](const QString& text, const char* name) {
        auto* button = new QPushButton(text, bar);
        button->setObjectName(name);
        row->addWidget(button);
        return button;
    };
    m_pause = add(tr("Pause queue"), "queuePause");
    m_startNow = add(tr("Start now"), "queueStartNow");
    m_up = add(tr("Move up"), "queueUp");
    m_down = add(tr("Move down"), "queueDown");
    m_remove = add(tr("Remove"), "queueRemove");
    m_clear = add(tr("Clear ended"), "queueClear");
    QPushButton* sweep = add(tr("Sweep…"), "queueSweep");
    sweep->setToolTip(tr("Add a run of the present setup for each of several values of a setting"));
    connect(sweep, &QPushButton::clicked, this, &QueuePanel::sweepRequested);
    row->addStretch();
    row->addWidget(new QLabel(tr("After a failure"), bar));
    auto* policy = new QComboBox(bar);
    policy->setObjectName("queuePolicy");
    policy->setAccessibleName(tr("After a failure"));
    policy->addItems({tr("continue"), tr("pause the queue")});
    policy->setCurrentIndex(continuesAfterFailure ? 0 : 1);
    m_queue.setContinuesAfterFailure(continuesAfterFailure);
    row->addWidget(policy);
    connect(policy, &QComboBox::currentIndexChanged, this, [this](int index) {
        m_queue.setContinuesAfterFailure(index == 0);
        Q_EMIT failurePolicyChanged(index == 0);
    });
    connect(m_pause, &QPushButton::clicked, this,
            [this] { m_queue.setPaused(!m_queue.isPaused()); });
    connect(m_startNow, &QPushButton::clicked, this, [this] { m_queue.startNow(currentRow()); });
    connect(m_up, &QPushButton::clicked, this, [this] { m_queue.move(currentRow(), -1); });
    connect(m_down, &QPushButton::clicked, this, [this] { m_queue.move(currentRow(), 1); });
    connect(m_remove, &QPushButton::clicked, this, [this] { m_queue.remove(currentRow()); });
    connect(m_clear, &QPushButton::clicked, &m_queue, &RunQueue::clearEnded);
    return bar;
}

int QueuePanel::currentRow() const
{
    return m_view->currentIndex().row();
}

void QueuePanel::showState()
{
    const int count = m_queue.rowCount(), row = currentRow();
    const bool isWaiting =
        row >= 0 && row < count && m_queue.item(row).state == RunQueue::ItemState::Waiting;
    const bool isRemovable =
        row >= 0 && row < count && m_queue.item(row).state != RunQueue::ItemState::Running;
    m_pause->setText(m_queue.isPaused() ? tr("Resume queue") : tr("Pause queue"));
    m_pause->setEnabled(count > 0 || m_queue.isPaused());
    for (QPushButton* button : {m_startNow, m_up, m_down})
        button->setEnabled(isWaiting);
    m_remove->setEnabled(isRemovable);
    m_clear->setEnabled(m_queue.waitingCount() < count);
    m_view->setVisible(count > 0);
    m_empty->setVisible(count == 0);
}

} // namespace vergence
