#pragma once

#include <QObject>
#include <QSet>
#include <QStringList>

#include "app/shell/run_list_model.h"

namespace vergence {

/// Brings what copies of runs on other disks lack, by `vergence fetch`. What is cut short when the
/// window closes is begun again by the next call.
class RunFetcher : public QObject {
    Q_OBJECT
public:
    RunFetcher(RunListModel& runs, QString executable, QObject* parent = nullptr);

    void fetch(const QString& id); ///< its results
    /// All of it: from then on it is a run of this computer.
    void bringHome(const QString& id);
    bool isFetching(const QString& id) const { return m_fetching.contains(id); }

Q_SIGNALS:
    void fetched(const QString& id);
    void cameHome(const QString& id);
    void refused(const QString& sentence, const QString& id);

private:
    void call(const QString& id, const QStringList& further,
              void (RunFetcher::*done)(const QString&));

    RunListModel& m_runs;
    QString m_executable;
    QSet<QString> m_fetching;
};

} // namespace vergence
