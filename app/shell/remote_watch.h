#pragma once

#include <functional>
#include <map>
#include <memory>

#include <QElapsedTimer>
#include <QObject>
#include <QSet>
#include <QTimer>

#include "app/shell/run_list_model.h"

class QThread;

namespace vergence {

class RunFollower;

/// Keeps the copies of runs that work on disks of other computers up to date, in one thread per
/// login: a look each second, four of them while somebody looks at the pictures of one of its runs,
/// a rare one where all are lost. A run is followed until it has ended and all that it left is
/// here. A link that is silent changes no state.
class RemoteWatch : public QObject {
    Q_OBJECT
public:
    /// Whether somebody looks at the pictures of a run.
    using Viewers = std::function<bool(const QString& id)>;

    RemoteWatch(RunListModel& runs, Viewers hasViewer, QObject* parent = nullptr);
    ~RemoteWatch() override;

    void leave(const QString& id);    ///< it comes to this computer; looks leave it alone
    void takeBack(const QString& id); ///< it stays a copy after all

Q_SIGNALS:
    /// Once for each silence of a login.
    void linkSilent(const QString& sentence);
    void linkAnswers(const QString& targets); ///< after a silence

private:
    struct Link {
        QThread* thread = nullptr; ///< that looks
        std::shared_ptr<RunFollower> follower;
        QElapsedTimer sinceLook; ///< since the last one began
        bool isSilent = false;
    };
    struct Look;

    void tick();
    bool isFollowed(const RunEntry& run) const;
    bool isViewed(const RunEntry& run) const;
    bool isDue(const Link& link, const std::vector<QString>& ids) const;
    void look(const QString& login, const std::vector<QString>& ids);
    void take(const QString& login, const Look& look);
    void takeLink(Link& link, const Look& look);

    RunListModel& m_runs;
    Viewers m_hasViewer;
    QTimer m_timer;
    std::map<QString, Link> m_links; ///< by login
    QSet<QString> m_open;            ///< runs that were met as long as they went on
    QSet<QString> m_left;
};

} // namespace vergence
