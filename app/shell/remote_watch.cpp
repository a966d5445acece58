#include "app/shell/remote_watch.h"

#include <algorithm>
#include <utility>

#include <QThread>

#include "app/shell/background_thread.h"
#include "core/base/error.h"
#include "core/cluster/run_follower.h"

namespace vergence {

namespace {

constexpr int kTickMs = 125;
/// From the beginning of a look to the next one. Lost runs may come back.
constexpr int kFollowMs = 1'000, kViewMs = 250, kLostMs = 30'000;

/// On both sides: what is here is what it left there, or will be after one more look.
bool hasEndedOnBothSides(const RunEntry& run)
{
    const auto there = runStateFromName(run.remote->state);
    return there && isFinal(*there) && isFinal(run.written);
}

/// Whether the folder says something that the list does not know yet; nothing where it cannot be
/// read, which the list says.
bool hasNews(const RunFolder& folder, RunState written, bool hasJob)
{
    try {
        const auto state = runStateFromName(readStatus(folder).state);
        std::error_code ignored;
        return (state && *state != written) ||
               (!hasJob && std::filesystem::exists(jobFile(folder), ignored));
    } catch (const InputError&) {
        return false;
    }
}

/// "uni" of runs that went there; several targets may share a login.
QString targetsOf(const std::map<std::filesystem::path, RemoteRun>& runs)
{
    QStringList targets;
    for (const auto& [folder, run] : runs)
        targets << QString::fromStdString(run.target);
    targets.removeDuplicates();
    return targets.join(", ");
}

/// 0 where all are reached.
double silentSince(const std::map<std::filesystem::path, RemoteRun>& runs)
{
    double since = 0;
    for (const auto& [folder, run] : runs)
        if (run.unreachedSince > 0)
            since = since == 0 ? run.unreachedSince : std::min(since, run.unreachedSince);
    return since;
}

} // namespace

struct RemoteWatch::Look {
    struct Run {
        QString id;
        RunFolder folder;
        RemoteRun before;
        RunState written = RunState::Queued;
        bool hasJob = false, isViewed = false, hadEnded = false;
        bool isNews = false; ///< after the look
    };
    std::vector<Run> runs;
    RunFollower::Look result;

    void fill(RunFollower& follower);
};

/// In the thread of a login.
void RemoteWatch::Look::fill(RunFollower& follower)
{
    try {
        std::vector<RunFollower::Followed> followed;
        for (const Run& run : runs)
            followed.push_back({run.folder, run.isViewed});
        result = follower.look(followed);
    } catch (const std::exception& error) {
        result.problem = error.what();
    }
    for (Run& run : runs) {
        result.runs.try_emplace(run.folder.root, run.before);
        run.isNews = hasNews(run.folder, run.written, run.hasJob);
    }
}

RemoteWatch::RemoteWatch(RunListModel& runs, Viewers hasViewer, QObject* parent)
    : QObject(parent),
      m_runs(runs),
      m_hasViewer(std::move(hasViewer))
{
    m_timer.setInterval(kTickMs);
    connect(&m_timer, &QTimer::timeout, this, &RemoteWatch::tick);
    m_timer.start();
}

RemoteWatch::~RemoteWatch()
{
    std::vector<QThread*> threads;
    for (const auto& [login, link] : m_links)
        threads.push_back(link.thread);
    leaveThreads(threads);
}

void RemoteWatch::leave(const QString& id)
{
    m_left.insert(id);
}

void RemoteWatch::takeBack(const QString& id)
{
    m_left.remove(id);
}

bool RemoteWatch::isFollowed(const RunEntry& run) const
{
    return run.isLoaded && run.remote && !m_left.contains(run.id) &&
           (m_open.contains(run.id) || !hasEndedOnBothSides(run));
}

void RemoteWatch::tick()
{
    std::map<QString, std::vector<QString>> byLogin;
    for (int row = 0; row < m_runs.rowCount(); ++row)
        if (const RunEntry& run = m_runs.entry(row); isFollowed(run))
            byLogin[QString::fromStdString(run.remote->login)].push_back(run.id);
    for (const auto& [login, ids] : byLogin)
        if (isDue(m_links[login], ids))
            look(login, ids);
}

bool RemoteWatch::isDue(const Link& link, const std::vector<QString>& ids) const
{
    if (link.thread != nullptr)
        return false;
    int interval = kLostMs;
    for (const QString& id : ids) {
        const RunEntry& run = *m_runs.find(id);
        if (run.state != RunState::Lost)
            interval = std::min(interval, isViewed(run) ? kViewMs : kFollowMs);
    }
    return !link.sinceLook.isValid() || link.sinceLook.hasExpired(interval);
}

bool RemoteWatch::isViewed(const RunEntry& run) const
{
    return isLive(run.state) && m_hasViewer(run.id);
}

void RemoteWatch::look(const QString& login, const std::vector<QString>& ids)
{
    auto look = std::make_shared<Look>();
    for (const QString& id : ids) {
        const RunEntry& run = *m_runs.find(id);
        const bool hadEnded = hasEndedOnBothSides(run);
        if (!hadEnded)
            m_open.insert(id);
        look->runs.push_back({id, run.folder, *run.remote, run.written, run.job.has_value(),
                              isViewed(run), hadEnded});
    }
    Link& link = m_links[login];
    if (link.follower == nullptr)
        link.follower = std::make_shared<RunFollower>(login.toStdString());
    link.sinceLook.start();
    link.thread = startThread([look, follower = link.follower] { look->fill(*follower); }, this,
                              [this, login, look] { take(login, *look); });
}

void RemoteWatch::take(const QString& login, const Look& look)
{
    Link& link = m_links[login];
    link.thread = nullptr;
    const bool isReached = look.result.problem.empty();
    for (const Look::Run& run : look.runs) {
        const RunEntry* entry = m_runs.find(run.id);
        const bool isSame = entry != nullptr && entry->remote == run.before;
        if (isSame)
            m_runs.setRemote(run.id, look.result.runs.at(run.folder.root));
        // Where it has been submitted again or come home meanwhile, its folder is newer.
        const bool isDone = isSame && isReached && run.hadEnded;
        if (!isSame || isDone || run.isNews)
            m_runs.lookAgain(run.id);
        if (isDone)
            m_open.remove(run.id);
    }
    takeLink(link, look);
}

void RemoteWatch::takeLink(Link& link, const Look& look)
{
    const bool isSilent = !look.result.problem.empty();
    if (std::exchange(link.isSilent, isSilent) == isSilent)
        return;
    const QString targets = targetsOf(look.result.runs);
    if (!isSilent)
        return Q_EMIT linkAnswers(targets);
    const QString reason = QString::fromStdString(look.result.problem);
    const QString sentence = reason.endsWith('.') ? reason : reason + '.';
    const double since = silentSince(look.result.runs);
    if (since == 0) // the fault is on this side
        return Q_EMIT linkSilent(
            tr("The copies of runs on %1 are not up to date. %2").arg(targets, sentence));
    Q_EMIT linkSilent(tr("%1 has not been reached since %2. %3 The runs there go on; this window "
                         "follows again as soon as it answers.")
                          .arg(targets, momentText(since), sentence));
}

} // namespace vergence
