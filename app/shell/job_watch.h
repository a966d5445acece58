#pragma once

#include <map>

#include <QDateTime>
#include <QElapsedTimer>
#include <QHash>
#include <QObject>
#include <QSet>
#include <QTimer>

#include "app/shell/run_list_model.h"

class QThread;

namespace vergence {

/// Watches runs that were submitted to targets whose disk is seen here, in threads of its own:
/// looks each second whether a waiting one has begun, and asks the queue of each login where its
/// jobs stand, every few seconds and less often while nothing changes. A run whose job ended before
/// it could is given that end in its folder.
class JobWatch : public QObject {
    Q_OBJECT
public:
    explicit JobWatch(RunListModel& runs, QObject* parent = nullptr);
    ~JobWatch() override;

    void askSoon(); ///< something has just changed in a queue

Q_SIGNALS:
    /// Once for each silence.
    void queueSilent(const QString& login, const QString& sentence);
    void queueAnswers(const QString& login); ///< after a silence

private:
    struct Queue {
        QThread* thread = nullptr; ///< that asks it
        QElapsedTimer sinceAsked;
        int interval = 0;        ///< until it is asked again, ms
        bool hasChanged = false; ///< since it was asked
        QDateTime silentSince;
    };
    struct Answer;

    void tick();
    void look();
    void ask(const QString& login, const std::vector<QString>& ids);
    void take(const QString& login, const Answer& answer);
    bool takePlace(const QString& id, const RunPlacement* place); ///< true where it is news
    void noteState(const QString& id, RunState state);
    void takeSilence(const QString& login, const Answer& answer);
    bool isWatched(const RunEntry& run) const;

    RunListModel& m_runs;
    QTimer m_timer;
    QThread* m_look = nullptr;
    std::map<QString, Queue> m_queues; ///< by login
    QSet<QString> m_over;              ///< runs and jobs of which no queue has more to say
    QHash<QString, QString> m_told;    ///< what the queue said last, by run
};

} // namespace vergence
