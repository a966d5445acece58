#pragma once

#include <QWidget>

#include "app/shell/run_queue.h"

class QLabel;
class QPushButton;
class QTreeView;

namespace vergence {

/// The queue with its buttons (`queueView`).
class QueuePanel : public QWidget {
    Q_OBJECT
public:
    QueuePanel(RunQueue& queue, bool continuesAfterFailure, QWidget* parent = nullptr);

Q_SIGNALS:
    void runActivated(const QString& id);
    void failurePolicyChanged(bool continues);
    void sweepRequested();

private:
    QWidget* makeToolBar(bool continuesAfterFailure);
    void showState();
    int currentRow() const;

    RunQueue& m_queue;
    QTreeView* m_view = nullptr;
    QLabel* m_empty = nullptr;
    QPushButton *m_pause = nullptr, *m_up = nullptr, *m_down = nullptr, *m_startNow = nullptr,
                *m_remove = nullptr, *m_clear = nullptr;
};

} // namespace vergence
